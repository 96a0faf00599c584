//! The object that says when a stream begins.

use std::time::{Duration, SystemTime};

use crate::cursor::Cursor;
use crate::{FormatVersion, Timestamp, TraceInfo};

/// Days from the first of March of the year 0 to the first day of 1970.
const DAYS_TO_1970: u64 = 719_468;
const DAYS_IN_400_YEARS: u64 = 146_097;
const DAY: u64 = 24 * 3600 * 1000;

/// The body of the object `Trace` for a part of a stream that begins at `start`. It begins a little earlier, at a
/// whole millisecond from the start of the whole stream, which is all a calendar date can say. A body that cannot be
/// understood, or a start before that of the stream, leaves it as it is.
#[must_use]
pub fn starting_at(body: &[u8], start: Timestamp) -> Vec<u8> {
    changed(body, start).unwrap_or_else(|| body.to_vec())
}

fn changed(body: &[u8], start: Timestamp) -> Option<Vec<u8>> {
    let info = TraceInfo::read_v5(&mut Cursor::new(body), FormatVersion::V4).ok()?;
    let started = info.started?;
    let later = info.since_start(start).as_millis();
    let later = u64::try_from(later).ok()?;
    let ticks = u128::from(later) * u128::from(info.frequency.0.get()) / 1000;
    let ticks = info.start.0.checked_add(u64::try_from(ticks).ok()?)?;
    let date = date_of(started.checked_add(Duration::from_millis(later))?)?;
    let mut changed = Vec::with_capacity(body.len());
    date.iter().for_each(|part| changed.extend_from_slice(&part.to_le_bytes()));
    changed.extend_from_slice(&ticks.to_le_bytes());
    changed.extend_from_slice(body.get(24..)?);
    Some(changed)
}

/// A date as Windows writes it: year, month, day of the week, day, hour, minute, second, millisecond.
fn date_of(time: SystemTime) -> Option<[u16; 8]> {
    let millis = u64::try_from(time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()?;
    let (days, millis) = (millis / DAY, millis % DAY);
    // Years that begin in March put the day that comes and goes at their end.
    let since_march = days + DAYS_TO_1970;
    let (era, day) = (since_march / DAYS_IN_400_YEARS, since_march % DAYS_IN_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + carry;
    let weekday = (days + 4) % 7;
    let parts = [
        year,
        month,
        weekday,
        day,
        millis / 3_600_000,
        millis / 60_000 % 60,
        millis / 1000 % 60,
        millis % 1000,
    ];
    let mut date = [0; 8];
    for (place, part) in date.iter_mut().zip(parts) {
        *place = u16::try_from(part).ok()?;
    }
    Some(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(date: [u16; 8], ticks: u64, frequency: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        date.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
        bytes.extend_from_slice(&ticks.to_le_bytes());
        bytes.extend_from_slice(&frequency.to_le_bytes());
        bytes.extend_from_slice(&[8, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 0x40, 0x42, 0x0F, 0]);
        bytes
    }

    #[test]
    fn a_later_start_is_later_on_both_clocks() {
        let nanos = 1_000_000_000;
        let first = body([2028, 2, 1, 28, 23, 59, 59, 900], 5000, nanos);
        // 100 milliseconds and a little: the next day, which is the 29th of February.
        let later = starting_at(&first, Timestamp(5000 + 100_900_000));
        assert_eq!(later, body([2028, 2, 2, 29, 0, 0, 0, 0], 5000 + 100_000_000, nanos));
        assert_eq!(starting_at(&first, Timestamp(4000)), first);
        assert_eq!(starting_at(&[1, 2, 3], Timestamp(4000)), [1, 2, 3]);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (millis, date) in [
            (0, [1970, 1, 4, 1, 0, 0, 0, 0]),
            (951_825_600_001, [2000, 2, 2, 29, 12, 0, 0, 1]),
            (1_794_722_430_250, [2026, 11, 0, 15, 6, 0, 30, 250]),
            (1_798_761_599_999, [2026, 12, 4, 31, 23, 59, 59, 999]),
        ] {
            assert_eq!(date_of(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)), Some(date));
        }
    }
}
