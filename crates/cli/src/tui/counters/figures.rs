//! Numbers, names and trends, as they stand in a row.

use std::time::Duration;

use counters::{Counter, Reading};
use model::Unit;
use reports::printable;
use reports::value::format_number;

/// Above this, powers of ten are shown.
const LARGE: f64 = 1e12;

/// A value with its unit where that makes it shorter: `1.2 MB`, `38.3 us`, `1,234.567`.
pub fn value(value: f64, unit: Option<&str>) -> String {
    match unit {
        _ if !value.is_finite() || value == 0.0 => number(value),
        Some("By" | "B") => format_number(value, Unit::Bytes),
        Some("s") => format_number(value * 1e9, Unit::Nanoseconds),
        Some("ms") => format_number(value * 1e6, Unit::Nanoseconds),
        _ => number(value),
    }
}

/// A change, with its sign.
pub fn change(change: f64, unit: Option<&str>) -> String {
    let text = value(change, unit);
    if change > 0.0 { format!("+{text}") } else { text }
}

/// A number with groups of digits and at most three decimals.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = value.abs();
    if size >= LARGE || (size > 0.0 && size < 0.000_5) {
        return format!("{value:.3e}");
    }
    let text = format!("{size:.3}");
    let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
    let decimals = decimals.trim_end_matches('0');
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let dot = if decimals.is_empty() { "" } else { "." };
    format!("{sign}{out}{dot}{decimals}")
}

/// The name of a counter with its unit, and the time of a rate.
pub fn name(counter: &Counter, reading: &Reading, interval: Duration) -> String {
    let shown = printable(counter.shown_name());
    let unit = counter.unit.as_deref().map(printable);
    let per = match reading {
        Reading::Increment { per, .. } => Some(*per),
        Reading::Counter { total: None, .. } => Some(interval),
        _ => None,
    };
    match (unit, per) {
        (unit, Some(per)) => {
            format!("{shown} ({} / {} s)", unit.unwrap_or_else(|| "count".to_owned()), per.as_secs_f64())
        }
        (Some(unit), None) => format!("{shown} ({unit})"),
        (None, None) => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        let numbers = [0.0, 0.25, -12.5, 1234.0, 1_234_567.891_2, 1e13, 0.000_01, f64::NAN];
        let texts = numbers.map(|number| value(number, None));
        assert_eq!(texts, ["0", "0.25", "-12.5", "1,234", "1,234,567.891", "1.000e13", "1.000e-5", "-"]);
        assert_eq!(value(1_234_567.0, Some("By")), "1.23 MB");
        assert_eq!(
            [0.000_038_27, 1.72, 90.0].map(|time| value(time, Some("s"))),
            ["38.3 us", "1.72 s", "1 m 30 s"]
        );
        assert_eq!([change(-0.25, Some("ms")), value(0.0, Some("s"))], ["-250 us", "0"]);
        assert_eq!([change(2.0, None), change(-2.0, None), change(0.0, None)], ["+2", "-2", "0"]);
    }
}
