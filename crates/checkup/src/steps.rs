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

use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use model::{Redaction, Report};
use profilers::{Control, Engine, Profiler, ProfilerError, Run, Settings, Spec, Stop, by_id};

use crate::looks::{Calls, Compilations};
use crate::signs::{Signs, Unseen};
use crate::words::{bytes, percent, rate};

/// A step that would stop the target for longer is not taken without leave.
pub const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// The parameter of profilers that may stop the target for long.
const ALLOW_PAUSE: &str = "allow-pause";
/// When the last closer look should have ended, from the start, so that all of it takes less than 15 s.
const BUDGET: Duration = Duration::from_millis(12_500);
/// How many looks at the heap there usually are.
const USUAL_HEAP_LOOKS: usize = 2;
/// The least that a look is given, however late it is.
const SHORTEST_LOOK: Duration = Duration::from_millis(1000);

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
    pub called: fn(&Signs, &Looks) -> Option<String>,
    /// The longest pause that is to be expected.
    pub pause: fn(&Signs, &DotnetProcess) -> Duration,
    /// What it tells, for when it is not taken.
    pub tells: &'static str,
}

/// All closer looks. A new one is one line here.
#[rustfmt::skip]
pub static STEPS: &[Step] = &[
    step(Look::Profiler("contention"), 3.0, &[], Lane::Beside, lock_waits, no_pause, "which locks threads wait for"),
    step(Look::Profiler("exceptions"), 2.5, &[], Lane::Beside, exceptions, no_pause, "where exceptions are thrown"),
    step(Look::Profiler("allocations"), 3.0, &[], Lane::Beside, collecting, no_pause, "who allocates what"),
    step(Look::Profiler("gc-pauses"), 4.0, &[], Lane::Beside, pausing, no_pause, "who makes collections necessary"),
    step(Look::Profiler("runtime-pauses"), 3.0, &[], Lane::Beside, stopping, no_pause, "who stops all threads"),
    step(Look::Profiler("cpu"), 3.0, &[], Lane::Beside, busy, no_pause, "which method uses the processors"),
    step(Look::Own(&Compilations), 2.5, &[], Lane::Beside, compiling, no_pause, "who keeps the compiler busy"),
    step(Look::Own(&Calls), 3.0, &[], Lane::Beside, calling, no_pause, "who makes slow calls"),
    step(Look::Profiler("thread-pool"), 3.0, &["looks=2"], Lane::Agent, queueing, moments, "what blocks the pool's threads"),
    step(Look::Profiler("deadlocks"), 2.0, &[], Lane::Agent, always, moments, "threads that wait for each other, or for ever"),
    step(Look::Profiler("zombie-threads"), 3.0, &[], Lane::Agent, many_threads, moments, "where idle threads are stuck"),
    step(Look::Profiler("memory-leaks"), 3.0, &[], Lane::Heap, growing, heap_walk, "what grows on the heap, and who holds it"),
    step(Look::Profiler("timers"), 1.5, &[], Lane::Heap, many_timers, heap_walk, "what the timers call, and whether they pile up"),
    step(Look::Profiler("finalizer-queue"), 1.5, &[], Lane::Heap, finalizing, heap_walk, "which objects wait for their finalizer"),
    step(Look::Profiler("handles"), 2.0, &[], Lane::Heap, pinned, heap_walk, "who pins objects"),
    step(Look::Profiler("heap-composition"), 2.0, &[], Lane::Heap, large_objects, heap_walk, "where the heap has holes"),
    step(Look::Profiler("duplicate-strings"), 1.0, &[], Lane::Heap, large_heap, heap_walk, "which strings are there many times"),
    step(Look::Profiler("stuck-tasks"), 2.0, &[], Lane::Heap, always, heap_walk, "async operations that do not move"),
];

const fn step(
    look: Look,
    seconds: f64,
    set: &'static [&'static str],
    lane: Lane,
    called: fn(&Signs, &Looks) -> Option<String>,
    pause: fn(&Signs, &DotnetProcess) -> Duration,
    tells: &'static str,
) -> Step {
    Step { look, seconds, set, lane, called, pause, tells }
}

