//! The engine of the profilers that ask an agent inside the process.
//!
//! ```text
//! Run --> visit --> agent_host::attach --> Guest: ask, wait, ask again --> (leave, on every path) --> Visited: value, cost, notes
//!                                             |
//!                       agent_host::Stacks ---+--> naming::Named: threads with frames that have names, files and lines
//! ```
//!
//! A profiler passes a function that asks; whatever comes of it, the agent is led out before its answer is used.

mod kernel_wait;
mod lines;
pub(crate) mod monitor_waits;
mod naming;
pub(crate) mod objects;
mod parked;
mod sight;
#[cfg(test)]
pub(crate) mod specimen;
pub(crate) mod stubs;
mod thread_names;

use std::time::{Duration, Instant};

use agent_host::{AgentError, Attached, Options, Reason, attach};
use discovery::DotnetProcess;
use model::{Cost, Pauses, WindowEnd, format_duration};
use process_view::Process;

pub(crate) use lines::AllCode;
pub(crate) use naming::{Lines, Namer};
pub(crate) use sight::{Native, Seen, Sight, Unnamed, names};

use crate::ProfilerError;
use crate::control::Stop;
use crate::profiler::Run;
use crate::ratio::nanos;

/// How much longer than the run lasts the agent may stay: for questions on a busy machine. Then it leaves by itself.
const GRACE: Duration = Duration::from_secs(120);
/// How often we look whether the target still lives while we wait.
const SLICE: Duration = Duration::from_millis(100);

/// The agent, as long as it is there.
pub(crate) struct Guest<'a> {
    attached: Attached,
    run: &'a Run<'a>,
    process: Process,
    pauses: Pauses,
    answers: u64,
    left_out: u64,
    end: WindowEnd,
}

/// What came of a visit.
pub(crate) struct Visited<T> {
    /// What the asking function returned.
    pub(crate) value: T,
    /// What it cost, attaching and leaving included.
    pub(crate) cost: Cost,
    /// What a reader must know to trust the answer.
    pub(crate) notes: Vec<String>,
    /// How long it took from the first question to the last answer.
    pub(crate) measured: Duration,
    /// Why it ended.
    pub(crate) end: WindowEnd,
}

/// Brings the agent in, lets `ask` ask it, and sees it leave, whatever came of the asking.
pub(crate) fn visit<T>(
    run: &Run<'_>,
    profiler: &'static str,
    ask: impl FnOnce(&mut Guest<'_>) -> Result<T, AgentError>,
) -> Result<Visited<T>, ProfilerError> {
    if !run.process.visible {
        return Err(ProfilerError::NotVisible { profiler });
    }
    let client = run.process.client().ok_or(ProfilerError::NoRuntime)?;
    let process = Process::new(run.process.pid);
    let options = Options { stay: run.duration.saturating_add(GRACE), ..Options::default() };
    let began = Instant::now();
    let attached = attach(run.process.pid, &client, &options).map_err(|error| failure(error, &process))?;
    let attaching = began.elapsed();
    let mut guest = Guest {
        attached,
        run,
        process,
        pauses: Pauses::default(),
        answers: 0,
        left_out: 0,
        end: WindowEnd::Completed,
    };
    let began = Instant::now();
    let outcome = ask(&mut guest);
    let measured = began.elapsed();
    let Guest { attached, process, pauses, answers, left_out, end, .. } = guest;
    let bytes = attached.bytes();
    let left = attached.leave();
    let value = outcome.map_err(|error| failure(error, &process))?;
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!(
            "{left_out} things did not fit into the agent's bounded memory and are missing here"
        ));
    }
    let leaving = match left {
        Ok(farewell) if farewell.confirmed => format!("left within {}", format_duration(farewell.took)),
        Ok(_) if !process.is_alive() => "ended with the process".to_owned(),
        Ok(_) => {
            notes.push(
                "the runtime did not confirm that the agent is detached; it has no thread and no connection any more"
                    .to_owned(),
            );
            "went to sleep".to_owned()
        }
        Err(error) => {
            notes.push(format!("the agent was not seen to leave ({error}); it leaves by itself"));
            "was told to leave".to_owned()
        }
    };
    Ok(Visited {
        value,
        cost: Cost {
            method: format!(
                "an agent inside the process (profiling API), which came within {} and {leaving}",
                format_duration(attaching)
            ),
            pauses,
            bytes,
            events: answers,
            ..Cost::default()
        },
        notes,
        measured,
        end,
    })
}

