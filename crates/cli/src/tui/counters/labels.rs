//! Tags of series, shown so that what tells them apart is seen first: what all have in common stands once, above them.

use counters::{CounterSource, Series};
use reports::printable_within;

/// Longest text of tags in a row.
const LONGEST: usize = 200;

/// Tags that all series of a group have, with the same value.
pub struct Common(Vec<(String, String)>);

impl Common {
    /// Of these series.
    pub fn of<'a>(group: impl IntoIterator<Item = &'a Series>) -> Common {
        let mut group = group.into_iter();
        let mut common = group.next().map(pairs).unwrap_or_default();
        for series in group {
            let other = pairs(series);
            common.retain(|tag| other.contains(tag));
            if common.is_empty() {
                break;
            }
        }
        Common(common)
    }

    /// As text in brackets behind a name; empty for none.
    pub fn text(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!(" [{}]", joined(&self.0)) }
    }

    /// What a series has beside these.
    pub fn rest(&self, series: &Series) -> String {
        let rest: Vec<(String, String)> =
            pairs(series).into_iter().filter(|tag| !self.0.contains(tag)).collect();
        joined(&rest)
    }
}

fn pairs(series: &Series) -> Vec<(String, String)> {
    let all = series.all_tags();
    match series.counter.source {
        CounterSource::Meter => {
            let tags = counters::tags(&all);
            tags.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        }
        CounterSource::EventCounter if all.is_empty() => Vec::new(),
        CounterSource::EventCounter => vec![(all, String::new())],
    }
}

fn joined(tags: &[(String, String)]) -> String {
    let tag = |(key, value): &(String, String)| match value.is_empty() {
        true => key.clone(),
        false => format!("{key}={value}"),
    };
    let all: Vec<String> = tags.iter().map(tag).collect();
    printable_within(&all.join(","), LONGEST)
}
