//! Commands to a runtime that did not succeed.

use diagnostics_ipc::IpcError;

use super::Failure;
use crate::exit_code::Code;

impl From<IpcError> for Failure {
    fn from(error: IpcError) -> Failure {
        let what = error.to_string();
        let unknown = error.is_unknown_command();
        match error {
            IpcError::Connect { .. } => Failure::new(Code::TargetEnded, what)
                .why("nobody listens at its socket any more: it has ended, or its temp folder was cleaned")
                .next("drdotnet ps   lists the processes that are there now"),
            IpcError::Impostor { .. } => Failure::new(Code::Forbidden, what)
                .why("a file at the place of its socket belongs to somebody else")
                .next("drdotnet info -p PID   says how the process can be reached"),
            IpcError::NoAnswer { .. } => Failure::new(Code::NoAnswer, what)
                .why("it hangs, is stopped, or another tool keeps its diagnostics server busy (it serves one at a time)")
                .next("drdotnet run threads -p PID   works all the same: it reads /proc"),
            IpcError::Closed { .. } => Failure::new(Code::TargetEnded, what)
                .why("the process has most likely ended")
                .next("drdotnet ps   lists the processes that are there now"),
            IpcError::Refused { .. } if unknown => Failure::new(Code::Unsupported, what)
                .why("this runtime is too old for it")
                .next("drdotnet info -p PID   says what can be collected from it"),
            IpcError::Refused { .. } => Failure::new(Code::Unsupported, what)
                .why("the runtime knows the request and refused it")
                .next("drdotnet info -p PID   says what can be collected from it"),
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}
