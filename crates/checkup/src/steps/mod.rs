//! Closer looks: which there are, what calls for each, and how they are taken.
//!
//! ```text
//! signs --> called for? --> pause allowed? --> beside: event sessions and kernel samples, all at once
//!                                          --> agent: one visit after the other, at the same time
//!                                          --> heap: one after the other, when the rest is done
//! ```
//!
//! Two who stop all threads at the same moment can break an old runtime, so visits of the agent and samplers never overlap.
//! Looks at the heap come last, because some collect first, which others would take for the program's own doing.

mod pauses;
mod reasons;
mod taking;

use std::time::Duration;

use discovery::DotnetProcess;
use judgement::signs::RuntimeSigns;
use judgement::{Signs, Untaken, WhyUntaken};
use model::{Redaction, Report, format_duration};
use profilers::{Engine, Profiler, by_id};

use self::pauses::{heap, heap_walk, moments, no_pause, queue};
use self::reasons::{
    allocations_reported, always, awaited, busy, busy_unseen, calling, collecting, compiling, exceptions,
    finalizing, growing, growing_outside, large_heap, large_objects, lock_waits, many_threads, many_timers,
    opening, pausing, pinned, queueing, stopping, thrown, waits_begun,
};
use crate::clock::Stragglers;
use crate::looks::{Calls, Compilations, Opened};
use crate::signs::{Unseen, Vitals};
use crate::words::bytes;

/// A step that would stop the target for longer is not taken without leave.
pub const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// The parameter of profilers that may stop the target for long.
const ALLOW_PAUSE: &str = "allow-pause";
/// The parameter of profilers that may make the runtime count.
const COUNTERS: &str = "counters";
/// How often a look at the heap takes it.
const TAKEN_AT_A_LOOK: u32 = 2;

/// Whom a look may not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Nobody minds it: events and kernel samples.
    Beside,
    /// It stops all threads for moments.
    Agent,
    /// It walks the heap, or collects.
    Heap,
}

impl Lane {
    /// Whether its looks are taken one after the other.
    #[must_use]
    pub fn is_one_by_one(self) -> bool {
        self != Lane::Beside
    }
}

/// Which look.
pub enum Look {
    /// A profiler of the registry.
    Profiler(&'static str),
    /// One that only a checkup takes.
    Own(&'static dyn Profiler),
}

impl Look {
    fn profiler(&self) -> Option<&'static dyn Profiler> {
        match self {
            Look::Profiler(id) => by_id(id).ok(),
            Look::Own(profiler) => Some(*profiler),
        }
    }
}

/// One closer look.
pub struct Step {
    /// Which look.
    pub look: Look,
    /// How long.
    pub seconds: f64,
    /// Its parameters.
    pub set: &'static [&'static str],
    /// Whom it may not meet.
    pub lane: Lane,
    /// Why the signs call for it, if they do.
    pub called: fn(&Signs, &[judgement::Look]) -> Option<String>,
    /// The longest pause that is to be expected.
    pub pause: fn(&Vitals, &DotnetProcess) -> Duration,
    /// What it tells, for when it is not taken.
    pub tells: &'static str,
    /// Whether it is for when another cannot be taken, and never taken beside it.
    pub stands_in: bool,
    /// Whether it needs the heap to be read; some of the last lane are there only because they stop all threads.
    pub reads_heap: fn(&Signs) -> bool,
    /// How many events with stacks it asks for a second, if it asks for such: more than enough of them make it shorter.
    pub events: Option<fn(&RuntimeSigns) -> f64>,
    /// Whether it has to see collections as well.
    pub sees_collections: bool,
    /// Whether it has all code listed at its start, which the others wait for.
    pub lists_code: bool,
}

impl Step {
    /// For when another cannot be taken.
    const fn standing_in(self) -> Step {
        Step { stands_in: true, ..self }
    }

    /// The heap is read only then.
    const fn reads_heap(self, reads_heap: fn(&Signs) -> bool) -> Step {
        Step { reads_heap, ..self }
    }

    /// It asks for events with stacks.
    const fn events(self, events: fn(&RuntimeSigns) -> f64) -> Step {
        Step { events: Some(events), ..self }
    }

    /// It has to see collections as well.
    const fn with_collections(self) -> Step {
        Step { sees_collections: true, ..self }
    }

    /// It has all code listed at its start.
    const fn listing_code(self) -> Step {
        Step { lists_code: true, ..self }
    }
}

fn always_reads(_: &Signs) -> bool {
    true
}

fn never_reads(_: &Signs) -> bool {
    false
}

/// The finalizer queue is read from outside where somebody can.
fn where_queue_is_hidden(signs: &Signs) -> bool {
    signs.waiting_for_finalizer.is_none()
}

