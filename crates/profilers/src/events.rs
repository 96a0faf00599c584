//! The engine of the profilers that listen to the runtime's events.
//!
//! ```text
//! request + Watcher --> event-session --> Watched: what the watcher saw, stacks, names, cost, end, notes
//! ```

use std::collections::HashMap;
use std::time::Duration;

use diagnostics_ipc::{Feature, Rundown, TraceRequest};
use event_session::{Clock, Driven, Going, Observed, Observer, Seen, SessionEnd, observe};
use model::{Cost, Frame, WindowEnd};
use nettrace::{CodeAddress, Stack, StackId};
use runtime_events::RuntimeEvent;
use stacks::{StackKey, StackTable};
use symbols::CodeMap;

use crate::ProfilerError;
use crate::about::About;
use crate::control::Stop;
use crate::inside::AllCode;
use crate::naming::{Naming, method_at, read_missing};
use crate::profiler::Run;

/// Sees the events of a session. Stacks are kept by key; they get their names when the session is over, because the
/// runtime sends most names last.
pub(crate) trait Watcher: Send {
    /// An event, in the order of the stream: that of time only within one thread.
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks);

    /// An event of a kind that is not known, such as one of another provider.
    fn other(&mut self, _seen: &Seen<'_>, _stacks: &mut Stacks) {}
}

/// Frames of stacks that are kept, as nodes of their tree: about 30 MB.
const MOST_NODES: usize = 500_000;

/// The stacks of a session.
#[derive(Default)]
pub(crate) struct Stacks {
    table: StackTable,
    /// Stacks that were not kept, because there are too many different ones.
    unkept: u64,
    /// Most events repeat a stack; its number is good until the next barrier.
    known: HashMap<StackId, Option<StackKey>>,
}

impl Stacks {
    /// The key of a stack.
    pub(crate) fn key(&mut self, stack: Option<Stack<'_>>) -> Option<StackKey> {
        let stack = stack?;
        if self.table.len() > MOST_NODES && !self.known.contains_key(&stack.id) {
            self.unkept += 1;
            return None;
        }
        let table = &mut self.table;
        *self.known.entry(stack.id).or_insert_with(|| table.intern(stack.frames()))
    }
}

struct Watching<W> {
    watcher: W,
    stacks: Stacks,
    code: CodeMap,
}

impl<W: Watcher> Observer for Watching<W> {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.code.learn(event);
        self.watcher.event(seen, event, &mut self.stacks);
    }

    fn other(&mut self, seen: &Seen<'_>) {
        self.watcher.other(seen, &mut self.stacks);
    }

    fn barrier(&mut self, _at_ns: u64) {
        self.stacks.known.clear();
    }
}

/// What came of a session.
pub(crate) struct Watched<W> {
    /// The watcher with what it saw.
    pub(crate) watcher: W,
    /// The stacks it kept.
    pub(crate) stacks: StackTable,
    /// Names of code.
    pub(crate) code: CodeMap,
    naming: Naming,
    /// The clock of its events.
    pub(crate) clock: Option<Clock>,
    /// How long it looked.
    pub(crate) measured: Duration,
    /// Why it ended.
    pub(crate) end: WindowEnd,
    /// What it cost.
    pub(crate) cost: Cost,
    /// What a reader must know to trust the numbers.
    pub(crate) notes: Vec<String>,
}

impl<W> Watched<W> {
    /// The session without its events.
    pub(crate) fn about(&self) -> About {
        About { measured: self.measured, end: self.end, cost: self.cost.clone(), notes: self.notes.clone() }
    }

    /// Takes the names of code from another look at the same process, or else asks for them and hands them on.
    fn share_code(&mut self, run: &Run<'_>) {
        let Some(client) = run.process.client().filter(|_| !knows(&self.code, &self.stacks)) else { return };
        let handed_on = run.handed_on_code().map(AllCode::handed_on);
        let handed_on = handed_on.and_then(|all| {
            let mut code = all.lock();
            read_missing(run.process, &mut code, self.stacks.addresses()).then(|| code.clone())
        });
        if let Some(code) = handed_on {
            self.code = code;
        } else if self.end != WindowEnd::TargetExited
            && let Some(all) = AllCode::add_to(std::mem::take(&mut self.code), client)
        {
            all.charge(&mut self.cost, "names");
            if all.is_withheld {
                self.notes.push(WITHHELD_NAMES.to_owned());
            }
            self.code = all.lock().clone();
            run.hand_on_code(|| all.shared());
        }
    }

    /// The frames of a stack with their names, innermost first.
    pub(crate) fn frames(&self, stack: StackKey) -> Vec<Frame> {
        self.stacks.frames(stack).map(|address| self.frame(address)).collect()
    }

    /// The frame at an address; `?` if no method is known there.
    pub(crate) fn frame(&self, address: CodeAddress) -> Frame {
        self.naming.frame(&self.code, address)
    }
}

