//! One series: its newest value, and how it came to it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use crate::counter::{Counter, Reading, Update, combined};

/// Values that are kept of each series.
pub const HISTORY: usize = 120;

/// One series.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its counter.
    pub counter: Arc<Counter>,
    /// Its tags, as the runtime writes them.
    pub tags: String,
    /// What it said last.
    pub reading: Reading,
    /// When.
    pub at: SystemTime,
    /// How much its headline changed with the last value.
    pub delta: Option<f64>,
    /// All increments, or all values of a histogram, since the session began.
    pub accumulated: f64,
    /// How many values a histogram had since the session began.
    pub counted: u64,
    history: VecDeque<f64>,
}

impl Series {
    pub(crate) fn new(update: Update) -> Series {
        let Update { counter, tags, reading, at } = update;
        let mut series = Series {
            counter,
            tags,
            reading,
            at,
            delta: None,
            accumulated: 0.0,
            counted: 0,
            history: VecDeque::new(),
        };
        series.remember();
        series
    }

    pub(crate) fn take(&mut self, reading: Reading, at: SystemTime) {
        self.delta = reading.headline().zip(self.reading.headline()).map(|(now, before)| now - before);
        (self.reading, self.at) = (reading, at);
        self.remember();
    }

    fn remember(&mut self) {
        match &self.reading {
            Reading::Increment { by, .. } | Reading::Counter { by, .. } if by.is_finite() => {
                self.accumulated += by;
            }
            Reading::Histogram { count, sum, .. } => {
                self.counted += count.unwrap_or_default();
                self.accumulated += sum.filter(|sum| sum.is_finite()).unwrap_or_default();
            }
            _ => {}
        }
        if self.history.len() >= HISTORY {
            self.history.pop_front();
        }
        // A gap is a value, too: places in a sparkline stand for equal times.
        self.history.push_back(self.reading.headline().unwrap_or(f64::NAN));
    }

    /// Its last values, oldest first; what is no number was missing.
    pub fn history(&self) -> impl DoubleEndedIterator<Item = f64> + ExactSizeIterator {
        self.history.iter().copied()
    }

    /// Tags of the meter, the instrument and the series in one text.
    #[must_use]
    pub fn all_tags(&self) -> String {
        combined(&self.counter, &self.tags)
    }
}
