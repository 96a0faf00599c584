//! What this user can collect from a process, and what is missing for the rest.

use process_view::{Process, RuntimeMark};

use crate::linux::{Rights, is_executable_folder, open_inside, temp_folder};
use crate::process::{DotnetProcess, Off, Reach};
use crate::scan::is_zero;

/// Longest path of a socket; with a longer one the runtime goes on without.
const LONGEST_SOCKET_PATH: usize = 107;

/// Whether something can be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Yes.
    Yes,
    /// In part: what is missing, and what it needs.
    Partly(String),
    /// No: what it needs.
    No(String),
}

/// One thing that may be collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Stable id in kebab case.
    pub id: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// Whether this user can do it.
    pub ability: Ability,
}

/// Everything that may be collected from a process, and whether this user can.
#[must_use]
pub fn access(process: &DotnetProcess) -> Vec<Access> {
    let rights = Rights::now();
    let runtime = runtime_ability(process, &rights);
    vec![
        Access {
            id: "kernel-facts",
            what: "threads, CPU and memory from /proc",
            ability: proc_ability(process, &rights),
        },
        Access {
            id: "runtime-events",
            what: "events, counters, heap graphs from the runtime",
            ability: runtime.clone(),
        },
        Access {
            id: "profiler",
            what: "profilers inside the process",
            ability: profiler_ability(process, runtime.clone()),
        },
        Access {
            id: "dump",
            what: "core dumps written by the runtime",
            ability: dump_ability(process, runtime),
        },
        Access {
            id: "cpu-samples",
            what: "CPU samples from the kernel",
            ability: sampling_ability(process, &rights),
        },
        Access {
            id: "memory",
            what: "reading the process's memory",
            ability: memory_ability(process, &rights),
        },
    ]
}

/// Whom one must be: the owner or root.
fn owner(process: &DotnetProcess) -> String {
    match &process.user {
        Some(user) if user.id == 0 => "root".to_owned(),
        Some(user) => format!("{} or as root", user.shown()),
        None => "its user or as root".to_owned(),
    }
}

fn is_foreign(process: &DotnetProcess, rights: &Rights) -> bool {
    process.user.as_ref().is_some_and(|user| user.id != rights.user)
}

fn runtime_ability(process: &DotnetProcess, rights: &Rights) -> Ability {
    match &process.reach {
        Reach::Ready => Ability::Yes,
        Reach::Forbidden if rights.user == 0 => {
            Ability::No("needs the right CAP_SYS_PTRACE (in a container: --cap-add SYS_PTRACE)".into())
        }
        Reach::Forbidden => Ability::No(format!("needs to run as {}", owner(process))),
        Reach::NoAnswer { .. } => {
            Ability::No("needs the process to answer; it is hung, stopped or busy".into())
        }
        Reach::Off(Off::Variable(variable)) => {
            Ability::No(format!("needs a restart of the process without {variable}"))
        }
        Reach::Off(Off::NoSocket { expected }) => {
            if expected.len() > LONGEST_SOCKET_PATH {
                let length = expected.len();
                return Ability::No(format!(
                    "needs a restart of the process with a shorter TMPDIR: a socket's path has at most \
                     {LONGEST_SOCKET_PATH} bytes, {expected} has {length}"
                ));
            }
            Ability::No(format!("needs the runtime's socket, which is not at {expected}"))
        }
        Reach::Broken { problem } => Ability::No(problem.clone()),
    }
}

fn proc_ability(process: &DotnetProcess, rights: &Rights) -> Ability {
    if !process.visible {
        return Ability::No(
            "needs a shared pid namespace (docker --pid, or shareProcessNamespace in a pod)".into(),
        );
    }
    if is_foreign(process, rights) && !rights.may_trace_others() {
        return Ability::Partly(format!("not its environment and files: needs to run as {}", owner(process)));
    }
    Ability::Yes
}

fn profiler_ability(process: &DotnetProcess, runtime: Ability) -> Ability {
    if runtime != Ability::Yes {
        return runtime;
    }
    if !process.visible {
        return Ability::No(
            "needs a shared pid namespace: a library must be placed in its file system".into(),
        );
    }
    let inside = Process::new(process.pid);
    let environment = inside.environment().unwrap_or_default();
    let off = environment.iter().find(|(name, value)| {
        name.to_ascii_lowercase().ends_with("_enablediagnostics_profiler") && is_zero(value)
    });
    if let Some((name, value)) = off {
        return Ability::No(format!("switched off by its owner: {name}={value}"));
    }
    let folder = temp_folder(&inside, &environment);
    match open_inside(&inside, &folder).as_ref().and_then(is_executable_folder) {
        Some(false) => Ability::No(format!("its temp folder {} is mounted noexec", folder.display())),
        Some(true) => Ability::Yes,
        None => Ability::No("needs access to the process's file system (a shared pid namespace)".into()),
    }
}

/// The runtime starts a program of its own for dumps, which lies beside it. A single file has it inside, or not.
fn dump_ability(process: &DotnetProcess, runtime: Ability) -> Ability {
    if runtime != Ability::Yes {
        return runtime;
    }
    let view = Process::new(process.pid);
    let Some(RuntimeMark::Library(library)) = process.visible.then(|| view.runtime_mark()).flatten() else {
        return Ability::Partly(
            "a single-file program may lack the runtime's createdump: it then fails, or writes nothing"
                .into(),
        );
    };
    let dumper = library.with_file_name("createdump");
    match view.is_runnable(&dumper) {
        Some(true) => Ability::Yes,
        Some(false) => Ability::No(format!("needs {} to be executable: chmod +x", dumper.display())),
        None => Ability::No(format!("needs the runtime's createdump, which is not at {}", dumper.display())),
    }
}

fn sampling_ability(process: &DotnetProcess, rights: &Rights) -> Ability {
    let Some(paranoid) = rights.perf_paranoid else {
        return Ability::No("this kernel has no perf events".into());
    };
    if !process.visible {
        return Ability::No("needs a shared pid namespace".into());
    }
    if rights.may_sample_anything() {
        return Ability::Yes;
    }
    let remedy = "needs root, CAP_PERFMON, or sysctl kernel.perf_event_paranoid";
    match paranoid {
        ..=0 => Ability::Yes,
        3.. => Ability::No(format!("{remedy} at 2 or below (it is {paranoid})")),
        _ if is_foreign(process, rights) => Ability::No(format!("needs to run as {}", owner(process))),
        2 => Ability::Partly(format!("not inside the kernel: {remedy} at 1 or below (it is 2)")),
        _ => Ability::Partly(format!("thread by thread, at a higher cost: {remedy} at 0 (it is {paranoid})")),
    }
}

fn memory_ability(process: &DotnetProcess, rights: &Rights) -> Ability {
    if !process.visible {
        return Ability::No("needs a shared pid namespace".into());
    }
    if Rights::may_read_memory(&Process::new(process.pid)) {
        return Ability::Yes;
    }
    if is_foreign(process, rights) {
        return Ability::No(format!("needs to run as {}, or CAP_SYS_PTRACE", owner(process)));
    }
    Ability::No(format!(
        "needs root or CAP_SYS_PTRACE (sysctl kernel.yama.ptrace_scope is {}, 0 would do)",
        rights.ptrace_scope
    ))
}
