//! Durations as people type them, and as we print them.

use std::time::Duration;

use thiserror::Error;

/// Longest duration that is accepted: a year. A longer one is a typing error (`00:00:10` read as days).
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DurationError {
    /// Neither `10`, `10s` nor `hh:mm:ss`.
    #[error("'{text}' is not a duration")]
    Malformed {
        /// What was typed.
        text: String,
    },
    /// Nothing can be measured in no time.
    #[error("'{text}' is a duration of zero")]
    Zero {
        /// What was typed.
        text: String,
    },
    /// Above the limit of a year.
    #[error("'{text}' is longer than a year")]
    TooLong {
        /// What was typed.
        text: String,
    },
}

/// Reads `10`, `1.5s`, `500ms`, `2m`, `1h30m`, `mm:ss`, `hh:mm:ss` and `dd:hh:mm:ss`.
///
/// A bare number means seconds. (.NET's own tools read it as days; nobody wants to trace for 30 days.)
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(model::parse_duration("10"), Ok(Duration::from_secs(10)));
/// assert_eq!(model::parse_duration("00:00:00:10"), Ok(Duration::from_secs(10)));
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let malformed = || DurationError::Malformed { text: text.to_owned() };
    let seconds =
        if text.contains(':') { clock_seconds(text) } else { unit_seconds(text) }.ok_or_else(malformed)?;
    if seconds > LONGEST.as_secs_f64() {
        return Err(DurationError::TooLong { text: text.to_owned() });
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| malformed())?;
    if duration.is_zero() {
        return Err(DurationError::Zero { text: text.to_owned() });
    }
    Ok(duration)
}

/// `mm:ss`, `hh:mm:ss` or `dd:hh:mm:ss`; the last part may have a fraction.
fn clock_seconds(text: &str) -> Option<f64> {
    let parts: Vec<&str> = text.split(':').collect();
    let scales: &[f64] = match parts.len() {
        2 => &[60.0, 1.0],
        3 => &[3600.0, 60.0, 1.0],
        4 => &[86400.0, 3600.0, 60.0, 1.0],
        _ => return None,
    };
    let mut total = 0.0;
    for (index, (part, scale)) in parts.iter().zip(scales).enumerate() {
        let is_last = index + 1 == parts.len();
        let value = if is_last { number(part)? } else { f64::from(part.parse::<u32>().ok()?) };
        total += value * scale;
    }
    Some(total)
}

/// `10`, `10s`, `1h30m`: numbers, each followed by a unit; a single bare number is seconds.
fn unit_seconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    if let Some(bare) = number(rest) {
        return Some(bare);
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let value = number(&rest[..digits])?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        total += value
            * match rest[..letters].trim() {
                "ms" => 0.001,
                "s" | "sec" | "secs" => 1.0,
                "m" | "min" | "mins" => 60.0,
                "h" => 3600.0,
                "d" => 86400.0,
                _ => return None,
            };
        rest = &rest[letters..];
    }
    (total > 0.0 || text.starts_with('0')).then_some(total)
}

/// A plain decimal number: digits with at most one point, so that `1e9`, `inf` and `nan` are not durations.
fn number(text: &str) -> Option<f64> {
    let plain = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_digit() || c == '.')
        && text.starts_with(|c: char| c.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Prints a duration in at most two units: `1.2 ms`, `9.5 s`, `3 m 20 s`, `2 d 4 h`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let seconds = duration.as_secs();
    match seconds {
        0 if nanos < 1_000 => format!("{nanos} ns"),
        0 if nanos < 1_000_000 => format!("{} us", short(duration.as_secs_f64() * 1e6)),
        0 => format!("{} ms", short(duration.as_secs_f64() * 1e3)),
        1..60 => format!("{} s", short(duration.as_secs_f64())),
        60..3600 => format!("{} m {} s", seconds / 60, seconds % 60),
        3600..86400 => format!("{} h {} m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86400, seconds % 86400 / 3600),
    }
}

/// Three significant digits at most, without a tail of zeros.
fn short(value: f64) -> String {
    let text = if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_forms_users_type_are_read() {
        for (text, millis) in [
            ("10", 10_000),
            ("10s", 10_000),
            ("1.5s", 1_500),
            ("250ms", 250),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("00:10", 10_000),
            ("00:00:10", 10_000),
            ("00:00:00:10", 10_000),
            ("01:00:00:00", 86_400_000),
            ("00:00:01.5", 1_500),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "ten", "10x", "-5", "1e3", "inf", ":", "1:2:3:4:5", "10 20", "5s5", "::10"] {
            assert!(
                matches!(parse_duration(text), Err(DurationError::Malformed { .. })),
                "{text}: {:?}",
                parse_duration(text)
            );
        }
        assert!(matches!(parse_duration("0"), Err(DurationError::Zero { .. })));
        assert!(matches!(parse_duration("0s"), Err(DurationError::Zero { .. })));
        assert!(matches!(parse_duration("400d"), Err(DurationError::TooLong { .. })));
    }

    #[test]
    fn durations_print_in_a_few_characters() {
        for (nanos, text) in [
            (999, "999 ns"),
            (1_500, "1.5 us"),
            (12_345_678, "12.3 ms"),
            (1_000_000_000, "1 s"),
            (200_000_000_000, "3 m 20 s"),
            (7_200_000_000_000, "2 h 0 m"),
            (187_200_000_000_000, "2 d 4 h"),
        ] {
            assert_eq!(format_duration(Duration::from_nanos(nanos)), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = parse_duration(&text);
        }

        #[test]
        fn clock_and_seconds_agree(seconds in 1u64..1_000_000) {
            let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            prop_assert_eq!(parse_duration(&clock), parse_duration(&seconds.to_string()));
        }
    }
}
