//! Labels of samples for Prometheus.

use super::names::identifier;
use crate::counter::CounterSource;
use crate::series::Series;
use crate::tags::{pairs, tags};

/// Names that are taken: ours, and that of quantiles.
const TAKEN: [&str; 3] = ["pid", "process", "quantile"];

/// Labels, without their braces: the process first, then the tags.
pub(crate) fn labels(pid: u32, process: &str, series: &Series) -> String {
    let mut text = process_labels(pid, process);
    let all = series.all_tags();
    let found = match series.counter.source {
        CounterSource::Meter => tags(&all),
        CounterSource::EventCounter => pairs(&all, ':'),
    };
    let mut used: Vec<String> = Vec::new();
    for (key, value) in found {
        let mut name = identifier(key);
        if TAKEN.contains(&name.as_str()) {
            name = format!("tag_{name}");
        }
        // Different keys may become one name.
        let mut number = 2;
        let base = name.clone();
        while used.contains(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        text += &format!(",{name}=\"{}\"", escaped(value));
        used.push(name);
    }
    text
}

/// The labels that every sample has.
pub(crate) fn process_labels(pid: u32, process: &str) -> String {
    format!("process=\"{}\",pid=\"{pid}\"", escaped(process))
}

/// A value: backslash, quote and line feed are escaped; other characters that steer a terminal become visible.
pub(crate) fn escaped(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                out.push_str("\\\\");
                out.extend(c.escape_unicode().skip(1));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn values_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd\u{1b}"), "a\\\\b\\\"c\\nd\\\\u{1b}");
    }
}
