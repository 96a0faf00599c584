//! The collector's pauses, put together from its events.
//!
//! ```text
//! SuspendBegin -> SuspendEnd -> GcTriggered (stack) -> GcStart -> GcEnd -> RestartBegin -> RestartEnd    one thread
//! |<-- stopping -->|                                                                          |
//! |<---------------------------------------- the pause -------------------------------------->|
//! ```
//!
//! A background collection makes short pauses of its own, on a thread of its own, between which the program runs.

use std::collections::HashMap;

use event_session::Seen;
use nettrace::ThreadId;
use runtime_events::RuntimeEvent;
use runtime_events::gc::{GcReason, GcType, SuspendReason};
use stacks::StackKey;

use crate::events::Stacks;

/// Pauses that are kept one by one: 13 MB. A program that collects a thousand times a second fills it in minutes.
const MOST_PAUSES: usize = 200_000;
/// Events that wait for their pause, which another thread makes.
const MOST_LOOSE: usize = 50_000;
/// A collection begins at most this long after it was asked for.
const LONGEST_DELAY_NS: u64 = 1_000_000_000;

/// How a collection stopped the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Style {
    /// For the whole collection.
    Blocking,
    /// For a step of a collection that runs beside the program.
    Background,
}

/// One pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GcPause {
    /// When threads were asked to stop, in nanoseconds from the start.
    pub(crate) begin_ns: u64,
    /// How long it took until all had stopped.
    pub(crate) stopping_ns: u64,
    /// From the first request until all ran again.
    pub(crate) total_ns: u64,
    /// The oldest generation that was collected, when known.
    pub(crate) generation: Option<u32>,
    /// How.
    pub(crate) style: Style,
    /// What for, when known.
    pub(crate) reason: Option<GcReason>,
    /// Who made it necessary.
    pub(crate) trigger: Option<StackKey>,
}

impl GcPause {
    /// Whether the program asked for it.
    pub(crate) fn is_induced(&self) -> bool {
        matches!(
            self.reason,
            Some(GcReason::Induced | GcReason::InducedNotForced | GcReason::InducedCompacting)
        )
    }

    /// The part of it that lies in a window from the start: it may last beyond the window's end.
    pub(crate) fn inside_ns(&self, window_ns: u64) -> u64 {
        self.total_ns.min(window_ns.saturating_sub(self.begin_ns))
    }

    fn end_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.total_ns)
    }
}

/// A stop of all threads for something else than a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherStop {
    /// When threads were asked to stop, in nanoseconds from the start.
    pub(crate) begin_ns: u64,
    /// How long it took until all had stopped.
    pub(crate) stopping_ns: u64,
    /// From the first request until all ran again.
    pub(crate) total_ns: u64,
    /// What for.
    pub(crate) reason: SuspendReason,
    /// Who stopped them.
    pub(crate) by: ThreadId,
}

/// A pause that has not ended, or that has not found its collection.
struct Open {
    begin_ns: u64,
    suspended_ns: Option<u64>,
    suspend: SuspendReason,
    start: Option<Start>,
    trigger: Option<Trigger>,
}

#[derive(Clone, Copy)]
struct Start {
    at_ns: u64,
    generation: u32,
    reason: GcReason,
    background: bool,
}

#[derive(Clone, Copy)]
struct Trigger {
    at_ns: u64,
    reason: GcReason,
    stack: Option<StackKey>,
}

/// The collector at work.
#[derive(Default)]
pub(crate) struct Collections {
    open: HashMap<ThreadId, Open>,
    pauses: Vec<GcPause>,
    /// Collections and triggers that no pause of their own thread was open for, and all background collections.
    starts: Vec<Start>,
    triggers: Vec<Trigger>,
    /// Collections of each generation that began.
    pub(crate) begun: [u64; 3],
    /// Bytes that survived their first collection.
    pub(crate) survived_bytes: u64,
    /// Stops of all threads for other reasons: samplers, debuggers, our own session; the first of them are kept.
    pub(crate) other_stops: u64,
    pub(crate) others: Vec<OtherStop>,
    /// Pauses there was no room for.
    pub(crate) unkept: u64,
}

/// What a thread tells of a collection.
#[derive(Clone, Copy, Debug)]
enum Step {
    Suspend(SuspendReason),
    Suspended,
    Triggered(GcReason, Option<StackKey>),
    Start { generation: u32, reason: GcReason, background: bool },
    Restarted,
}

