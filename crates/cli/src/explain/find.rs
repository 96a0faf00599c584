//! Processes that are not there, are not .NET, or cannot be reached.

use discovery::{DotnetProcess, FindError, Off, Reach};
use model::format_duration;
use process_view::{Process, TaskState};

use super::Failure;
use crate::commands::short_command;
use crate::exit_code::Code;
use crate::redaction::shown;

/// Most processes named in a message.
const MOST_NAMED: usize = 5;

impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        let what = error.to_string();
        match error {
            FindError::NoSuchProcess { others, .. } => Failure::new(Code::NoSuchProcess, what)
                .why("/proc does not show it: it ended, or it lives in a pid namespace that is not ours")
                .next(choose_from(&others)),
            FindError::Ended { parent, .. } => Failure::new(Code::NoSuchProcess, what)
                .why(format!(
                    "only its entry is left: its parent, process {parent}, has not collected it yet"
                ))
                .next("drdotnet ps   lists the .NET processes that are there now"),
            FindError::NotDotnet { sure, .. } => {
                let seen = if sure {
                    "it has no diagnostics socket and no sign of the .NET runtime"
                } else {
                    "it has no sign of the .NET runtime that this user may see"
                };
                let failure = Failure::new(Code::NotDotnet, what).why(seen);
                if sure {
                    failure.next("drdotnet ps   lists the .NET processes")
                } else if is_root() {
                    failure.next("give this tool the right CAP_SYS_PTRACE (docker: --cap-add SYS_PTRACE)")
                } else {
                    failure.next("run it again as root, who may see more")
                }
            }
            FindError::NoSuchName { name, others } => {
                let failure = Failure::new(Code::NoSuchName, what)
                    .why("names are compared with the entry assembly and the executable, in full");
                match nearest(&name, &others) {
                    Some(near) => failure.next(format!("did you mean '{near}'?")),
                    None => failure,
                }
                .next(choose_from(&others))
            }
            FindError::Ambiguous { candidates, .. } => {
                let mut failure = Failure::new(Code::AmbiguousName, what).next("choose one by its pid:");
                for process in candidates.iter().take(MOST_NAMED) {
                    failure = failure.choice(format!(
                        "-p {}   {}",
                        process.pid,
                        cut(&shown(process.clone()).shown_command_line())
                    ));
                }
                if candidates.len() > MOST_NAMED {
                    let more = candidates.len() - MOST_NAMED;
                    failure = failure.choice(format!("and {more} more: drdotnet ps   lists them all"));
                }
                failure
            }
            _ => Failure::new(Code::Unexpected, what),
        }
    }
}

/// The failure that a process's reach amounts to, when a command needs its runtime.
pub fn unreachable(process: &DotnetProcess) -> Option<Failure> {
    let who = format!("{} ({})", process.pid, process.name);
    let owner = process.user.as_ref().map_or("another user".to_owned(), discovery::User::shown);
    Some(match &process.reach {
        Reach::Ready => return None,
        Reach::Forbidden if is_root() => {
            Failure::new(Code::Forbidden, format!("process {who} of user {owner} cannot be reached"))
                .why(
                    "root here lacks the right CAP_SYS_PTRACE, without which /proc hides the process's files",
                )
                .next("docker run --cap-add SYS_PTRACE, or securityContext.capabilities.add in a pod")
        }
        Reach::Forbidden => Failure::new(Code::Forbidden, format!("process {who} belongs to user {owner}"))
            .why("only its user and root may talk to its runtime")
            .next(match &process.user {
                Some(user) if user.id != 0 => {
                    let known = user.name.clone().unwrap_or_else(|| format!("'#{}'", user.id));
                    format!("run this as {owner} (sudo -u {known} ...) or as root")
                }
                _ => "run this as root (sudo ...)".to_owned(),
            })
            .next(proc_only(process)),
        Reach::Off(Off::Variable(variable)) => {
            Failure::new(Code::DiagnosticsOff, format!("process {who} has its diagnostics switched off"))
                .why(format!("{variable} is set in its environment"))
                .next("restart it without that variable to ask its runtime")
                .next(proc_only(process))
        }
        Reach::Off(Off::NoSocket { expected }) => {
            Failure::new(Code::DiagnosticsOff, format!("process {who} has no diagnostics socket"))
                .why(format!(
                    "there is none at {expected}: diagnostics are off, or its temp folder was cleaned"
                ))
                .next("restart it; check DOTNET_EnableDiagnostics and whatever cleans its temp folder")
                .next(proc_only(process))
        }
        Reach::NoAnswer { waited } => {
            // While we waited, its state may have changed.
            let now = process.visible.then(|| Process::new(process.pid).stat().ok()).flatten();
            let state = now.map(|stat| stat.state).or(process.state);
            let reason = match state {
                Some(TaskState::Stopped) => "it is stopped by a signal (SIGSTOP)".to_owned(),
                Some(TaskState::Traced) => "a debugger holds it".to_owned(),
                _ => "it hangs, or another tool keeps its diagnostics server busy (it serves one at a time)"
                    .to_owned(),
            };
            let failure = Failure::new(
                Code::NoAnswer,
                if waited.is_zero() {
                    format!("process {who} accepts connections but does not answer")
                } else {
                    let waited = format_duration(*waited);
                    format!("process {who} accepts connections but does not answer (waited {waited})")
                },
            )
            .why(reason);
            match state {
                Some(TaskState::Stopped) => {
                    failure.next(format!("kill -CONT {}   lets it go on", process.pid))
                }
                _ => failure.next("wait for the other tool and try again"),
            }
            .next(proc_only(process))
        }
        Reach::Broken { problem } => {
            Failure::new(Code::NoAnswer, format!("process {who} cannot be asked")).why(problem.clone())
        }
    })
}

fn proc_only(process: &DotnetProcess) -> String {
    if !process.visible {
        return "share its pid namespace to read /proc: docs/containers.md".to_owned();
    }
    format!("drdotnet run threads -p {}   works all the same: it reads /proc", process.pid)
}

/// The name that was meant, if only one comes into question.
fn nearest(typed: &str, processes: &[DotnetProcess]) -> Option<String> {
    let typed = typed.to_lowercase();
    let mut begins: Vec<&str> = processes
        .iter()
        .map(|process| process.name.as_str())
        .filter(|name| !typed.is_empty() && name.to_lowercase().starts_with(&typed))
        .collect();
    begins.sort_unstable();
    begins.dedup();
    match begins.as_slice() {
        [only] => Some((*only).to_owned()),
        [] => profilers::closest(&typed, processes.iter().map(|process| process.name.as_str()))
            .map(str::to_owned),
        _ => None,
    }
}

fn choose_from(processes: &[DotnetProcess]) -> String {
    if processes.is_empty() {
        return "drdotnet ps   lists .NET processes; there is none now that this user can see".to_owned();
    }
    let mut names: Vec<String> = processes
        .iter()
        .take(MOST_NAMED)
        .map(|process| format!("{} {}", process.pid, process.name))
        .collect();
    if processes.len() > MOST_NAMED {
        names.push(format!("and {} more", processes.len() - MOST_NAMED));
    }
    format!("drdotnet ps   lists the .NET processes: {}", names.join(", "))
}

fn cut(command_line: &str) -> String {
    reports::printable_within(&short_command(command_line), 100)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