/// Waits for locks per second from which it is worth knowing which lock.
const LOCK_WAITS: f64 = 5.0;
/// Exceptions per second from which it is worth knowing whose.
const EXCEPTIONS: f64 = 30.0;
/// Time in collections, in per cent, from which it is worth knowing what for.
const GC_SHARE: f64 = 4.0;
/// A pause that people notice, in nanoseconds.
const NOTICED_PAUSE_NS: u64 = 50_000_000;
/// Of one processor, in per cent: a process or a thread that uses this may be hot. On a crowded machine it gets less than it
/// wants, so what it waited for counts too.
const BUSY: f64 = 60.0;
/// Compiled methods per second that are not those of a start.
const COMPILED: f64 = 50.0;
/// Pool threads beyond the number of processors that mean nothing.
const SPARE_POOL_THREADS: f64 = 2.0;
/// Threads from which leaked ones may be among them.
const MANY_THREADS: u64 = 40;
/// Threads that came in the window, of which some may stay.
const NEW_THREADS: u64 = 3;
/// Calls that take longer than this, in seconds, on average.
const SLOW_CALL: f64 = 0.25;

fn always(_: &Signs, _: &Looks) -> Option<String> {
    Some("no sign shows it from outside".to_owned())
}

fn lock_waits(signs: &Signs, _: &Looks) -> Option<String> {
    let told = signs.told()?;
    let waits = told.rate(told.lock_waits);
    (waits >= LOCK_WAITS).then(|| format!("threads waited for locks {}", rate(waits)))
}

fn exceptions(signs: &Signs, _: &Looks) -> Option<String> {
    let told = signs.told()?;
    let thrown = told.rate(told.exceptions);
    (thrown >= EXCEPTIONS).then(|| format!("exceptions were thrown {}", rate(thrown)))
}

fn collecting(signs: &Signs, _: &Looks) -> Option<String> {
    let share = signs.told()?.gc_percent();
    (share >= GC_SHARE).then(|| format!("collections took {} of the time", percent(share)))
}

fn pausing(signs: &Signs, _: &Looks) -> Option<String> {
    let told = signs.told()?;
    if told.induced > 0 {
        return Some(format!("the program asked for {} collections", told.induced));
    }
    (told.gc_pauses.longest_ns >= NOTICED_PAUSE_NS)
        .then(|| format!("a collection stopped the program for {} ms", told.gc_pauses.longest_ns / 1_000_000))
}

fn stopping(signs: &Signs, _: &Looks) -> Option<String> {
    let stops: u64 = signs.told()?.other_stops.values().sum();
    (stops >= 10).then(|| format!("all threads were stopped {stops} times for other things than collections"))
}

fn busy(signs: &Signs, _: &Looks) -> Option<String> {
    let system = signs.system.as_ref()?;
    let used = system.cpu_percent();
    let wanted =
        (system.ran_ns + system.ready_ns) as f64 / (system.window.as_nanos() as f64).max(1.0) * 100.0;
    (wanted >= BUSY).then(|| match used >= BUSY {
        true => format!("the process used {} of a processor", percent(used)),
        false => format!("its threads wanted {} of a processor and got {}", percent(wanted), percent(used)),
    })
}

fn compiling(signs: &Signs, _: &Looks) -> Option<String> {
    let compiled = signs.told()?.compiled_rate();
    (compiled >= COMPILED).then(|| format!("methods were compiled {}", rate(compiled)))
}

fn queueing(signs: &Signs, _: &Looks) -> Option<String> {
    let told = signs.told()?;
    if told.starvations > 0 {
        return Some(format!("the pool lacked threads {} times", told.starvations));
    }
    let queue = told.counter("threadpool-queue-length").map_or(0.0, crate::signs::Values::least);
    if queue >= 1.0 {
        return Some(format!("{queue:.0} items of work waited for a pool thread all the time"));
    }
    // The pool has as many threads as processors, and more only because some have blocked.
    let threads = told.counter("threadpool-thread-count")?.last();
    let done = told.counter("threadpool-completed-items-count").map_or(0.0, crate::signs::Values::mean);
    (threads > signs.processors() + SPARE_POOL_THREADS && done > 0.0)
        .then(|| format!("the pool has {threads:.0} threads, more than work that never blocks needs"))
}

