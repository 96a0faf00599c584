//! What a stream says about itself: its clock, its start, its process.

use std::num::NonZeroU64;
use std::time::{Duration, SystemTime};

use crate::cursor::{Cursor, Parsed};
use crate::{ProcessId, Timestamp};

const NANOSECONDS: u64 = 1_000_000_000;

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormatVersion {
    /// Objects; what every runtime up to 10 writes.
    V4,
    /// Objects; says that metadata may carry tags, which version 4 may do as well.
    V5,
    /// Blocks; many processes in one trace.
    V6,
}

/// The size of an address in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerSize {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl PointerSize {
    /// The number of bytes.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            PointerSize::Four => 4,
            PointerSize::Eight => 8,
        }
    }
}

/// How many ticks of the trace's clock make a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickFrequency(pub NonZeroU64);

/// The first thing in every stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceInfo {
    /// The version of the format.
    pub version: FormatVersion,
    /// When the trace was started, to the millisecond; none if the stream's date is not one.
    pub started: Option<SystemTime>,
    /// The same moment on the trace's clock.
    pub start: Timestamp,
    /// The pace of the trace's clock.
    pub frequency: TickFrequency,
    /// The size of addresses in stacks.
    pub pointer_size: PointerSize,
    /// The process that was traced; none if there may be many.
    pub process: Option<ProcessId>,
    /// How many threads its machine runs at once.
    pub processors: Option<u32>,
    /// The time between two samples of a thread, when there are samples.
    pub sample_interval: Option<Duration>,
    /// Whatever else the writer says (version 6).
    pub properties: Vec<(String, String)>,
}

impl TraceInfo {
    /// The time from the start of the trace; zero for what was before it.
    #[must_use]
    pub fn since_start(&self, timestamp: Timestamp) -> Duration {
        self.ticks_to_time(timestamp.0.saturating_sub(self.start.0))
    }

    /// The time between two moments; zero if `later` is not later.
    #[must_use]
    pub fn between(&self, earlier: Timestamp, later: Timestamp) -> Duration {
        self.ticks_to_time(later.0.saturating_sub(earlier.0))
    }

    fn ticks_to_time(&self, ticks: u64) -> Duration {
        let frequency = self.frequency.0.get();
        if frequency == NANOSECONDS {
            return Duration::from_nanos(ticks);
        }
        let fraction = u128::from(ticks % frequency) * u128::from(NANOSECONDS) / u128::from(frequency);
        Duration::new(ticks / frequency, u32::try_from(fraction).unwrap_or(0))
    }

    /// The moment by the calendar, if the trace's start is known.
    #[must_use]
    pub fn wall_clock(&self, timestamp: Timestamp) -> Option<SystemTime> {
        self.started?.checked_add(self.since_start(timestamp))
    }

    /// Reads the fields of the object `Trace`.
    pub(crate) fn read_v5(cursor: &mut Cursor<'_>, version: FormatVersion) -> Parsed<TraceInfo> {
        let mut info = TraceInfo::read_clock(cursor, version)?;
        info.process = Some(ProcessId(u64::from(cursor.u32("process id")?)));
        info.processors = Some(cursor.u32("number of processors")?);
        let interval = cursor.u32("sampling interval")?;
        info.sample_interval = (interval != 0).then(|| Duration::from_nanos(u64::from(interval)));
        Ok(info)
    }

    /// Reads the block `Trace`.
    pub(crate) fn read_v6(cursor: &mut Cursor<'_>) -> Parsed<TraceInfo> {
        let mut info = TraceInfo::read_clock(cursor, FormatVersion::V6)?;
        let count = cursor.u32("number of properties")?;
        for _ in 0..count {
            let key = cursor.utf8("key of a property")?.into_owned();
            let value = cursor.utf8("value of a property")?.into_owned();
            match key.as_str() {
                "ProcessId" => info.process = value.parse().ok().map(ProcessId),
                "HardwareThreadCount" => info.processors = value.parse().ok(),
                _ => {}
            }
            info.properties.push((key, value));
        }
        Ok(info)
    }