impl Guest<'_> {
    /// Asks a question: `guest.ask(Attached::stacks, |answer| (answer.pause, answer.left_out))`.
    pub(crate) fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut Attached) -> Result<T, AgentError>,
        about: impl FnOnce(&T) -> (agent_host::Pause, u32),
    ) -> Result<T, AgentError> {
        let answer = question(&mut self.attached)?;
        let (pause, left_out) = about(&answer);
        let pause = nanos(pause.suspending.saturating_add(pause.suspended));
        self.pauses.count += 1;
        self.pauses.total_ns += pause;
        self.pauses.longest_ns = self.pauses.longest_ns.max(pause);
        self.answers += 1;
        self.left_out += u64::from(left_out);
        Ok(answer)
    }

    /// Asks a question for which nothing stands still.
    pub(crate) fn ask_running<T>(
        &mut self,
        question: impl FnOnce(&mut Attached) -> Result<T, AgentError>,
    ) -> Result<T, AgentError> {
        self.answers += 1;
        question(&mut self.attached)
    }

    /// The process stood still for us in another way.
    pub(crate) fn stood_still(&mut self, time: Duration) {
        self.pauses.count += 1;
        self.pauses.total_ns += nanos(time);
        self.pauses.longest_ns = self.pauses.longest_ns.max(nanos(time));
    }

    /// Whether its runtime can walk its heap.
    pub(crate) fn walks_heap(&self) -> bool {
        self.attached.walks_heap()
    }

    /// The stacks of all managed threads.
    pub(crate) fn stacks(&mut self) -> Result<agent_host::Stacks, AgentError> {
        self.ask(Attached::stacks, |answer| (answer.pause, answer.left_out))
    }

    /// What the agent said first.
    pub(crate) fn hello(&self) -> &agent_host::Hello {
        self.attached.hello()
    }

    /// The process it is in.
    pub(crate) fn target(&self) -> &DotnetProcess {
        self.run.process
    }

    /// Waits between two of many questions, of a run that has lasted for `elapsed`; else as [`Guest::wait`].
    pub(crate) fn wait_within(
        &mut self,
        time: Duration,
        elapsed: Duration,
        total: Duration,
        note: &str,
    ) -> WindowEnd {
        self.run.control.progress(elapsed, total, note);
        if self.run.control.wait(time) == Stop::Cancelled {
            self.end = WindowEnd::Cancelled;
        } else if !self.process.is_alive() {
            self.end = WindowEnd::TargetExited;
        }
        self.end
    }

    /// Waits between two questions; shorter if the user wants the report now or the target ends, which is then said in
    /// the report.
    pub(crate) fn wait(&mut self, time: Duration, note: &str) -> WindowEnd {
        let began = Instant::now();
        loop {
            let left = time.saturating_sub(began.elapsed());
            if left.is_zero() {
                return WindowEnd::Completed;
            }
            self.run.control.progress(began.elapsed(), time, note);
            if self.run.control.wait(left.min(SLICE)) == Stop::Cancelled {
                self.end = WindowEnd::Cancelled;
                return self.end;
            }
            if !self.process.is_alive() {
                self.end = WindowEnd::TargetExited;
                return self.end;
            }
        }
    }
}

/// An error of the agent as one of the profiler: what is not about the agent is said as everywhere.
fn failure(error: AgentError, process: &Process) -> ProfilerError {
    match error {
        AgentError::View(error) => error.into(),
        AgentError::Lost { .. } | AgentError::Ipc(_) if !process.is_alive() => ProfilerError::TargetEnded,
        AgentError::Ended | AgentError::Left { reason: Reason::Shutdown } => ProfilerError::TargetEnded,
        AgentError::Ipc(error) => error.into(),
        error => ProfilerError::Agent(error),
    }
}