fn many_threads(signs: &Signs, _: &Looks) -> Option<String> {
    let threads = &signs.system.as_ref()?.threads;
    let grew = threads.growth() >= NEW_THREADS && threads.only_grows();
    (grew || threads.last() >= MANY_THREADS)
        .then(|| format!("there are {} threads, {} more than at the start", threads.last(), threads.growth()))
}

/// Resident memory that came in the window, in bytes, without any going.
const GROWTH: u64 = 1 << 20;
/// Of its memory, the part that grew, in per mille: of a large process a megabyte is noise.
const GROWTH_SHARE: u64 = 5;

fn growing(signs: &Signs, _: &Looks) -> Option<String> {
    let resident = &signs.system.as_ref()?.resident;
    let grew = resident.growth();
    (grew >= GROWTH.max(resident.last() / 1000 * GROWTH_SHARE) && resident.mostly_grows())
        .then(|| format!("its memory grew by {}", bytes(grew as f64)))
}

/// Timers from which it is worth knowing what they are for.
const TIMERS: f64 = 300.0;
/// Timers that came in the window, without any going.
const NEW_TIMERS: f64 = 5.0;

fn many_timers(signs: &Signs, _: &Looks) -> Option<String> {
    let timers = signs.told()?.counter("active-timer-count")?;
    let grew = timers.last() - timers.0.first().copied().unwrap_or(0.0);
    (timers.last() >= TIMERS || grew >= NEW_TIMERS).then(|| format!("{:.0} timers are active", timers.last()))
}

/// Objects with finalizers that a collection found dead.
const FINALIZABLE: u64 = 50;

fn finalizing(signs: &Signs, looks: &Looks) -> Option<String> {
    let stuck = looks.taken.iter().flat_map(|taken| &taken.report.findings);
    if stuck
        .map(|finding| crate::rules::illness(&finding.id))
        .any(|id| ["blocked-forever", "deadlock"].contains(&id))
    {
        return Some("threads are stuck, and the finalizer may be one of them".to_owned());
    }
    let waiting = signs.told()?.heap.as_ref()?.finalization_count;
    (waiting >= FINALIZABLE).then(|| format!("{waiting} objects waited for their finalizer"))
}

/// Pinned objects, or handles, from which it is worth knowing whose.
const PINNED: u32 = 500;

fn pinned(signs: &Signs, _: &Looks) -> Option<String> {
    let heap = signs.told()?.heap.as_ref()?;
    (heap.pinned_objects >= PINNED)
        .then(|| format!("a collection met {} pinned objects", heap.pinned_objects))
}

/// Large objects, in bytes, from which holes between them matter.
const LARGE_OBJECTS: f64 = 50e6;

fn large_objects(signs: &Signs, _: &Looks) -> Option<String> {
    let told = signs.told()?;
    let counted = told.counter("loh-size").map_or(0.0, crate::signs::Values::last);
    let large = counted.max(told.heap.as_ref().map_or(0.0, |heap| heap.large_bytes as f64));
    (large >= LARGE_OBJECTS).then(|| format!("there are {} of large objects", bytes(large)))
}

/// A heap, in bytes, of which duplicates may be a part that matters.
const LARGE_HEAP: f64 = 15e6;

fn large_heap(signs: &Signs, _: &Looks) -> Option<String> {
    let heap = signs.told()?.heap_bytes()?;
    (heap >= LARGE_HEAP).then(|| format!("the heap has {}", bytes(heap)))
}

fn calling(signs: &Signs, _: &Looks) -> Option<String> {
    let seconds = mean_call_seconds(signs)?;
    (seconds >= SLOW_CALL).then(|| format!("outgoing HTTP calls took {seconds:.1} s on average"))
}

