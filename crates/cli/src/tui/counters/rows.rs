//! The rows of the screen, before they are drawn.

use std::time::Instant;

use counters::{Quantile, Reading, Series, SeriesKey};
use reports::printable;

use super::labels::Common;
use super::state::{Sort, State, Status, Subject};

/// One row.
pub enum Row<'a> {
    /// A process.
    Process {
        /// Its name, pid and runtime.
        title: String,
        /// How it is, when that is worth a word.
        trouble: Option<String>,
    },
    /// An event source or meter.
    Provider(String),
    /// A counter whose series follow.
    Counter {
        /// One of them.
        series: &'a Series,
        /// The tags that all have.
        tags: String,
    },
    /// A value.
    Value {
        /// Its series.
        series: &'a Series,
        /// What stands for the name: the counter, or the tags of the series.
        label: Label,
        /// One quantile of a histogram.
        quantile: Option<Quantile>,
    },
    /// Words.
    Words(String),
}

/// What stands for the name of a value.
pub enum Label {
    /// The counter's name, with the tags of its only series.
    Name(String),
    /// The tags of the series.
    Tags(String),
}

/// All rows, filtered and in order.
pub fn rows(state: &State, now: Instant) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let several = state.subjects.len() > 1;
    for (index, subject) in state.subjects.iter().enumerate() {
        let trouble = trouble(state, subject, now);
        if several || trouble.is_some() {
            rows.push(Row::Process { title: title(subject), trouble });
        }
        let before = rows.len();
        of_process(state, index, &mut rows);
        if rows.len() == before {
            rows.push(Row::Words(nothing(state, subject, index).to_owned()));
        }
    }
    rows
}

/// A process in a line.
pub fn title(subject: &Subject) -> String {
    let runtime = subject.runtime.as_deref().map(|version| format!(", .NET {}", printable(version)));
    format!("{} (pid {}{})", printable(&subject.name), subject.pid, runtime.unwrap_or_default())
}

fn trouble(state: &State, subject: &Subject, now: Instant) -> Option<String> {
    match &subject.status {
        Status::Ended => Some("has ended; these are its last values".to_owned()),
        Status::Failed(problem) => Some(printable(problem)),
        Status::Waiting | Status::Running => {
            let silent = state.silent(subject, now)?;
            Some(format!("no value for {} s", silent.as_secs()))
        }
    }
}

fn nothing(state: &State, subject: &Subject, index: usize) -> &'static str {
    match state.shown(index).map_or(0, |board| board.series().len()) {
        0 if subject.status == Status::Waiting => "waiting for the first values",
        0 => "no counters came",
        _ => "no counter has the filter's text in it",
    }
}

fn of_process<'a>(state: &'a State, index: usize, rows: &mut Vec<Row<'a>>) {
    let Some(board) = state.shown(index) else { return };
    let filter = state.filter.to_lowercase();
    let wanted = |(key, series): &(&SeriesKey, &Series)| filter.is_empty() || matches(key, series, &filter);
    let mut series: Vec<(&SeriesKey, &Series)> = board.series().filter(wanted).collect();
    let by = |series: &Series| match state.sort {
        Sort::Name => 0.0,
        Sort::Value => primary(&series.reading).unwrap_or(f64::MIN),
        Sort::Change => moved(series).unwrap_or_default().abs(),
    };
    // Stable: what is equal stays in the order of names.
    series.sort_by(|(a, one), (b, other)| {
        a.provider.cmp(&b.provider).then_with(|| by(other).total_cmp(&by(one)))
    });
    let mut provider = None;
    let mut rest = series.as_slice();
    while let Some((first, one)) = rest.first() {
        if provider != Some(&first.provider) {
            provider = Some(&first.provider);
            rows.push(Row::Provider(printable(&first.provider)));
        }
        // In another order than by name, series of one counter may stand apart; then each has its name.
        let same = rest
            .iter()
            .take_while(|(key, _)| key.provider == first.provider && key.name == first.name)
            .count();
        let (group, after) = rest.split_at(same.max(1));
        rest = after;
        let common = Common::of(group.iter().map(|(_, series)| *series));
        let is_histogram = matches!(one.reading, Reading::Histogram { .. });
        if group.len() == 1 && !is_histogram {
            rows.push(Row::Value { series: one, label: Label::Name(common.text()), quantile: None });
            continue;
        }
        rows.push(Row::Counter { series: one, tags: common.text() });
        for (_, series) in group {
            of_series(series, common.rest(series), rows);
        }
    }
}

fn of_series<'a>(series: &'a Series, tags: String, rows: &mut Vec<Row<'a>>) {
    let mut row = |label: String, quantile| {
        let label = if label.is_empty() { "(no tags)".to_owned() } else { label };
        rows.push(Row::Value { series, label: Label::Tags(label), quantile });
    };
    match &series.reading {
        Reading::Histogram { quantiles, .. } if !quantiles.is_empty() => {
            for one in quantiles {
                // First, because long tags are cut at their end.
                let label = format!("p{} {tags}", (one.quantile * 1e4).round() / 1e2);
                row(label.trim_end().to_owned(), Some(*one));
            }
        }
        Reading::Histogram { .. } => row(format!("no values {tags}").trim_end().to_owned(), None),
        _ => row(tags, None),
    }
}

/// The number in the column of values.
pub fn primary(reading: &Reading) -> Option<f64> {
    match reading {
        Reading::Counter { total: Some(total), .. } => Some(*total),
        reading => reading.headline(),
    }
}

/// The number in the column of changes: how much a counter grew, how much any other value changed.
pub fn moved(series: &Series) -> Option<f64> {
    match &series.reading {
        Reading::Counter { by, total: Some(_) } => Some(*by),
        _ => series.delta,
    }
}

fn matches(key: &SeriesKey, series: &Series, filter: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(filter);
    has(&key.provider) || has(&key.name) || has(series.counter.shown_name()) || has(&series.all_tags())
}