/// All closer looks. A new one is one line here.
#[rustfmt::skip]
pub static STEPS: &[Step] = &[
    step(Look::Profiler("contention"), 3.0, &[], Lane::Beside, lock_waits, no_pause, "which locks threads wait for").events(waits_begun),
    step(Look::Profiler("exceptions"), 2.5, &[], Lane::Beside, exceptions, no_pause, "where exceptions are thrown").events(thrown),
    step(Look::Profiler("allocations"), 3.0, &[], Lane::Beside, collecting, no_pause, "who allocates what").events(allocations_reported).with_collections(),
    step(Look::Profiler("gc-pauses"), 4.0, &[], Lane::Beside, pausing, no_pause, "who makes collections necessary"),
    step(Look::Profiler("runtime-pauses"), 3.0, &[], Lane::Beside, stopping, no_pause, "who stops all threads"),
    step(Look::Profiler("cpu"), 3.0, &["kernel=hide"], Lane::Beside, busy, no_pause, "which method uses the processors").listing_code(),
    step(Look::Own(&Compilations), 2.5, &[], Lane::Beside, compiling, no_pause, "who keeps the compiler busy"),
    step(Look::Own(&Calls), 3.0, &[], Lane::Beside, calling, no_pause, "who makes slow calls"),
    step(Look::Own(&Opened), 4.0, &[], Lane::Beside, opening, no_pause, "who opens files and sockets that stay open"),
    step(Look::Profiler("heap-composition"), 2.5, &["graph=no"], Lane::Beside, growing_outside, no_pause, "who makes memory outside of the heap grow"),
    step(Look::Profiler("thread-pool"), 3.0, &["looks=2", "look-ms=50"], Lane::Agent, queueing, moments, "what blocks the pool's threads"),
    step(Look::Profiler("cpu-unprivileged"), 2.0, &[], Lane::Agent, busy_unseen, moments, "which method uses the processors").standing_in(),
    step(Look::Profiler("deadlocks"), 2.0, &[], Lane::Agent, always, moments, "threads that wait for each other, or for ever"),
    step(Look::Profiler("zombie-threads"), 3.0, &[], Lane::Agent, many_threads, moments, "where idle threads are stuck"),
    step(Look::Profiler("async-hot-paths"), 1.5, &["rate=30", "waits=no"], Lane::Heap, awaited, moments, "for whom async methods work").reads_heap(never_reads),
    step(Look::Profiler("memory-leaks"), 3.0, &[], Lane::Heap, growing, heap_walk, "what grows on the heap, and who holds it"),
    // Right behind the one that hands its heap on.
    step(Look::Profiler("duplicate-strings"), 1.0, &[], Lane::Heap, large_heap, heap_walk, "which strings are there many times"),
    step(Look::Profiler("timers"), 1.5, &[], Lane::Heap, many_timers, heap_walk, "what the timers call, and whether they pile up"),
    step(Look::Profiler("finalizer-queue"), 1.5, &[], Lane::Heap, finalizing, queue, "which objects wait for their finalizer").reads_heap(where_queue_is_hidden),
    step(Look::Profiler("handles"), 2.0, &[], Lane::Heap, pinned, heap_walk, "who pins objects"),
    step(Look::Profiler("heap-composition"), 2.0, &[], Lane::Heap, large_objects, heap_walk, "where the heap has holes"),
    step(Look::Profiler("stuck-tasks"), 2.0, &[], Lane::Heap, always, heap_walk, "async operations that do not move"),
];

const fn step(
    look: Look,
    seconds: f64,
    set: &'static [&'static str],
    lane: Lane,
    called: fn(&Signs, &[judgement::Look]) -> Option<String>,
    pause: fn(&Vitals, &DotnetProcess) -> Duration,
    tells: &'static str,
) -> Step {
    Step {
        look,
        seconds,
        set,
        lane,
        called,
        pause,
        tells,
        stands_in: false,
        reads_heap: if matches!(lane, Lane::Heap) { always_reads } else { never_reads },
        events: None,
        sees_collections: false,
        lists_code: false,
    }
}

/// What came of one look.
#[derive(Debug)]
pub struct Taken {
    /// Which.
    pub id: &'static str,
    /// Why.
    pub why: String,
    /// What it says.
    pub report: Report,
    /// How long it took, with all that was to be done for it.
    pub took: Duration,
}

/// What a checkup may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leave {
    /// Pauses of more than 100 ms.
    pub long_pauses: bool,
    /// Everything, called for or not, and for longer.
    pub deep: bool,
    /// Whether texts of the program's data are hidden.
    pub redaction: Redaction,
}