/// How long outgoing HTTP calls take on average: those under way at a time, divided by those begun per second.
pub(crate) fn mean_call_seconds(signs: &Signs) -> Option<f64> {
    let told = signs.told()?;
    let under_way = told.http_counter("current-requests")?.mean();
    let begun = told.http_counter("requests-started-rate")?.mean();
    if under_way <= 0.0 {
        return None;
    }
    // Nothing begun: each takes longer than the window.
    Some(if begun > 0.0 { under_way / begun } else { told.window.as_secs_f64() })
}

fn no_pause(_: &Signs, _: &DotnetProcess) -> Duration {
    Duration::ZERO
}

/// Stacks of all threads: about 4 us each, see docs/clr-profiling.md.
fn moments(signs: &Signs, _: &DotnetProcess) -> Duration {
    let threads = signs.system.as_ref().map_or(50, |system| system.threads.last());
    Duration::from_millis(1) + Duration::from_micros(8) * u32::try_from(threads).unwrap_or(u32::MAX)
}

/// The whole heap: walked by the agent from .NET 9 on, before that told object by object after a collection. Per megabyte, with
/// 20,000 objects in it.
fn heap_walk(signs: &Signs, process: &DotnetProcess) -> Duration {
    let heap = signs.told().and_then(crate::signs::RuntimeSigns::heap_bytes);
    let resident = || signs.system.as_ref().map_or(0.0, |system| system.resident.last() as f64);
    let megabytes = heap.unwrap_or_else(resident) / 1e6;
    let version = process.runtime_version.as_deref().unwrap_or_default();
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let per_megabyte = if major >= 9 { 0.000_3 } else { 0.004 };
    Duration::from_secs_f64((megabytes * per_megabyte).clamp(0.0, 3600.0))
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
}

/// What a checkup may do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leave {
    /// Pauses of more than [`LONGEST_PAUSE`].
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
    /// Those that the signs call for, but that could not be taken.
    pub unseen: Vec<Unseen>,
}

/// A look that is to be taken.
struct Called {
    step: &'static Step,
    profiler: &'static dyn Profiler,
    why: String,
}

