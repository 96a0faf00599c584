//! Which counters have been told of, in bounded memory.

use std::collections::HashMap;
use std::sync::Arc;

use model::Redaction;
use runtime_events::InstrumentId;
use runtime_events::counters::EventCounter;
use runtime_events::metrics::Instrument;

use crate::counter::{Counter, CounterSource};
use crate::tags::redacted;

/// Most counters that are kept. A program has tens or hundreds.
pub(crate) const MAX_COUNTERS: usize = 10_000;
/// Most bytes of their texts.
const MAX_BYTES: usize = 8 << 20;

/// There is no room for another counter.
#[derive(Debug)]
pub(crate) struct Full;

/// Counters that have been told of.
#[derive(Debug, Default)]
pub(crate) struct Instruments {
    by_id: HashMap<InstrumentId, Arc<Counter>>,
    /// By source, provider and name: what runtimes before 9 refer to, and EventCounters.
    by_name: HashMap<(CounterSource, String, String), Arc<Counter>>,
    bytes: usize,
}

impl Instruments {
    /// An instrument of a meter begins to be reported.
    pub fn begin(&mut self, instrument: &Instrument<'_>, redaction: Redaction) -> Result<Arc<Counter>, Full> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let optional = |text: Option<nettrace::Utf16<'_>>| {
            text.map(|text| redacted(&text.to_string(), '=', redaction)).unwrap_or_default()
        };
        let counter = Counter {
            source: CounterSource::Meter,
            provider: instrument.meter.to_string(),
            name: instrument.name.to_string(),
            display_name: None,
            unit: some(instrument.unit.to_string()),
            description: some(instrument.description.to_string()),
            meter_tags: optional(instrument.meter_tags),
            instrument_tags: optional(instrument.tags),
        };
        self.keep(counter, instrument.id.filter(|id| id.0 != 0))
    }

    /// The instrument that a value of a meter belongs to.
    pub fn of_value(
        &mut self,
        id: Option<InstrumentId>,
        meter: &str,
        name: &str,
        unit: &str,
    ) -> Result<Arc<Counter>, Full> {
        if let Some(counter) = id.and_then(|id| self.by_id.get(&id)) {
            return Ok(Arc::clone(counter));
        }
        let key = (CounterSource::Meter, meter.to_owned(), name.to_owned());
        if let Some(counter) = self.by_name.get(&key) {
            return Ok(Arc::clone(counter));
        }
        // Its announcement was lost.
        let counter = Counter {
            source: CounterSource::Meter,
            provider: meter.to_owned(),
            name: name.to_owned(),
            display_name: None,
            unit: Some(unit.to_owned()).filter(|unit| !unit.is_empty()),
            description: None,
            meter_tags: String::new(),
            instrument_tags: String::new(),
        };
        self.keep(counter, id)
    }

    /// An EventCounter, which describes itself every time.
    pub fn event_counter(&mut self, provider: &str, event: &EventCounter<'_>) -> Result<Arc<Counter>, Full> {
        let key = (CounterSource::EventCounter, provider.to_owned(), event.name.to_string());
        if let Some(counter) = self.by_name.get(&key) {
            return Ok(Arc::clone(counter));
        }
        let some = |text: Option<nettrace::Utf16<'_>>| {
            text.map(|text| text.to_string()).filter(|text| !text.is_empty())
        };
        let counter = Counter {
            source: CounterSource::EventCounter,
            provider: key.1,
            name: key.2,
            display_name: some(event.display_name),
            unit: some(event.display_units),
            description: None,
            meter_tags: String::new(),
            instrument_tags: String::new(),
        };
        self.keep(counter, None)
    }

    /// Meters with one name may have instruments with one name; those are told apart by their ids alone.
    fn keep(&mut self, counter: Counter, id: Option<InstrumentId>) -> Result<Arc<Counter>, Full> {
        let bytes = counter.text_bytes();
        if self.by_name.len().max(self.by_id.len()) >= MAX_COUNTERS || self.bytes + bytes > MAX_BYTES {
            return Err(Full);
        }
        self.bytes += bytes;
        let key = (counter.source, counter.provider.clone(), counter.name.clone());
        let counter = Arc::new(counter);
        if let Some(id) = id {
            self.by_id.insert(id, Arc::clone(&counter));
        }
        self.by_name.insert(key, Arc::clone(&counter));
        Ok(counter)
    }
}