/// Runs a session for the run's duration. The target's exit and the user's impatience end it early, with what came. It has names
/// for its own stacks; where looks share what they are told of code, for no other.
pub(crate) fn watch<W: Watcher>(
    run: &Run<'_>,
    request: &TraceRequest,
    watcher: W,
) -> Result<Watched<W>, ProfilerError> {
    let shares = run.sharing.is_some() && request.rundown != Rundown::None;
    if !shares {
        return watch_until(run, request, watcher, |_| Going::On);
    }
    let nameless = TraceRequest { rundown: Rundown::None, ..request.clone() };
    let mut watched = watch_until(run, &nameless, watcher, |_| Going::On)?;
    watched.share_code(run);
    Ok(watched)
}

/// The same; `beside` is called about twenty times a second and may do something beside the session, or end it.
pub(crate) fn watch_until<W: Watcher>(
    run: &Run<'_>,
    request: &TraceRequest,
    watcher: W,
    mut beside: impl FnMut(Duration) -> Going,
) -> Result<Watched<W>, ProfilerError> {
    let client = run.process.client().ok_or(ProfilerError::NoRuntime)?;
    let observer = Watching { watcher, stacks: Stacks::default(), code: CodeMap::new() };
    let (mut cancelled, mut asked) = (false, false);
    let driven = observe(&client, request, observer, |waiting| {
        let left = run.duration.saturating_sub(waiting.elapsed);
        if left.is_zero() || beside(waiting.elapsed) == Going::Stop {
            asked = true;
            return Going::Stop;
        }
        let note = format!("{} received", size_words(waiting.bytes));
        run.control.progress(waiting.elapsed, run.duration, &note);
        cancelled = run.control.wait(left.min(waiting.slice)) == Stop::Cancelled;
        if cancelled { Going::Stop } else { Going::On }
    })?;
    let by_itself = !asked && !cancelled;
    finish(driven, cancelled, by_itself, Naming::of(run.process))
}

/// Names were not asked for.
pub(crate) const WITHHELD_NAMES: &str = "this process unloads assemblies, and a runtime before .NET 8 can crash when it is asked for the names of its code \
     then: code that was compiled before the look has no names";

fn finish<W: Watcher>(
    driven: Driven<Observed<Watching<W>>>,
    cancelled: bool,
    by_itself: bool,
    naming: Naming,
) -> Result<Watched<W>, ProfilerError> {
    let Driven { value: observed, end, granted, bytes, elapsed } = driven;
    if observed.clock.is_none() && end == SessionEnd::TargetExited {
        return Err(ProfilerError::TargetEnded);
    }
    let mut notes = Vec::new();
    let lost = observed.losses.events;
    if lost > 0 {
        notes.push(format!(
            "{lost} events were lost because the process's buffer was full: totals are too low by about {:.1} %",
            share(lost, observed.events + lost)
        ));
    }
    if observed.undecodable > 0 {
        notes.push(format!("{} events could not be read and are left out", observed.undecodable));
    }
    if observed.withheld_names {
        notes.push(WITHHELD_NAMES.to_owned());
    }
    if granted.given_up.contains(&Feature::EventFilter) {
        notes.push("this runtime cannot filter events by id, so it sent more than was needed".to_owned());
    }
    let end = match end {
        SessionEnd::Stopped | SessionEnd::ConsumerLeft if cancelled => WindowEnd::Cancelled,
        SessionEnd::TargetExited => {
            notes.push("the process ended before it sent the names of its methods".to_owned());
            WindowEnd::TargetExited
        }
        SessionEnd::StoppedAnswering => {
            notes.push("the process stopped answering; names may be missing".to_owned());
            WindowEnd::Completed
        }
        // A process that ends in good order sends everything, names included, and then the end of the stream.
        SessionEnd::ConsumerLeft if by_itself && observed.damage.is_none() => WindowEnd::TargetExited,
        SessionEnd::Stopped | SessionEnd::ConsumerLeft => WindowEnd::Completed,
    };
    if let Some(damage) = &observed.damage
        && end != WindowEnd::TargetExited
    {
        notes.push(format!("the stream of events broke off: {damage}"));
    }
    let Watching { watcher, stacks, mut code } = observed.observer;
    if stacks.unkept > 0 {
        notes
            .push(format!("{} events have no stack here: there were too many different ones", stacks.unkept));
    }
    code.settle();
    Ok(Watched {
        watcher,
        stacks: stacks.table,
        code,
        naming,
        clock: observed.clock,
        measured: elapsed,
        end,
        cost: Cost {
            method: "events of the runtime (EventPipe); nothing loaded into the process".to_owned(),
            bytes,
            events: observed.events,
            events_lost: lost,
            ..Cost::default()
        },
        notes,
    })
}

/// Whether every address of some stacks is in a method that is known.
fn knows(code: &CodeMap, stacks: &StackTable) -> bool {
    stacks.addresses().all(|address| method_at(code, address).is_some())
}

fn share(part: u64, whole: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    let share = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    share
}

fn size_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}
