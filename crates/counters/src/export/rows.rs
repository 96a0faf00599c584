//! Rows as dotnet-counters writes them: one number each, a histogram has one per quantile.

use std::time::Duration;

use super::number;
use crate::counter::{Counter, CounterSource, Reading, Update, combined};

/// The column `Counter Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// How much in an interval.
    Rate,
    /// A value.
    Metric,
}

impl RowKind {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            RowKind::Rate => "Rate",
            RowKind::Metric => "Metric",
        }
    }
}

/// One number.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// The counter.
    pub counter: &'a Counter,
    /// Its name with its unit, such as `Allocation Rate (B / 1 sec)`.
    pub name: String,
    /// Tags of the series; of a histogram with `Percentile=50`.
    pub tags: String,
    /// Rate or value.
    pub kind: RowKind,
    /// The number.
    pub value: f64,
}

impl Row<'_> {
    /// Tags of the meter, the instrument and the series in one text.
    #[must_use]
    pub fn all_tags(&self) -> String {
        combined(self.counter, &self.tags)
    }
}

/// The rows of an update. `interval` is the one that was asked for.
pub fn rows(update: &Update, interval: Duration) -> Vec<Row<'_>> {
    let counter = &*update.counter;
    let row = |per: Option<Duration>, tags: String, value: f64| Row {
        counter,
        name: name(counter, per),
        tags,
        kind: if per.is_some() { RowKind::Rate } else { RowKind::Metric },
        value,
    };
    let tags = || update.tags.clone();
    match &update.reading {
        Reading::Gauge(value) | Reading::UpDown { value, .. } => vec![row(None, tags(), *value)],
        Reading::Increment { by, per } => vec![row(Some(*per), tags(), *by)],
        Reading::Counter { by, .. } => vec![row(Some(interval), tags(), *by)],
        Reading::Histogram { quantiles, .. } => {
            let with_percentile = |quantile: f64| {
                // Rounded, because 0.57 * 100 is not 57.
                let percentile = number::dotnet((quantile * 1e8).round() / 1e6);
                let comma = if update.tags.is_empty() { "" } else { "," };
                format!("{}{comma}Percentile={percentile}", update.tags)
            };
            quantiles.iter().map(|one| row(None, with_percentile(one.quantile), one.value)).collect()
        }
    }
}

/// The name with its unit, and the interval of a rate.
fn name(counter: &Counter, per: Option<Duration>) -> String {
    let shown = counter.shown_name();
    let unit = match counter.unit.as_deref() {
        Some("count") if counter.source == CounterSource::EventCounter => Some("Count"),
        unit => unit,
    };
    match (unit, per) {
        (unit, Some(per)) => {
            format!("{shown} ({} / {} sec)", unit.unwrap_or("Count"), number::dotnet(per.as_secs_f64()))
        }
        (Some(unit), None) => format!("{shown} ({unit})"),
        (None, None) => shown.to_owned(),
    }
}
