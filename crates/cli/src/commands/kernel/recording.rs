//! The kernel's samples, for as long as was asked for.

use std::time::{Duration, Instant};

use kernel_collector::{Collecting, NamesFirst, Recorded, Target};
use model::{ProcessId, Unit, WindowEnd};
use perf_sampler::{Wake, prefer_this_thread};
use process_view::Process;
use reports::value::format_whole;

use super::plan::Plan;
use super::subjects::Subjects;
use crate::commands::launching::Program;
use crate::explain::Failure;
use crate::progress::Progress;

/// How quickly a signal is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// What a recording came to.
pub struct Outcome {
    pub recorded: Recorded,
    pub end: WindowEnd,
    /// Those of the subjects that were over by then.
    pub ended: Vec<ProcessId>,
}

/// Records, until the time is over, the user wants the report, or nobody is left.
pub fn record(plan: &Plan, subjects: &Subjects, progress: &Progress) -> Result<Outcome, Failure> {
    let mut request = plan.request(subjects.processes.iter().map(Target::from).collect());
    request.debug_cache = native_symbols::user_cache();
    if matches!(subjects.program, Some(Program::Ported(_))) {
        request.names = NamesFirst::Later;
    }
    let mut collecting = Collecting::start(request)?;
    if let Some(program) = &subjects.program {
        program.resume()?;
    }
    let preferred = prefer_this_thread();
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
        let counts = collecting.counts();
        let samples = format_whole(counts.on_cpu + counts.wait_stacks, Unit::Count);
        progress.update(elapsed, plan.duration, &format!("{samples} samples"));
        if collecting.wait(left.min(GLANCE))? == Wake::TargetsEnded {
            break WindowEnd::TargetExited;
        }
    };
    if preferred {
        // What is left to do can wait for its turn.
        let _ = rustix::process::setpriority_process(None, 0);
    }
    let pids = subjects.processes.iter().map(|process| process.pid);
    let ended = pids.filter(|pid| !Process::new(*pid).is_alive()).collect();
    Ok(Outcome { recorded: collecting.finish(), end, ended })
}
