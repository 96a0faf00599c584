//! A counter, and what it has to say.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Which of the two kinds of counters that .NET has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterSource {
    /// A counter of an event source.
    EventCounter,
    /// An instrument of a meter.
    Meter,
}

/// What is known of a counter. All texts come from the target: hostile input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Which kind.
    pub source: CounterSource,
    /// The event source or meter.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub display_name: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// What it measures.
    pub description: Option<String>,
    /// Tags of its meter, `key=value,key=value`; empty for none.
    pub meter_tags: String,
    /// Tags of the instrument.
    pub instrument_tags: String,
}

impl Counter {
    /// Its name for people, or else its name.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// Bytes of its texts, for limits.
    pub(crate) fn text_bytes(&self) -> usize {
        let optional = [&self.display_name, &self.unit, &self.description];
        let optional: usize = optional.into_iter().flatten().map(String::len).sum();
        optional + self.provider.len() + self.name.len() + self.meter_tags.len() + self.instrument_tags.len()
    }
}

/// A quantile, and the value it lies at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// From 0 to 1.
    pub quantile: f64,
    /// The value.
    pub value: f64,
}

/// What a counter has to say at the end of an interval.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reading {
    /// A value that goes up and down: a gauge, or the mean of an EventCounter.
    Gauge(f64),
    /// How much was added in the interval: an EventCounter that counts.
    Increment {
        /// How much.
        by: f64,
        /// The interval that was asked for.
        per: Duration,
    },
    /// A counter of a meter.
    Counter {
        /// How much was added in the interval.
        by: f64,
        /// All that was ever added (.NET 8).
        total: Option<f64>,
    },
    /// A counter of a meter that can go down.
    UpDown {
        /// How much it changed in the interval.
        by: f64,
        /// Its value.
        value: f64,
    },
    /// Values of the interval.
    Histogram {
        /// Where they lie.
        quantiles: Vec<Quantile>,
        /// How many there were (.NET 8).
        count: Option<u64>,
        /// Their sum (.NET 8).
        sum: Option<f64>,
    },
}

impl Reading {
    /// The one number that stands for it: a counter's change in the interval, a histogram's 95th percentile.
    #[must_use]
    pub fn headline(&self) -> Option<f64> {
        match self {
            Reading::Gauge(value) | Reading::UpDown { value, .. } => Some(*value),
            Reading::Increment { by, .. } | Reading::Counter { by, .. } => Some(*by),
            Reading::Histogram { .. } => self.headline_quantile().map(|one| one.value),
        }
    }

    /// The quantile that stands for a histogram: the 95th percentile, or else the last.
    #[must_use]
    pub fn headline_quantile(&self) -> Option<Quantile> {
        let Reading::Histogram { quantiles, .. } = self else { return None };
        let p95 = quantiles.iter().find(|one| (one.quantile - 0.95).abs() < 1e-9);
        p95.or(quantiles.last()).copied()
    }

    /// Whether it is how much was added in an interval.
    #[must_use]
    pub fn is_rate(&self) -> bool {
        matches!(self, Reading::Increment { .. } | Reading::Counter { .. })
    }
}

/// A value of a series of a counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Of which counter.
    pub counter: Arc<Counter>,
    /// Tags of the series, as the runtime writes them: `key=value,key=value`.
    pub tags: String,
    /// What it says.
    pub reading: Reading,
    /// When.
    pub at: SystemTime,
}

impl Update {
    /// Tags of the meter, the instrument and the series in one text.
    #[must_use]
    pub fn all_tags(&self) -> String {
        combined(&self.counter, &self.tags)
    }
}

/// All tags that are not empty, with commas.
pub(crate) fn combined(counter: &Counter, tags: &str) -> String {
    let parts = [counter.meter_tags.as_str(), counter.instrument_tags.as_str(), tags];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(",")
}
