//! Moments as files of .NET tools carry them: local time.

use jiff::Zoned;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::Timestamp;

/// 100 ns from the start of year 1 to the start of 1970.
const TICKS_TO_1970: i64 = 621_355_968_000_000_000;

/// The moment in the form that file names of .NET tools have: `20261115_075012`.
pub fn file_stamp() -> String {
    Zoned::now().strftime("%Y%m%d_%H%M%S").to_string()
}

/// Now, as a .NET `DateTime` of local time counts it.
pub fn dotnet_ticks() -> i64 {
    let now = Zoned::now();
    let local = now.datetime().to_zoned(TimeZone::UTC).map_or(now.timestamp(), |zoned| zoned.timestamp());
    i64::try_from(local.as_nanosecond() / 100).map_or(0, |ticks| ticks + TICKS_TO_1970)
}

/// The moment that a .NET `DateTime` of local time means; none for one that was never set.
pub fn from_dotnet_ticks(ticks: i64) -> Option<Timestamp> {
    let since = ticks.checked_sub(TICKS_TO_1970).filter(|_| ticks > 0)?;
    let as_utc = Timestamp::from_nanosecond(i128::from(since) * 100).ok()?;
    let local: DateTime = as_utc.to_zoned(TimeZone::UTC).datetime();
    Some(local.to_zoned(TimeZone::system()).ok()?.timestamp())
}

/// The name of this machine.
pub fn machine_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lead_back_to_the_same_moment() {
        let ticks = dotnet_ticks();
        let again = from_dotnet_ticks(ticks).unwrap();
        assert!((Timestamp::now().as_second() - again.as_second()).abs() < 60);
        assert_eq!(from_dotnet_ticks(0), None);
        assert_eq!(from_dotnet_ticks(i64::MIN), None);
        let _ = from_dotnet_ticks(i64::MAX);
    }
}
