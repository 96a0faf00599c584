//! The kernel did not let us sample.

use perf_sampler::SamplerError;

use super::Failure;
use crate::exit_code::Code;

impl From<SamplerError> for Failure {
    fn from(error: SamplerError) -> Failure {
        let what = error.to_string();
        match error {
            SamplerError::NoSuchProcess { .. } | SamplerError::NoTarget => {
                Failure::new(Code::TargetEnded, what)
                    .next("drdotnet ps   lists the processes that are there now")
            }
            SamplerError::NoRate => Failure::new(Code::BadParameter, what).next("--rate 99   is the usual"),
            SamplerError::Refused { cause, remedies } => {
                let mut failure =
                    Failure::new(Code::Forbidden, "the kernel does not let this process sample".to_owned())
                        .why(cause.to_string());
                for remedy in remedies {
                    failure = failure.next(remedy.to_string());
                }
                failure.next("drdotnet run cpu-unprivileged -p PID   needs no such right")
            }
            SamplerError::NoRing { .. } => Failure::new(Code::Forbidden, what)
                .next("drdotnet run cpu-unprivileged -p PID   needs no such memory"),
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}
