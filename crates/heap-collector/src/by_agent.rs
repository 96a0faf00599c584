//! The heap, told by an agent in the process: by a walk (9 and newer), or by the events of one collection.

use std::time::{Duration, Instant};

use agent_host::{AgentError, Attached, GraphOrder, Stage as AgentStage, attach};
use discovery::DotnetProcess;
use gc_memory::GcMemory;
use process_view::{Process, TaskState};

use crate::agent_events::events;
use crate::collect::Watch;
use crate::error::Error;
use crate::estimate::counted;
use crate::take::{Collect, LONGEST_UNASKED, Taken, Way, Wish, check};
use crate::walk::walk;

/// Memory that the target must have left below its limit, for the agent.
const NEEDED_FOR_AGENT: u64 = 16 << 20;
/// How long a process may stand still whose user has allowed it.
const LONGEST_ALLOWED: Duration = Duration::from_secs(300);
/// By how much an estimate may be wrong before the process is let go on.
const LEEWAY: u32 = 3;
/// What comes through shared memory is less than twice what it tells of; and small heaps have room.
const MOST_BYTES_FACTOR: u64 = 3;
const MOST_BYTES_LEAST: u64 = 256 << 20;
/// The first version whose runtime hands its events to an agent.
const EVENTS_TO_AGENT: u16 = 12;

/// Why there is no heap by this way.
#[derive(Debug)]
pub(crate) enum Declined {
    /// By another way there may be one.
    Because(String),
    /// By no way.
    Finally(Error),
}

impl From<Error> for Declined {
    fn from(error: Error) -> Declined {
        Declined::Finally(error)
    }
}

/// A heap that is told; what takes time without stopping the process is still to do.
pub(crate) type Unfinished = Box<dyn FnOnce() -> Result<Taken, Error>>;

/// Takes the heap with an agent.
pub(crate) fn by_agent(
    process: &DotnetProcess,
    wish: &Wish,
    watch: &mut dyn Watch,
) -> Result<Taken, Declined> {
    let client = process.client().ok_or(Error::NoSocket)?;
    if !process.visible {
        return Err(Declined::Because("/proc does not show the process".to_owned()));
    }
    let began = Instant::now();
    // Before the agent comes: it is not there longer than need be.
    let memory = match wish.collect {
        Collect::WhenNeeded if may_walk(process) => GcMemory::open(process.pid).map_err(|error| {
            format!("the roots of the heap cannot be read from outside ({error}), so it is not walked")
        }),
        Collect::WhenNeeded => Err("this runtime cannot walk its heap".to_owned()),
        Collect::Always => Err("garbage is to be collected first".to_owned()),
    };
    let expected = match &memory {
        Ok(memory) if !wish.allow_pause => (Way::Walk, counted(memory)),
        Ok(_) => (Way::Walk, None),
        Err(_) => (Way::AgentEvents, None),
    };
    check(process, wish, expected, NEEDED_FOR_AGENT)?;
    let mut attached = attach(process.pid, &client, &agent_host::Options::default())
        .map_err(|error| Declined::Because(format!("no agent can be brought in: {error}")))?;
    let told = tell(process, wish, watch, &mut attached, memory);
    // It leaves while the heap is put together; if it does not, it goes by itself, since nobody holds its line.
    let leaving = std::thread::Builder::new().name("agent-leaves".to_owned()).spawn(move || attached.leave());
    let taken = told.and_then(|unfinished| Ok(unfinished()?));
    if let Ok(leaving) = leaving {
        let _ = leaving.join();
    }
    taken.map(|taken| Taken { elapsed: began.elapsed(), ..taken })
}

/// By a walk if that can be done, else by the events of a collection.
fn tell(
    process: &DotnetProcess,
    wish: &Wish,
    watch: &mut dyn Watch,
    attached: &mut Attached,
    memory: Result<GcMemory, String>,
) -> Result<Unfinished, Declined> {
    let mut why = None;
    match memory {
        Ok(memory) if attached.walks_heap() => match walk(process, wish, watch, attached, memory) {
            Err(Declined::Because(because)) => {
                why = Some(because);
                check(process, wish, (Way::AgentEvents, None), NEEDED_FOR_AGENT)?;
            }
            outcome => return outcome,
        },
        Err(because) if may_walk(process) && wish.collect == Collect::WhenNeeded => why = Some(because),
        _ => {}
    }
    if attached.hello().interface < EVENTS_TO_AGENT {
        return Err(Declined::Because("this runtime does not hand its events to an agent".to_owned()));
    }
    events(process, wish, watch, attached, why)
}

/// Whether the runtime is of a version that can walk its heap, as far as is known.
fn may_walk(process: &DotnetProcess) -> bool {
    let major =
        process.runtime_version.as_deref().and_then(|version| version.split('.').next()?.parse().ok());
    major.is_none_or(|major: u32| major >= 9)
}

/// How long the process may stand still before the agent gives up.
pub(crate) fn longest(wish: &Wish) -> Duration {
    if wish.allow_pause { LONGEST_ALLOWED } else { LONGEST_UNASKED * LEEWAY }
}

/// More cannot be told of a process.
pub(crate) fn most_bytes(process: &DotnetProcess) -> u64 {
    let now = Process::new(process.pid).status().ok().and_then(|status| status.resident_bytes);
    let memory = now.or(process.memory).unwrap_or(u64::MAX);
    memory.saturating_mul(MOST_BYTES_FACTOR).saturating_add(MOST_BYTES_LEAST)
}

/// What an error of the agent's means for the heap.
pub(crate) fn declined(
    process: &DotnetProcess,
    error: AgentError,
    cancelled: bool,
    order: &GraphOrder,
) -> Declined {
    match error {
        AgentError::Refused { stage: AgentStage::Stopped, .. } if cancelled => {
            Declined::Finally(Error::Cancelled)
        }
        AgentError::Refused { stage: AgentStage::TooLong, .. } => Declined::Finally(Error::PauseNotAllowed {
            estimate: (order.longest, order.longest * 10),
            heap: process.memory.unwrap_or(0),
        }),
        AgentError::Lost { .. } | AgentError::Left { .. } if has_ended(process) => {
            Declined::Finally(Error::TargetExited)
        }
        error => Declined::Because(format!("the agent did not tell the heap: {error}")),
    }
}

fn has_ended(process: &DotnetProcess) -> bool {
    let state = Process::new(process.pid).stat().map(|stat| stat.state);
    !state.is_ok_and(|state| !matches!(state, TaskState::Zombie | TaskState::Dead))
}
