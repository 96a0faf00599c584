//! From events to values.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use runtime_events::counters::{CounterReading, EventCounter};
use runtime_events::metrics::{
    CounterValue, GaugeValue, HistogramValue, Instrument, SharedSessionConflict, number,
};
use runtime_events::{InstrumentId, RuntimeEvent};

use crate::counter::{Counter, Quantile, Reading, Update};
use crate::instruments::{Full, Instruments, MAX_COUNTERS};
use crate::note::Note;
use crate::plan::Plan;
use crate::selection::GroupSource;
use crate::tags::redacted;

/// Most quantiles of one histogram. Runtimes send three.
const MAX_QUANTILES: usize = 32;

/// What the events of a session say.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// A value.
    Update(Update),
    /// A series has no value any more.
    SeriesGone {
        /// Of which counter.
        counter: Arc<Counter>,
        /// Its tags.
        tags: String,
    },
    /// A counter is not reported any more.
    CounterGone(Arc<Counter>),
    /// The meter of this provider is there after all: its EventCounters are not shown any more.
    MeterTakesOver(String),
    /// Something to know.
    Note(Note),
}

/// Turns the events of one session into values.
#[derive(Debug)]
pub struct Translator {
    plan: Plan,
    instruments: Instruments,
    /// Providers of the selection that have a meter with counters of the selection.
    with_meter: BTreeSet<String>,
    /// Providers of the selection of which EventCounters were told.
    with_counters: BTreeSet<String>,
    told_full: bool,
    /// Another tool has the meters with other settings: what comes of the shared session is not what we asked for.
    refused: bool,
}

/// The fields that all values of meters have.
struct MeterValue {
    session: bool,
    id: Option<InstrumentId>,
    meter: String,
    name: String,
    unit: String,
    tags: String,
}

macro_rules! meter_value {
    ($self:ident, $value:ident) => {
        MeterValue {
            session: $value.session == $self.plan.session.as_str(),
            id: $value.id.filter(|id| id.0 != 0),
            meter: $value.meter.to_string(),
            name: $value.name.to_string(),
            unit: $value.unit.to_string(),
            tags: redacted(&$value.tags.to_string(), '=', $self.plan.redaction),
        }
    };
}

impl Translator {
    /// For a session of this plan.
    #[must_use]
    pub fn new(plan: Plan) -> Translator {
        Translator {
            plan,
            instruments: Instruments::default(),
            with_meter: BTreeSet::new(),
            with_counters: BTreeSet::new(),
            told_full: false,
            refused: false,
        }
    }

    /// Looks at an event of a provider.
    pub fn see(
        &mut self,
        provider: &str,
        event: &RuntimeEvent<'_>,
        at: SystemTime,
        tell: &mut dyn FnMut(Told),
    ) {
        match event {
            RuntimeEvent::EventCounter(counter) => self.event_counter(provider, counter, at, tell),
            RuntimeEvent::InstrumentBegin(instrument) => self.begin(instrument, tell),
            RuntimeEvent::InstrumentEnd(instrument) => self.end(instrument, tell),
            RuntimeEvent::CounterValue(value) => self.counter(value, at, tell),
            RuntimeEvent::UpDownCounterValue(value) => self.up_down(value, at, tell),
            RuntimeEvent::GaugeValue(value) => self.gauge(value, at, tell),
            RuntimeEvent::HistogramValue(value) => self.histogram(value, at, tell),
            RuntimeEvent::SeriesLimitReached(note) if self.is_ours(note.session) => {
                tell(Told::Note(Note::SeriesLimit { limit: self.plan.limits.max_series }));
            }
            RuntimeEvent::HistogramLimitReached(note) if self.is_ours(note.session) => {
                tell(Told::Note(Note::HistogramLimit { limit: self.plan.limits.max_histograms }));
            }
            RuntimeEvent::MetricsError(error) if self.is_ours(error.session) => {
                tell(Told::Note(Note::MetersFailed { message: self.hide(error.message) }));
            }
            RuntimeEvent::InstrumentCallbackError(error) if self.is_ours(error.session) => {
                tell(Told::Note(Note::CallbackFailed { message: self.hide(error.message) }));
            }
            // It names the session that is running. If that is ours, somebody else was refused.
            RuntimeEvent::MultipleSessions(note) if !self.is_ours(note.session) => {
                tell(Told::Note(Note::OtherSession { session: note.session.to_string() }));
            }
            RuntimeEvent::SharedSessionConflict(conflict) if conflict.client == self.plan.client.as_str() => {
                self.refused = true;
                // EventCounters, where there are any, are better than nothing.
                self.with_meter.clear();
                tell(Told::Note(Note::OtherSettings { differences: differences(conflict) }));
            }
            _ => {}
        }
    }

    fn hide(&self, message: nettrace::Utf16<'_>) -> String {
        self.plan.redaction.text(&message.to_string())
    }

    fn is_ours(&self, session: nettrace::Utf16<'_>) -> bool {
        session == self.plan.session.as_str()
    }