    fn read_clock(cursor: &mut Cursor<'_>, version: FormatVersion) -> Parsed<TraceInfo> {
        let mut date = [0; 8];
        for part in &mut date {
            *part = cursor.u16("start of the trace")?;
        }
        let start = Timestamp(cursor.u64("start of the trace in ticks")?);
        let before = *cursor;
        let frequency = i64::try_from(cursor.u64("ticks per second")?).ok();
        let frequency = frequency.and_then(|ticks| NonZeroU64::new(ticks.unsigned_abs()));
        let Some(frequency) = frequency else {
            return Err(before.invalid("ticks per second", "not a positive number"));
        };
        let before = *cursor;
        let pointer_size = match cursor.u32("pointer size")? {
            4 => PointerSize::Four,
            8 => PointerSize::Eight,
            _ => return Err(before.invalid("pointer size", "neither 4 nor 8")),
        };
        Ok(TraceInfo {
            version,
            started: date_to_time(date),
            start,
            frequency: TickFrequency(frequency),
            pointer_size,
            process: None,
            processors: None,
            sample_interval: None,
            properties: Vec::new(),
        })
    }
}

/// A date as Windows writes it: year, month, day of the week, day, hour, minute, second, millisecond.
fn date_to_time(date: [u16; 8]) -> Option<SystemTime> {
    let [year, month, _, day, hour, minute, second, millisecond] = date.map(u64::from);
    let fits = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60
        && millisecond < 1000;
    if !fits {
        return None;
    }
    // Years that begin in March put the day that comes and goes at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_to_1970 = 719_468;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let seconds = ((days - days_to_1970) * 24 + hour) * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(seconds * 1000 + millisecond))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(date: [u16; 8]) -> Option<u128> {
        date_to_time(date).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis())
    }

    #[test]
    fn dates() {
        assert_eq!(unix([1970, 1, 4, 1, 0, 0, 0, 0]), Some(0));
        assert_eq!(unix([2000, 2, 2, 29, 12, 0, 0, 1]), Some(951_825_600_001));
        assert_eq!(unix([2026, 11, 0, 15, 6, 0, 30, 250]), Some(1_794_722_430_250));
        assert_eq!(unix([2026, 13, 0, 15, 6, 0, 30, 250]), None);
        assert_eq!(unix([0; 8]), None);
    }

    #[test]
    fn ticks_become_time_whatever_the_clock() {
        let mut bytes = vec![0; 16];
        bytes.extend_from_slice(&100_u64.to_le_bytes());
        bytes.extend_from_slice(&3_u64.to_le_bytes());
        bytes.extend_from_slice(&8_u32.to_le_bytes());
        bytes.extend_from_slice(&[7, 0, 0, 0, 2, 0, 0, 0, 0x40, 0x42, 0x0F, 0]);
        let info = TraceInfo::read_v5(&mut Cursor::new(&bytes), FormatVersion::V4).unwrap();
        assert_eq!(info.process, Some(ProcessId(7)));
        assert_eq!(info.sample_interval, Some(Duration::from_millis(1)));
        assert_eq!(info.since_start(Timestamp(104)), Duration::new(1, 333_333_333));
        assert_eq!(info.since_start(Timestamp(u64::MAX)).as_secs(), (u64::MAX - 100) / 3);
        assert_eq!(info.since_start(Timestamp(5)), Duration::ZERO);
        assert_eq!((info.started, info.wall_clock(Timestamp(104))), (None, None));
    }

    #[test]
    fn a_clock_that_stands_still_is_refused() {
        let bytes = [0; 48];
        let fault = TraceInfo::read_v5(&mut Cursor::new(&bytes), FormatVersion::V4).unwrap_err();
        assert_eq!((fault.at, fault.what), (24, "ticks per second"));
    }
}