impl Looks {
    /// Takes the looks that the signs call for, until about the deadline.
    pub fn take(
        process: &DotnetProcess,
        signs: &Signs,
        leave: Leave,
        begin: Instant,
        control: &dyn Control,
    ) -> Looks {
        let mut looks = Looks::default();
        let deadline = begin + BUDGET;
        let progress = |note: &str| control.progress(begin.elapsed(), BUDGET, note);
        let quiet = Quietly(control);
        let visit = |called: &Called, left: usize| {
            let left = u32::try_from(left.max(1)).unwrap_or(1);
            let share = deadline.saturating_duration_since(Instant::now()) / left;
            let wanted = Duration::from_secs_f64(called.step.seconds * if leave.deep { 3.0 } else { 1.0 });
            let time = if leave.deep { wanted } else { wanted.min(share).max(SHORTEST_LOOK) };
            (called.profiler.spec(), called.why.clone(), look(process, called, leave, time, &quiet))
        };
        let called = looks.choose(process, signs, leave, &[Lane::Beside, Lane::Agent]);
        progress(&format!("{} closer looks", called.len()));
        let results = std::thread::scope(|scope| {
            let lane = |lane: Lane| called.iter().filter(move |called| called.step.lane == lane);
            let beside: Vec<_> =
                lane(Lane::Beside).map(|called| scope.spawn(move || visit(called, 1))).collect();
            let visits: Vec<&Called> = lane(Lane::Agent).collect();
            // Looks at the heap want their share of the time, too.
            let shares = |number: usize| visits.len() - number + USUAL_HEAP_LOOKS;
            let mut results: Vec<_> =
                visits.iter().enumerate().map(|(number, called)| visit(called, shares(number))).collect();
            for handle in beside {
                match handle.join() {
                    Ok(result) => results.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        });
        looks.keep(results);
        let called = looks.choose(process, signs, leave, &[Lane::Heap]);
        for (number, one) in called.iter().enumerate() {
            progress(&format!("{} looks at the heap", called.len() - number));
            looks.keep(vec![visit(one, called.len() - number)]);
        }
        looks
    }

    fn keep(&mut self, results: Vec<(&'static Spec, String, Result<Report, ProfilerError>)>) {
        for (spec, why, result) in results {
            match result {
                Ok(report) => self.taken.push(Taken { id: spec.id, why, report }),
                Err(error) => self.unseen.push(failed(spec, &error)),
            }
        }
    }

    fn choose(
        &mut self,
        process: &DotnetProcess,
        signs: &Signs,
        leave: Leave,
        lanes: &[Lane],
    ) -> Vec<Called> {
        let mut chosen = Vec::new();
        if signs.exited || signs.cancelled || signs.frozen.is_some() {
            return chosen;
        }
        for step in STEPS.iter().filter(|step| lanes.contains(&step.lane)) {
            let Some(profiler) = step.look.profiler() else { continue };
            let called = (step.called)(signs, self);
            let Some(why) =
                called.or_else(|| leave.deep.then(|| "a deep checkup looks at everything".to_owned()))
            else {
                continue;
            };
            // Without the runtime's signs that is said already.
            if profiler.spec().engine.needs_socket() && signs.runtime.is_none() {
                continue;
            }
            let pause = (step.pause)(signs, process);
            if pause > LONGEST_PAUSE && !leave.long_pauses {
                self.unseen.push(too_long(step, signs, pause));
                continue;
            }
            chosen.push(Called { step, profiler, why });
        }
        chosen
    }

    /// What a look says, if it was taken.
    #[must_use]
    pub fn report(&self, id: &str) -> Option<&Report> {
        self.taken.iter().find(|taken| taken.id == id).map(|taken| &taken.report)
    }
}

fn look(
    process: &DotnetProcess,
    called: &Called,
    leave: Leave,
    duration: Duration,
    control: &dyn Control,
) -> Result<Report, ProfilerError> {
    let spec = called.profiler.spec();
    let takes_leave = spec.parameters.iter().any(|parameter| parameter.name == ALLOW_PAUSE);
    let pause = (leave.long_pauses && takes_leave).then_some("allow-pause=yes");
    let settings = Settings::new(spec, called.step.set.iter().copied().chain(pause)).unwrap_or_default();
    let settings = settings.with_redaction(leave.redaction);
    let run = Run { process, settings: &settings, duration, control };
    match called.step.look {
        Look::Profiler(_) => profilers::run(called.profiler, &run),
        Look::Own(_) => profilers::run_unlisted(called.profiler, &run),
    }
}

fn too_long(step: &Step, signs: &Signs, pause: Duration) -> Unseen {
    let heap = signs.told().and_then(crate::signs::RuntimeSigns::heap_bytes).unwrap_or(0.0);
    Unseen {
        what: step.tells.to_owned(),
        why: format!(
            "it would stop the program for about {} ms (heap of {})",
            pause.as_millis(),
            bytes(heap)
        ),
        how: "drdotnet checkup --allow-pause".to_owned(),
    }
}

fn failed(spec: &Spec, error: &ProfilerError) -> Unseen {
    let how = match spec.engine {
        Engine::Kernel => "drdotnet info -p PID   says which right the kernel wants".to_owned(),
        _ => format!("drdotnet run {} -p PID   says more", spec.id),
    };
    let tells =
        STEPS.iter().find(|step| step.look.profiler().is_some_and(|known| known.spec().id == spec.id));
    Unseen { what: tells.map_or(spec.name, |step| step.tells).to_owned(), why: error.to_string(), how }
}

/// The user's control for looks that run at the same time: they may be ended, but say nothing.
struct Quietly<'a>(&'a dyn Control);

impl Control for Quietly<'_> {
    fn wait(&self, time: Duration) -> Stop {
        self.0.wait(time)
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}
