//! The kernel's refusals to be sampled.

use perf_sampler::SamplerError;

use super::Failure;
use crate::exit_code::Code;

impl From<SamplerError> for Failure {
    fn from(error: SamplerError) -> Failure {
        let (what, cause, remedies) = match error {
            SamplerError::Refused { cause, remedies } => {
                ("the kernel does not let this user sample the process".to_owned(), cause, remedies)
            }
            SamplerError::NoRing { smallest, cause, remedies } => (
                format!("the kernel gives no buffer of {} KB per CPU for samples", smallest / 1024),
                cause,
                remedies,
            ),
            SamplerError::NoSuchProcess { .. } => {
                return Failure::new(
                    Code::TargetEnded,
                    "the process ended before anything could be measured",
                )
                .next("drdotnet ps   lists the processes that are there now");
            }
            other => return Failure::new(Code::Unexpected, other.to_string()),
        };
        let mut failure = Failure::new(Code::SamplingRefused, what).why(cause.to_string());
        for remedy in remedies {
            failure = failure.next(remedy.to_string());
        }
        failure.next("drdotnet run cpu-unprivileged -p PID   tells CPU time by method without these rights")
    }
}
