//! The heap of a target, for the profilers that judge it.
//!
//! ```text
//! Run --> take --> heap_collector::take --> Taken, notes --> (the profiler) --> Answer
//! ```
//! What every report on a heap must say stands here once: how it was taken, how long the process stood still, which
//! collections were forced, what is missing, whether garbage is in it.

pub(crate) mod holders;
pub(crate) mod memory;

use std::time::Duration;

use event_session::Going;
use heap_collector::{Collect, Error, Stage, Taken, Watch, Wish};
use model::{Cost, Pauses, format_duration};
use process_view::Process;

use crate::control::{Control, Stop};
use crate::profiler::Run;
use crate::ratio::{count_words, nanos};
use crate::{Kind, Parameter, ProfilerError, Settings};

/// The parameter by which a user allows a long pause. Every profiler that takes a heap has it; `--allow-pause` sets it.
pub const ALLOW_PAUSE: Parameter = Parameter {
    name: "allow-pause",
    kind: Kind::Choice { options: &["no", "yes"], default: "no" },
    help: "whether the process may stand still for more than 1 s while its heap is told",
};

/// What a reader must know of a heap to trust what is said of it.
pub type Notes = Vec<String>;

/// Takes the heap of the target. Where nothing is said, garbage may be in it.
pub fn take(run: &Run<'_>) -> Result<(Taken, Notes), ProfilerError> {
    take_with(run, Collect::WhenNeeded)
}

/// The heap that another profiler has just handed on, else as [`take`]; and what it cost.
pub fn take_or_go_on(run: &Run<'_>) -> Result<(Taken, Notes, Cost), ProfilerError> {
    let Some(taken) = run.sharing.and_then(|sharing| sharing.handed_on_heap()) else {
        let (taken, notes) = take(run)?;
        let cost = cost(&[&taken]);
        return Ok((taken, notes, cost));
    };
    let objects = count_words(taken.graph.node_count() as u64);
    let notes = vec![format!("the heap of {objects} objects is one that was taken a moment before")];
    let cost = Cost { method: "a heap that was taken a moment before".to_owned(), ..Cost::default() };
    Ok((taken, notes, cost))
}

/// The same, with a word on garbage.
pub fn take_with(run: &Run<'_>, collect: Collect) -> Result<(Taken, Notes), ProfilerError> {
    let wish = Wish { collect, ..wish(run.settings) };
    let mut waiting = Waiting { control: run.control };
    let taken = heap_collector::take(run.process, &wish, &mut waiting).map_err(|error| {
        // However it shows: a process that is gone is the reason.
        let is_gone = run.process.visible && !Process::new(run.process.pid).is_alive();
        if is_gone { ProfilerError::TargetEnded } else { failure(error) }
    })?;
    let notes = notes(&taken);
    Ok((taken, notes))
}

/// What the user allows.
#[must_use]
pub fn wish(settings: &Settings) -> Wish {
    Wish { allow_pause: settings.choice(ALLOW_PAUSE.name) == "yes", ..Wish::default() }
}

/// An error of the collection as one of a profiler.
pub(crate) fn failure(error: Error) -> ProfilerError {
    match error {
        Error::Ipc(error) => error.into(),
        Error::TargetExited => ProfilerError::TargetEnded,
        Error::NoSocket => ProfilerError::NoRuntime,
        other => ProfilerError::Heap(other),
    }
}

/// What a reader must know of a heap, in sentences.
#[must_use]
pub fn notes(taken: &Taken) -> Notes {
    let mut notes = vec![format!(
        "the heap of {} objects was taken by {}; {}; {}",
        count_words(taken.graph.node_count() as u64),
        taken.way.words(),
        match taken.pause {
            Some(pause) => format!("the process stood still for {}", format_duration(pause.total)),
            None => "how long the process stood still is not known".to_owned(),
        },
        match taken.collections {
            0 => "no collection was forced".to_owned(),
            1 => "one full collection was forced".to_owned(),
            more => format!("{more} full collections were forced"),
        }
    )];
    if taken.garbage {
        notes.push("objects that nothing refers to any more are in it; they are counted apart".to_owned());
    }
    notes.extend(taken.missing.iter().cloned());
    if taken.unnamed_types > 0 {
        notes.push(format!(
            "{} types have no name: another tool that records types was told them before",
            count_words(taken.unnamed_types)
        ));
    }
    notes
}

/// What taking heaps cost the target.
#[must_use]
pub fn cost(taken: &[&Taken]) -> Cost {
    let pauses = taken.iter().filter_map(|taken| taken.pause).map(|pause| nanos(pause.total));
    let mut method = taken.first().map_or("a saved heap", |taken| taken.way.words()).to_owned();
    let collections: u32 = taken.iter().map(|taken| taken.collections).sum();
    if collections > 0 {
        method += &format!(
            ", {collections} forced {}",
            if collections == 1 { "collection" } else { "collections" }
        );
    }
    Cost {
        method,
        pauses: Pauses {
            count: taken.len() as u64,
            total_ns: pauses.clone().fold(0, u64::saturating_add),
            longest_ns: pauses.max().unwrap_or(0),
        },
        bytes: taken.iter().map(|taken| taken.bytes).fold(0, u64::saturating_add),
        ..Cost::default()
    }
}

/// Waits as the user's control says.
struct Waiting<'a> {
    control: &'a dyn Control,
}

impl Watch for Waiting<'_> {
    fn look(&mut self, stage: &Stage) -> Going {
        let note = match stage.objects {
            0 => "the heap is being told".to_owned(),
            objects => format!("{} objects", count_words(objects)),
        };
        self.control.progress(stage.elapsed, stage.elapsed.max(Duration::from_secs(1)), &note);
        match self.control.wait(stage.slice) {
            Stop::TimeOver => Going::On,
            Stop::Cancelled => Going::Stop,
        }
    }
}
