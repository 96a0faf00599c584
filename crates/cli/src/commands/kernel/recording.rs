//! The kernel's samples, for as long as was asked for.

use std::time::{Duration, Instant};

use discovery::{DotnetProcess, Options, find};
use kernel_collector::{Collecting, NamesFirst, Recorded, Target};
use model::{ProcessId, Unit, WindowEnd};
use perf_sampler::{Children, Wake};
use process_view::{Process, TaskState};
use reports::value::format_whole;

use super::plan::Plan;
use super::subjects::Subjects;
use crate::commands::launching::{Program, family};
use crate::explain::Failure;
use crate::progress::Progress;
use crate::redaction::shown;

/// How quickly a signal is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// How long a child may take to say who it is.
const CHILD: Duration = Duration::from_millis(500);

/// What a recording came to.
pub struct Outcome {
    pub recorded: Recorded,
    pub end: WindowEnd,
    /// Those of the subjects that were over by then.
    pub ended: Vec<ProcessId>,
    /// Those of them that a signal or a debugger held at the end.
    pub held: Vec<ProcessId>,
    /// .NET programs among the children that were there at the start.
    pub children: Vec<DotnetProcess>,
}

/// Records, until the time is over, the user wants the report, or nobody is left.
pub fn record(plan: &Plan, subjects: &Subjects, progress: &Progress) -> Result<Outcome, Failure> {
    let mut targets: Vec<Target> = subjects.processes.iter().map(Target::from).collect();
    let children = match plan.children {
        Children::Followed => known_children(&mut targets),
        Children::Ignored => Vec::new(),
    };
    let mut request = plan.request(targets);
    request.debug_cache = native_symbols::user_cache();
    if matches!(subjects.program, Some(Program::Ported(_))) {
        request.names = NamesFirst::Later;
    }
    let mut collecting = Collecting::start(request)?;
    if let Some(program) = &subjects.program {
        program.resume()?;
    }
    let begin = Instant::now();
    let end = loop {
        let elapsed = begin.elapsed();
        let left = plan.duration.saturating_sub(elapsed);
        if left.is_zero() {
            break WindowEnd::Completed;
        }
        if subjects.interrupt.is_asked() {
            break WindowEnd::Cancelled;
        }
        let samples = collecting.counts().on_cpu + collecting.wait_stacks();
        let samples = format_whole(samples, Unit::Count);
        progress.update(elapsed, plan.duration, &format!("{samples} samples"));
        if collecting.wait(left.min(GLANCE))? == Wake::TargetsEnded {
            break WindowEnd::TargetExited;
        }
    };
    let pids = || subjects.processes.iter().map(|process| process.pid);
    let ended = pids().filter(|pid| !Process::new(*pid).is_alive()).collect();
    let held = pids().filter(|pid| is_held(*pid)).collect();
    Ok(Outcome { recorded: collecting.finish(), end, ended, held, children })
}

fn is_held(pid: ProcessId) -> bool {
    let state = Process::new(pid).stat().map(|stat| stat.state);
    matches!(state, Ok(TaskState::Stopped | TaskState::Traced))
}

/// Adds the children that are there already; of those that come later the sampler tells. Returns what is known of
/// those that are .NET programs.
fn known_children(targets: &mut Vec<Target>) -> Vec<DotnetProcess> {
    let families = targets.iter().flat_map(|target| family(target.pid));
    let mut pids: Vec<ProcessId> =
        families.filter(|pid| targets.iter().all(|target| target.pid != *pid)).collect();
    pids.sort_unstable();
    pids.dedup();
    let mut known = Vec::new();
    for pid in pids {
        match find(pid, &Options { timeout: CHILD }) {
            Ok(process) => {
                let process = shown(process);
                targets.push(Target::from(&process));
                known.push(process);
            }
            Err(_) => targets.push(Target::from(pid)),
        }
    }
    known
}
