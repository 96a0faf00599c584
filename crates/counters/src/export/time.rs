//! Moments as .NET writes them.

use std::time::SystemTime;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

/// The time zone of what is written.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

impl Zone {
    /// That of this machine, as dotnet-counters has it.
    #[must_use]
    pub fn local() -> Zone {
        Zone(TimeZone::system())
    }

    /// UTC.
    #[must_use]
    pub fn utc() -> Zone {
        Zone(TimeZone::UTC)
    }

    fn at(&self, moment: SystemTime) -> Zoned {
        Timestamp::try_from(moment).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(self.0.clone())
    }

    /// `11/15/2026 07:39:38`: what `DateTime.ToString()` gives without a culture.
    #[must_use]
    pub fn short(&self, moment: SystemTime) -> String {
        self.at(moment).strftime("%m/%d/%Y %H:%M:%S").to_string()
    }

    /// `2026-11-15T07:39:38.1234567+01:00`: the round-trip format of .NET.
    #[must_use]
    pub fn round_trip(&self, moment: SystemTime) -> String {
        let zoned = self.at(moment);
        let ticks = zoned.subsec_nanosecond() / 100;
        format!("{}.{ticks:07}{}", zoned.strftime("%Y-%m-%dT%H:%M:%S"), zoned.strftime("%:z"))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn as_dotnet_writes_it() {
        let moment = SystemTime::UNIX_EPOCH + Duration::new(1_794_728_378, 123_456_789);
        assert_eq!(Zone::utc().short(moment), "11/15/2026 07:39:38");
        assert_eq!(Zone::utc().round_trip(moment), "2026-11-15T07:39:38.1234567+00:00");
        let east = Zone(TimeZone::fixed(jiff::tz::offset(2)));
        assert_eq!(east.round_trip(moment), "2026-11-15T09:39:38.1234567+02:00");
        let early = SystemTime::UNIX_EPOCH - Duration::from_secs(u64::MAX / 4);
        assert_eq!(Zone::utc().short(early), "01/01/1970 00:00:00", "nonsense does no harm");
    }
}