    fn event_counter(
        &mut self,
        provider: &str,
        event: &EventCounter<'_>,
        at: SystemTime,
        tell: &mut dyn FnMut(Told),
    ) {
        // The provider's name is the caller's; a session has only those that were asked for.
        let Some(group) = self.plan.selection.group(provider) else { return };
        let either = group.source == GroupSource::Any;
        if !self.plan.selection.includes(provider, &event.name.to_string())
            || (either && self.with_meter.contains(provider))
        {
            return;
        }
        let counter = match self.instruments.event_counter(provider, event) {
            Ok(counter) => counter,
            Err(full) => return self.full(&full, tell),
        };
        let series =
            event.series_milliseconds().map(|milliseconds| Duration::from_millis(milliseconds.into()));
        let reading = match event.reading {
            CounterReading::Increment(by) => {
                Reading::Increment { by, per: series.unwrap_or(self.plan.limits.interval) }
            }
            CounterReading::Mean { mean, .. } => Reading::Gauge(mean),
            _ => return,
        };
        if !self.with_counters.contains(provider) {
            self.with_counters.insert(provider.to_owned());
        }
        let tags = event.metadata.map(|tags| tags.to_string()).unwrap_or_default();
        let tags = redacted(&tags, ':', self.plan.redaction);
        tell(Told::Update(Update { counter, tags, reading, at }));
    }

    /// Whether an instrument is one of ours; if so, its meter is preferred to EventCounters from now on.
    fn selected(&mut self, meter: &str, name: &str, tell: &mut dyn FnMut(Told)) -> bool {
        let group = self.plan.selection.group(meter);
        if self.refused
            || group.is_none_or(|group| group.source == GroupSource::EventCounters)
            || !self.plan.selection.includes(meter, name)
        {
            return false;
        }
        if !self.with_meter.contains(meter) {
            self.with_meter.insert(meter.to_owned());
            if self.with_counters.remove(meter) {
                tell(Told::MeterTakesOver(meter.to_owned()));
            }
        }
        true
    }

    fn begin(&mut self, instrument: &Instrument<'_>, tell: &mut dyn FnMut(Told)) {
        let (meter, name) = (instrument.meter.to_string(), instrument.name.to_string());
        if self.is_ours(instrument.session)
            && self.selected(&meter, &name, tell)
            && let Err(full) = self.instruments.begin(instrument, self.plan.redaction)
        {
            self.full(&full, tell);
        }
    }

    fn end(&mut self, instrument: &Instrument<'_>, tell: &mut dyn FnMut(Told)) {
        let (meter, name) = (instrument.meter.to_string(), instrument.name.to_string());
        if self.is_ours(instrument.session) && self.selected(&meter, &name, tell) {
            let id = instrument.id.filter(|id| id.0 != 0);
            if let Ok(counter) = self.instruments.of_value(id, &meter, &name, "") {
                tell(Told::CounterGone(counter));
            }
        }
    }

    fn counter(&mut self, value: &CounterValue<'_>, at: SystemTime, tell: &mut dyn FnMut(Told)) {
        let total = value.value.and_then(number);
        let reading = number(value.rate).map(|by| Reading::Counter { by, total });
        self.value(meter_value!(self, value), reading, at, tell);
    }

    fn up_down(&mut self, value: &CounterValue<'_>, at: SystemTime, tell: &mut dyn FnMut(Told)) {
        // Before 8 only the change is told, from which no value follows.
        let now = value.value.and_then(number);
        let reading =
            now.map(|now| Reading::UpDown { by: number(value.rate).unwrap_or_default(), value: now });
        self.value(meter_value!(self, value), reading, at, tell);
    }

    fn gauge(&mut self, value: &GaugeValue<'_>, at: SystemTime, tell: &mut dyn FnMut(Told)) {
        self.value(meter_value!(self, value), number(value.value).map(Reading::Gauge), at, tell);
    }

    fn histogram(&mut self, value: &HistogramValue<'_>, at: SystemTime, tell: &mut dyn FnMut(Told)) {
        let quantiles: Vec<Quantile> = value
            .quantiles()
            .into_iter()
            .take(MAX_QUANTILES)
            .map(|(quantile, value)| Quantile { quantile, value })
            .collect();
        let count = value.count.and_then(|count| u64::try_from(count).ok());
        // Without a value in the interval there are no quantiles, but the histogram is still there.
        let reading = Reading::Histogram { quantiles, count, sum: value.sum };
        self.value(meter_value!(self, value), Some(reading), at, tell);
    }

    fn value(
        &mut self,
        value: MeterValue,
        reading: Option<Reading>,
        at: SystemTime,
        tell: &mut dyn FnMut(Told),
    ) {
        if !value.session || !self.selected(&value.meter, &value.name, tell) {
            return;
        }
        let counter = match self.instruments.of_value(value.id, &value.meter, &value.name, &value.unit) {
            Ok(counter) => counter,
            Err(full) => return self.full(&full, tell),
        };
        let tags = value.tags;
        tell(match reading {
            Some(reading) => Told::Update(Update { counter, tags, reading, at }),
            // The program gave no value for these tags: the series has ended.
            None => Told::SeriesGone { counter, tags },
        });
    }

    fn full(&mut self, _full: &Full, tell: &mut dyn FnMut(Told)) {
        if !self.told_full {
            self.told_full = true;
            tell(Told::Note(Note::TooManyCounters { limit: MAX_COUNTERS }));
        }
    }
}

fn differences(conflict: &SharedSessionConflict<'_>) -> Vec<(&'static str, String, String)> {
    [
        ("maxHistograms", conflict.expected_max_histograms, conflict.actual_max_histograms),
        ("maxTimeSeries", conflict.expected_max_series, conflict.actual_max_series),
        ("refresh-interval", conflict.expected_interval, conflict.actual_interval),
    ]
    .into_iter()
    .filter(|(_, there, asked)| there.bytes() != asked.bytes())
    .map(|(setting, there, asked)| (setting, there.to_string(), asked.to_string()))
    .collect()
}
