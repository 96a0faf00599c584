//! An agent that could not come in, or did not answer.

use profilers::AgentError;

use super::Failure;
use crate::exit_code::Code;

/// What helps without an agent.
const OTHER_WAYS: &str =
    "drdotnet profilers   says which ones need no agent; threads, thread-time and off-cpu look from outside";
/// Another place for the library.
const OTHER_FOLDER: &str = "DRDOTNET_AGENT_FOLDER=/path drdotnet ...   names another folder of the process, one it may load libraries from";

impl From<AgentError> for Failure {
    fn from(error: AgentError) -> Failure {
        let why = error.to_string();
        let refused =
            |code| Failure::new(code, "no agent could be brought into the process").why(why.clone());
        let failed =
            || Failure::new(Code::AgentFailed, "the agent in the process did not answer").why(why.clone());
        match error {
            AgentError::Stopped { by: None } => {
                refused(Code::NoAnswer).next("kill -CONT PID   lets it go on").next(OTHER_WAYS)
            }
            AgentError::Stopped { by: Some(_) } => {
                refused(Code::NoAnswer).next("let it go on in the debugger, or detach it").next(OTHER_WAYS)
            }
            AgentError::SwitchedOff { .. } => refused(Code::Unsupported).next(OTHER_WAYS),
            AgentError::OtherMachine { .. } | AgentError::OtherLibrary { .. } => {
                refused(Code::Unsupported).next(OTHER_WAYS)
            }
            AgentError::NoFolder { .. }
            | AgentError::NoExec { .. }
            | AgentError::ReadOnly { .. }
            | AgentError::Unwritable { .. }
            | AgentError::Planted { .. }
            | AgentError::LongPath { .. } => refused(Code::AgentRefused).next(OTHER_FOLDER),
            AgentError::Taken => refused(Code::AgentRefused)
                .next("detach the other profiler, or restart the process without it")
                .next(OTHER_WAYS),
            AgentError::NotLoaded { .. } => refused(Code::AgentRefused)
                .next("can the user of the process read in that folder?")
                .next("a library loader that refuses (SELinux, AppArmor, seccomp) says so in the journal or dmesg")
                .next(OTHER_FOLDER),
            AgentError::Silent { .. } => failed()
                .next("try again: on a machine that is very busy it may come too late")
                .next(OTHER_WAYS),
            AgentError::Refused { .. } => failed()
                .next("try again; a process that collects garbage all the time cannot always be stopped in time")
                .next(OTHER_WAYS),
            AgentError::Version { .. } => {
                failed().next("another version of drdotnet is at work in this process: wait until it has ended")
            }
            AgentError::Left { .. } => failed().next("try again; the process is not harmed").next(OTHER_WAYS),
            AgentError::Lost { .. } | AgentError::Damaged(_) => {
                failed().next("drdotnet ps   shows whether the process is still there; then try again")
            }
            _ => refused(Code::AgentRefused).next(OTHER_WAYS),
        }
    }
}
