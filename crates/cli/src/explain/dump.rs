//! Core dumps that could not be written.

use core_dumps::{DumpError, Failed, Refusal};
use discovery::DotnetProcess;
use model::format_duration;
use process_view::Process;

use super::Failure;
use crate::exit_code::Code;

/// Why there is no dump, and what to do.
pub fn no_dump(failed: Failed, process: &DotnetProcess) -> Failure {
    let what = format!("process {} ({}) cannot write its dump", process.pid, process.name);
    let failure = match failed.error {
        DumpError::BadPath(path, problem) => {
            Failure::new(Code::DumpPlace, format!("a dump cannot be written to {}", path.display())).why(problem)
                .next("choose another place with -o FILE")
        }
        error @ (DumpError::NoFolder(_) | DumpError::ReadOnly(_)) => Failure::new(Code::DumpPlace, what)
            .why(format!("{error}{}", whose_files(process)))
            .next("-o FILE in a folder that the process sees and may write to, such as -o /tmp/core"),
        error @ DumpError::NotAllowed { .. } => Failure::new(Code::DumpPlace, what)
            .why(format!("{error}; the process itself writes the file, whoever asks for it"))
            .next("choose a folder that its user may write to, such as -o /tmp/core"),
        error @ DumpError::Exists(_) => Failure::new(Code::DumpPlace, what)
            .why(format!("{error}, and would be overwritten"))
            .next("choose another name with -o FILE, or remove it first"),
        error @ DumpError::NoDumper(_) => Failure::new(Code::DumpFailed, what)
            .why(format!("{error}; a runtime without it reports success and writes nothing, or leaves a copy of the process behind, so it was not asked"))
            .next("put createdump of the same runtime version there (it is part of the Microsoft.NETCore.App runtime package)")
            .next(other_ways(process)),
        DumpError::DumperNotRunnable(path) => Failure::new(Code::DumpFailed, what)
            .why(format!("the runtime's program {} is not executable, so it was not asked", path.display()))
            .next(format!("chmod +x {}", seen(process, &path))),
        error @ DumpError::TracingOff { scope } => {
            let failure = Failure::new(Code::DumpFailed, what).why(error.to_string());
            match scope {
                2 => failure.next("give the process CAP_SYS_PTRACE, or sysctl kernel.yama.ptrace_scope=1"),
                _ => failure.next("reboot with another setting: at 3 it cannot be changed back"),
            }
            .next(other_ways(process))
        }
        DumpError::Refused { refusal } => refused(what, &refusal, process),
        error @ (DumpError::WroteNothing(_) | DumpError::Empty(_)) => Failure::new(Code::DumpFailed, what)
            .why(error.to_string())
            .next("look at the console of the process with --diag; its createdump may be missing or not executable")
            .next(other_ways(process)),
        DumpError::NoAnswer(waited) => Failure::new(
            Code::NoAnswer,
            format!("process {} ({}) has not finished its dump after {}", process.pid, process.name, format_duration(waited)),
        )
        .why("it may still be writing: the file grows then")
        .next("--timeout 2h   waits longer"),
        DumpError::TargetEnded => Failure::new(Code::TargetEnded, format!("process {} ({}) ended in the middle", process.pid, process.name))
            .why("a process that is killed while createdump reads it, for instance for want of memory, leaves nothing")
            .next("drdotnet ps   lists the processes that are there now"),
        other => Failure::new(Code::Unexpected, format!("{what}: {other}")),
    };
    if failed.leftovers.is_empty() {
        return failure;
    }
    let pids: Vec<String> = failed.leftovers.iter().map(u32::to_string).collect();
    failure
        .also(&format!("the runtime left a copy of the process behind: pid {}", pids.join(", ")))
        .next(format!("kill {}   removes the copy", pids.join(" ")))
}

fn refused(what: String, refusal: &Refusal, process: &DotnetProcess) -> Failure {
    let why = match refusal {
        Refusal::Wordless(code) => format!("its runtime says only {code}"),
        other => format!("its runtime says: {}", other.words().unwrap_or_default()),
    };
    let failure = |code| Failure::new(code, what.clone()).why(why.clone());
    match refusal {
        Refusal::NoSpace(_) => failure(Code::DumpPlace)
            .next("choose a place with more room with -o FILE; nothing was left behind"),
        Refusal::NotWritable(_) => {
            failure(Code::DumpPlace).next("choose a folder that its user may write to, such as -o /tmp/core")
        }
        Refusal::OnlyFull(_) => failure(Code::DumpFailed).next("--type Full"),
        Refusal::NoTracing(_) => failure(Code::DumpFailed)
            .next("in a container: --cap-add SYS_PTRACE, or securityContext.capabilities.add; and a seccomp profile that allows ptrace")
            .next("elsewhere: sysctl kernel.yama.ptrace_scope=1 or lower")
            .next(other_ways(process)),
        Refusal::NoDumper(_) => {
            failure(Code::DumpFailed).next("createdump must lie beside the runtime and be executable").next(other_ways(process))
        }
        _ => failure(Code::DumpFailed)
            .next("causes that were seen: no right to trace (containers: --cap-add SYS_PTRACE), a createdump that cannot run, a full disk")
            .next("--diag   lets the runtime say more on the console of the process")
            .next(other_ways(process)),
    }
}

/// What helps when no dump is to be had.
fn other_ways(process: &DotnetProcess) -> String {
    format!("drdotnet gcdump collect -p {}   gets the heap without any of this", process.pid)
}

fn whose_files(process: &DotnetProcess) -> &'static str {
    match Process::new(process.pid).shares_file_system() {
        Some(false) => ": it has a file system of its own",
        _ => "",
    }
}

/// A path of the target as we see it.
fn seen(process: &DotnetProcess, path: &std::path::Path) -> String {
    let view = Process::new(process.pid);
    match view.shares_file_system() {
        Some(false) => view.root().join(path.strip_prefix("/").unwrap_or(path)).display().to_string(),
        _ => path.display().to_string(),
    }
}
