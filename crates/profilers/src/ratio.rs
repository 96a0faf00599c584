//! Rates and shares, for people to read.

use std::time::Duration;

/// A duration as nanoseconds.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A number as a fraction.
#[expect(clippy::cast_precision_loss, reason = "for people to read")]
pub(crate) fn fraction(number: u64) -> f64 {
    number as f64
}

/// How many a second; 0 if no time has passed.
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { fraction(count) / time.as_secs_f64() }
}

/// A part in per cent of the whole; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * fraction(part) / fraction(whole) }
}

/// A part of a whole in a sentence: `all`, `99 %`; what is not all is never called 100 %.
pub(crate) fn share_words(part: u64, whole: u64) -> String {
    if part == whole { "all".to_owned() } else { format!("{:.0} %", percent(part, whole).min(99.0)) }
}

/// Per cent in a sentence: `0 %`, `<0.1 %`, `12.5 %`; nothing and next to nothing are different answers.
pub(crate) fn percent_words(percent: f64) -> String {
    match percent {
        percent if percent <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.05 => "<0.1 %".to_owned(),
        percent => format!("{percent:.1} %"),
    }
}

/// A rate in a sentence: `3,640`, `12`, `0.4`.
pub(crate) fn rate_words(rate: f64) -> String {
    if rate < 9.95 {
        let text = format!("{rate:.1}");
        return text.strip_suffix(".0").map_or(text.clone(), str::to_owned);
    }
    let digits = format!("{rate:.0}");
    group(&digits)
}

/// A whole number in a sentence: `18,204`.
pub(crate) fn count_words(count: u64) -> String {
    group(&count.to_string())
}

/// Bytes in a sentence: `390 MB`.
pub(crate) fn bytes_words(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(value < 9.95 && unit > 0);
    format!("{value:.digits$} {}", units[unit])
}

fn group(digits: &str) -> String {
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(rate_words(3640.4), "3,640");
        assert_eq!(rate_words(5.0), "5");
        assert_eq!(rate_words(0.42), "0.4");
        assert_eq!(count_words(1_234_567), "1,234,567");
        assert_eq!(bytes_words(389_600_000.0), "390 MB");
        assert_eq!(bytes_words(1_234.0), "1.2 kB");
        assert_eq!(bytes_words(12.0), "12 B");
        assert_eq!(share_words(7, 7), "all");
        assert_eq!(percent_words(0.0), "0 %");
        assert_eq!(percent_words(0.01), "<0.1 %");
        assert_eq!(percent_words(12.52), "12.5 %");
        assert_eq!(share_words(9_999, 10_000), "99 %");
    }

    #[test]
    fn nothing_of_nothing_is_nothing() {
        assert!(per_second(3, Duration::ZERO).abs() < f64::EPSILON);
        assert!(percent(3, 0).abs() < f64::EPSILON);
        assert!((percent(1, 4) - 25.0).abs() < f64::EPSILON);
    }
}
