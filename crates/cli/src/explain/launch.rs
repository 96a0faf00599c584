//! Programs that cannot be started under our eyes.

use std::io::ErrorKind;
use std::path::Path;

use diagnostics_ipc::LaunchError;

use super::Failure;
use crate::exit_code::Code;

impl From<&LaunchError> for Failure {
    fn from(error: &LaunchError) -> Failure {
        let what = error.to_string();
        let failure = Failure::new(Code::LaunchFailed, what);
        match error {
            LaunchError::Spawn { source, .. } if source.kind() == ErrorKind::NotFound => failure
                .next("give its full path; after -- comes a program and its arguments, not a shell line"),
            LaunchError::Spawn { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
                failure.why("it is not executable").next("for an assembly: drdotnet run ... -- dotnet X.dll")
            }
            LaunchError::Ended { .. } => failure
                .why("it is no .NET program, or it ended with an error of its own")
                .next("start it by hand to see what it says"),
            LaunchError::NoRuntime { .. } => failure
                .why("it is no .NET program, or it starts one much later")
                .next("start it by hand, then: drdotnet ps, and drdotnet run ... -p PID"),
            LaunchError::Port { .. } => {
                failure.next("set TMPDIR to a folder that can be written, with a short path")
            }
            _ => failure,
        }
    }
}

impl Failure {
    /// A runtime that could have called our port runs, but has not called.
    pub fn port_out_of_reach(program: &str, port: &Path) -> Failure {
        let what = format!("the runtime in '{program}' could not reach our port at {}", port.display());
        Failure::new(Code::LaunchFailed, what)
            .why(
                "it runs as another user or in another mount namespace, or a launcher has changed its \
                 environment; it was stopped",
            )
            .next("start it by hand, then: drdotnet ps, and drdotnet run ... -p PID")
    }
}