/// Everything that came of the closer looks.
#[derive(Debug, Default)]
pub struct Looks {
    /// Those that were taken.
    pub taken: Vec<Taken>,
    /// What they saw, as it is judged; in the same order.
    pub seen: Vec<judgement::Look>,
    /// Those that the signs call for, but that could not be taken.
    pub unseen: Vec<Unseen>,
    /// The same, for who judges.
    pub untaken: Vec<Untaken>,
    /// How long those took that came first, and those at the heap.
    pub spent: (Duration, Duration),
    /// Whether the user wanted the report before all were taken.
    pub cancelled: bool,
    /// Those that had not ended when the time was over.
    pub(crate) stragglers: Stragglers,
}

/// A look that is to be taken.
struct Called {
    step: &'static Step,
    profiler: &'static dyn Profiler,
    why: String,
    /// How long it is to look.
    seconds: f64,
    /// How long its way through the heap takes, beside all that it waits for.
    walk: Duration,
}

impl Looks {
    fn choose(
        &mut self,
        process: &DotnetProcess,
        vitals: &Vitals,
        leave: Leave,
        lanes: &[Lane],
    ) -> Vec<Called> {
        let mut chosen = Vec::new();
        let signs = &vitals.signs;
        if signs.exited || vitals.cancelled || signs.frozen.is_some() {
            return chosen;
        }
        for step in STEPS.iter().filter(|step| lanes.contains(&step.lane)) {
            let Some(profiler) = step.look.profiler() else { continue };
            let called = (step.called)(signs, &self.seen);
            let Some(why) = called.or_else(|| {
                (leave.deep && !step.stands_in).then(|| "a deep checkup looks at everything".to_owned())
            }) else {
                continue;
            };
            // Without the runtime's signs that is said already.
            if profiler.spec().engine.needs_socket() && signs.runtime.is_none() {
                continue;
            }
            if let Some(left) = pauses::scarce_memory(signs).filter(|_| takes_memory(step, profiler)) {
                self.not_taken(step, WhyUntaken::NoMemory, no_memory(step, left));
                continue;
            }
            if (step.reads_heap)(signs) && pauses::heap_may_not_come(signs, process) {
                self.not_taken(step, WhyUntaken::HeapMayNotCome, no_heap(step));
                continue;
            }
            let pause = (step.pause)(vitals, process);
            if pause > LONGEST_PAUSE && !leave.long_pauses {
                self.not_taken(step, WhyUntaken::NeedsLeave, too_long(step, signs, pause));
                continue;
            }
            let walk = match (step.reads_heap)(signs) {
                true => heap(vitals, process).time * TAKEN_AT_A_LOOK,
                false => Duration::ZERO,
            };
            let seconds = if leave.deep { step.seconds } else { reasons::enough(step, signs) };
            chosen.push(Called { step, profiler, why, seconds, walk });
        }
        chosen
    }

    /// Names a look that is not taken, or was not to its end.
    fn not_taken(&mut self, step: &Step, why: WhyUntaken, unseen: Unseen) {
        let look = step.look.profiler().map(|profiler| profiler.spec().id.to_owned()).unwrap_or_default();
        self.untaken.push(Untaken { look, why });
        self.unseen.push(unseen);
    }
}

/// Whether a look makes the target take memory: for events with stacks that wait to be sent, for its heap.
fn takes_memory(step: &Step, profiler: &dyn Profiler) -> bool {
    step.lane == Lane::Heap || profiler.spec().engine == Engine::EventPipe
}

fn no_heap(step: &Step) -> Unseen {
    Unseen {
        what: step.tells.to_owned(),
        why: "the server collector of this runtime often does not end what it begins to tell of its heap, and until \
              then no tool gets an answer from the process"
            .to_owned(),
        how: "run it on .NET 9 or newer, or once with DOTNET_gcServer=0".to_owned(),
    }
}

fn no_memory(step: &Step, left: u64) -> Unseen {
    Unseen {
        what: step.tells.to_owned(),
        why: format!(
            "the container has only {} of memory left, and the look may take so much",
            bytes(left as f64)
        ),
        how: "raise the container's memory limit for a while".to_owned(),
    }
}

fn too_long(step: &Step, signs: &Signs, pause: Duration) -> Unseen {
    let heap = signs.runtime.as_ref().and_then(RuntimeSigns::heap_bytes).unwrap_or(0.0);
    Unseen {
        what: step.tells.to_owned(),
        why: format!(
            "it would stop the program for about {} (heap of {})",
            format_duration(Duration::from_millis(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))),
            bytes(heap)
        ),
        how: "drdotnet checkup -p PID --allow-pause".to_owned(),
    }
}