impl Collections {
    /// Takes in an event.
    pub(crate) fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        let step = match event {
            RuntimeEvent::SuspendBegin(begin) => Step::Suspend(begin.reason),
            RuntimeEvent::SuspendEnd(_) => Step::Suspended,
            RuntimeEvent::GcTriggered(triggered) => {
                Step::Triggered(triggered.reason, stacks.key(seen.event.stack))
            }
            RuntimeEvent::GcStart(start) => Step::Start {
                generation: start.generation.0,
                reason: start.reason,
                background: start.kind == GcType::Background,
            },
            RuntimeEvent::RestartEnd(_) => Step::Restarted,
            RuntimeEvent::HeapStats(stats) => {
                self.survived_bytes = self.survived_bytes.saturating_add(stats.gen0_promoted_bytes);
                return;
            }
            _ => return,
        };
        self.step(seen.at_ns, seen.event.thread(), step);
    }

    fn step(&mut self, at_ns: u64, thread: ThreadId, step: Step) {
        let open = self.open.get_mut(&thread);
        match (step, open) {
            (Step::Suspend(suspend), _) => {
                let open = Open { begin_ns: at_ns, suspended_ns: None, suspend, start: None, trigger: None };
                self.open.insert(thread, open);
            }
            (Step::Suspended, Some(open)) => open.suspended_ns = Some(at_ns),
            (Step::Triggered(reason, stack), open) => {
                let trigger = Trigger { at_ns, reason, stack };
                match open {
                    Some(open) => open.trigger = Some(trigger),
                    None => keep(&mut self.triggers, trigger),
                }
            }
            (Step::Start { generation, reason, background }, open) => {
                let start = Start { at_ns, generation, reason, background };
                self.begun[generation.min(2) as usize] += 1;
                match open {
                    // A young collection may come inside the same pause: that is what takes the time.
                    Some(open) if open.start.is_none_or(|known| known.background) => open.start = Some(start),
                    Some(_) => {}
                    None if background => {}
                    None => keep(&mut self.starts, start),
                }
                if background {
                    // Its later steps are pauses of another thread.
                    keep(&mut self.starts, start);
                }
            }
            (Step::Restarted, Some(_)) => {
                if let Some(open) = self.open.remove(&thread) {
                    self.close(&open, thread, at_ns);
                }
            }
            // It began before the session.
            (Step::Suspended | Step::Restarted, None) => {}
        }
    }

    fn close(&mut self, open: &Open, by: ThreadId, end_ns: u64) {
        let stopping_ns = open.suspended_ns.unwrap_or(end_ns).saturating_sub(open.begin_ns);
        let total_ns = end_ns.saturating_sub(open.begin_ns);
        if !matches!(open.suspend, SuspendReason::Gc | SuspendReason::GcPrepare) {
            self.other_stops += 1;
            if self.others.len() < MOST_PAUSES {
                let (begin_ns, reason) = (open.begin_ns, open.suspend);
                self.others.push(OtherStop { begin_ns, stopping_ns, total_ns, reason, by });
            }
            return;
        }
        if self.pauses.len() >= MOST_PAUSES {
            self.unkept += 1;
            return;
        }
        let background =
            open.start.map_or(open.suspend == SuspendReason::GcPrepare, |start| start.background);
        let pause = GcPause {
            begin_ns: open.begin_ns,
            stopping_ns,
            total_ns,
            generation: open.start.map(|start| start.generation),
            style: if background { Style::Background } else { Style::Blocking },
            reason: open.start.map(|start| start.reason).or(open.trigger.map(|trigger| trigger.reason)),
            trigger: open.trigger.and_then(|trigger| trigger.stack),
        };
        self.pauses.push(pause);
    }

    /// All pauses in order of time; one that still goes on at the end counts until then.
    pub(crate) fn pauses(&self, end_ns: u64) -> Vec<GcPause> {
        let (mut starts, mut triggers) = (self.starts.clone(), self.triggers.clone());
        starts.sort_by_key(|start| start.at_ns);
        triggers.sort_by_key(|trigger| trigger.at_ns);
        // The runtime takes a moment to stop sending.
        let mut all = self.pauses.clone();
        all.retain(|pause| pause.begin_ns < end_ns);
        let mut unfinished = Collections::default();
        for (thread, open) in self.open.iter().filter(|(_, open)| open.begin_ns < end_ns) {
            unfinished.close(open, *thread, end_ns);
        }
        all.extend(unfinished.pauses);
        all.sort_by_key(|pause| pause.begin_ns);
        for pause in &mut all {
            complete(pause, &starts, &triggers);
        }
        all
    }
}

/// Looks for what other threads said about a pause.
fn complete(pause: &mut GcPause, starts: &[Start], triggers: &[Trigger]) {
    if pause.generation.is_none() {
        let until = starts.partition_point(|start| start.at_ns <= pause.end_ns());
        let found = match pause.style {
            Style::Background => starts[..until].iter().rev().find(|start| start.background),
            Style::Blocking => starts[..until].last().filter(|start| start.at_ns >= pause.begin_ns),
        };
        if let Some(start) = found {
            pause.generation = Some(start.generation);
            pause.reason = pause.reason.or(Some(start.reason));
            if start.background {
                pause.style = Style::Background;
            }
        }
    }
    if pause.trigger.is_none() && pause.style == Style::Blocking {
        let until = triggers.partition_point(|trigger| trigger.at_ns <= pause.end_ns());
        let asked = triggers[..until].last().filter(|trigger| {
            Some(trigger.reason) == pause.reason && trigger.at_ns + LONGEST_DELAY_NS >= pause.begin_ns
        });
        pause.trigger = asked.and_then(|trigger| trigger.stack);
    }
}

