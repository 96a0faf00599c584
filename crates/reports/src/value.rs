//! A value and its unit, as people read it.
//!
//! Texts come back as the target gave them; whoever prints them escapes them for the medium.

use std::time::Duration;

use model::{Cell, Timestamp, Unit, format_duration};

/// Shown for a value that is not known.
pub const MISSING: &str = "-";

/// True when values of this unit are compared by size, and so stand right-aligned.
#[must_use]
pub fn is_numeric(unit: Unit) -> bool {
    !matches!(unit, Unit::Text | Unit::Time)
}

/// A cell, such as `1,234,567`, `1.2 MB` or `12.5 %`.
#[must_use]
pub fn format_cell(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Missing => MISSING.to_owned(),
        Cell::Number(number) => format_whole(*number, unit),
        Cell::Fraction(value) => format_number(*value, unit),
        Cell::Text(text) if unit == Unit::Time => match text.parse() {
            Ok(time) => format_time(time),
            Err(_) => text.clone(),
        },
        Cell::Text(text) => text.clone(),
    }
}

/// A whole number in a unit.
#[must_use]
pub fn format_whole(number: u64, unit: Unit) -> String {
    match unit {
        Unit::Count => group(&number.to_string()),
        Unit::Id | Unit::Text | Unit::Time => number.to_string(),
        Unit::Bytes => format_bytes(number),
        Unit::Nanoseconds => format_duration(Duration::from_nanos(number)),
        Unit::Percent => format_number(number as f64, unit),
    }
}

/// A number in a unit, such as a point of a series.
#[must_use]
pub fn format_number(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let text = match unit {
        Unit::Count if size < 1_000.0 => short(size),
        Unit::Count => group(&format!("{size:.0}")),
        Unit::Id | Unit::Text | Unit::Time => size.to_string(),
        Unit::Bytes => scaled_bytes(size),
        Unit::Nanoseconds => match Duration::try_from_secs_f64(size / 1e9) {
            Ok(duration) => format_duration(duration),
            Err(_) => format!("{size:.0} ns"),
        },
        // Nothing and next to nothing are different answers.
        Unit::Percent if size > 0.0 && size < 0.05 => return format!("{sign}<0.1 %"),
        Unit::Percent => format!("{size:.1} %"),
    };
    format!("{sign}{text}")
}

/// Bytes in decimal units and three significant digits, such as `1.2 MB`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    scaled_bytes(bytes as f64)
}

/// A moment, such as `2026-11-15 04:39:35Z`.
#[must_use]
pub fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

fn scaled_bytes(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes;
    let mut unit = 0;
    // 999.5 and not 1000: what would be rounded to `1000 kB` is `1 MB`.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", short(value), UNITS[unit])
}

/// Three significant digits at most, without a tail of zeros.
fn short(value: f64) -> String {
    let decimals = match value {
        _ if value < 9.995 => 2,
        _ if value < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Digits in groups of three.
fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
