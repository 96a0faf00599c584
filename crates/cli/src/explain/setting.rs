//! Words that are no profiler, no parameter, no duration.

use model::DurationError;
use profilers::{PROFILERS, SettingError, UnknownProfiler};

use super::Failure;
use crate::exit_code::Code;

impl From<UnknownProfiler> for Failure {
    fn from(error: UnknownProfiler) -> Failure {
        let failure = Failure::new(Code::UnknownProfiler, error.to_string());
        match error.suggestion {
            Some(suggestion) => failure.next(format!("did you mean '{suggestion}'?")),
            None => {
                let ids: Vec<&str> = PROFILERS.iter().map(|profiler| profiler.spec().id).collect();
                failure.next(format!("drdotnet profilers   lists them: {}", ids.join(", ")))
            }
        }
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Failure {
        let what = error.to_string();
        let failure = Failure::new(Code::BadParameter, what);
        match error {
            SettingError::Unknown { profiler, suggestion, known, .. } => match suggestion {
                Some(suggestion) => failure.next(format!("did you mean '{suggestion}'?")),
                None => failure.next(format!("'{profiler}' has: {}", known.join(", "))),
            },
            SettingError::BadValue { name, takes, .. } => failure.next(format!("'{name}' takes {takes}")),
            SettingError::NoValue { .. } => failure.next("write it as --set name=value"),
            _ => failure,
        }
    }
}

impl From<DurationError> for Failure {
    fn from(error: DurationError) -> Failure {
        let failure = Failure::new(Code::BadDuration, error.to_string());
        match error {
            DurationError::TooLong { .. } => failure
                .why("a number alone is seconds; a clock with four parts begins with days")
                .next("10 is ten seconds, 2m two minutes, 01:00:00 an hour"),
            DurationError::Zero { .. } => {
                failure.why("in no time there is nothing to see").next("--duration 10s is a good start")
            }
            _ => failure.next("write it as 10, 10s, 2m, 1h30m, 00:00:10 or 00:00:00:10 (days first)"),
        }
    }
}