fn keep<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_LOOSE {
        list.push(item);
    }
}

/// Why a collection was started, in a few words.
pub(crate) fn reason_words(reason: Option<GcReason>) -> &'static str {
    match reason {
        Some(GcReason::AllocSmall) => "allocation",
        Some(GcReason::AllocLarge) => "large allocation",
        Some(GcReason::Induced) => "GC.Collect",
        Some(GcReason::InducedNotForced) => "GC.Collect, if worthwhile",
        Some(GcReason::InducedCompacting) => "GC.Collect, compacting",
        Some(GcReason::LowMemory | GcReason::InducedLowMemory) => "machine short of memory",
        Some(GcReason::LowMemoryHost | GcReason::LowMemoryHostBlocking) => "host short of memory",
        Some(GcReason::OutOfSpaceSmall) => "no room for small objects",
        Some(GcReason::OutOfSpaceLarge) => "no room for large objects",
        Some(GcReason::ProvisionalFull) => "full collection in provisional mode",
        Some(GcReason::Internal) => "the runtime itself",
        Some(_) => "another reason",
        None => "not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: ThreadId = ThreadId(1);
    const COLLECTOR: ThreadId = ThreadId(2);

    fn start(generation: u32, background: bool) -> Step {
        Step::Start { generation, reason: GcReason::AllocSmall, background }
    }

    fn pauses(steps: &[(u64, ThreadId, Step)]) -> Vec<GcPause> {
        let mut collections = Collections::default();
        for (at_ns, thread, step) in steps {
            collections.step(*at_ns, *thread, *step);
        }
        collections.pauses(1000)
    }

    #[test]
    fn a_pause_lasts_from_the_request_until_all_run_again() {
        let stack = Some(StackKey(7));
        let found = pauses(&[
            (100, PROGRAM, Step::Suspend(SuspendReason::Gc)),
            (110, PROGRAM, Step::Suspended),
            (111, PROGRAM, Step::Triggered(GcReason::Induced, stack)),
            (112, PROGRAM, Step::Start { generation: 2, reason: GcReason::Induced, background: false }),
            (150, PROGRAM, Step::Restarted),
        ]);
        let expected = GcPause {
            begin_ns: 100,
            stopping_ns: 10,
            total_ns: 50,
            generation: Some(2),
            style: Style::Blocking,
            reason: Some(GcReason::Induced),
            trigger: stack,
        };
        assert_eq!(found, [expected]);
        assert!(found[0].is_induced());
    }

    #[test]
    fn the_collectors_own_threads_tell_of_what_the_program_asked_for() {
        let found = pauses(&[
            (200, COLLECTOR, Step::Suspend(SuspendReason::Gc)),
            (205, COLLECTOR, start(1, false)),
            (210, COLLECTOR, Step::Restarted),
            // The stream shows the program's thread later, though it was earlier.
            (190, PROGRAM, Step::Triggered(GcReason::AllocSmall, Some(StackKey(3)))),
        ]);
        assert_eq!((found.len(), found[0].trigger, found[0].generation), (1, Some(StackKey(3)), Some(1)));
    }

    #[test]
    fn a_background_collection_has_short_pauses_and_a_young_one_inside_the_first_counts_as_young() {
        let found = pauses(&[
            (100, PROGRAM, Step::Suspend(SuspendReason::Gc)),
            (101, PROGRAM, start(2, true)),
            (102, PROGRAM, start(1, false)),
            (130, PROGRAM, Step::Restarted),
            (160, COLLECTOR, Step::Suspend(SuspendReason::GcPrepare)),
            (165, COLLECTOR, Step::Restarted),
        ]);
        let seen: Vec<_> = found.iter().map(|pause| (pause.generation, pause.style)).collect();
        assert_eq!(seen, [(Some(1), Style::Blocking), (Some(2), Style::Background)]);
        assert_eq!(found[1].reason, Some(GcReason::AllocSmall));
    }

    #[test]
    fn other_stops_are_no_pauses_and_what_goes_on_counts_until_the_end() {
        let found = pauses(&[
            (100, PROGRAM, Step::Suspend(SuspendReason::Unspecified)),
            (150, PROGRAM, Step::Restarted),
            (900, PROGRAM, Step::Suspend(SuspendReason::Gc)),
            (950, COLLECTOR, Step::Restarted),
            (1_100, COLLECTOR, Step::Suspend(SuspendReason::Gc)),
            (1_200, COLLECTOR, Step::Restarted),
        ]);
        assert_eq!(found.iter().map(|pause| pause.total_ns).collect::<Vec<_>>(), [100]);
    }
}
