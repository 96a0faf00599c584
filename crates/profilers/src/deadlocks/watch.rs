//! Two looks, and who the locks belong to.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use agent_host::{AgentError, FoundLayout, LockOwners, Locks, WaitKind, find_lock_layout};
use lock_graph::{Look, Seen, WaitFor};
use model::ThreadId;

use super::judge;
use super::locks::{LockSeen, Runtime, waits};
use crate::ProfilerError;
use crate::about::About;
use crate::inside::{self, Guest, Namer, Native, Sight, Unnamed};
use crate::profiler::Run;

/// What was seen.
pub(super) struct Watched {
    /// The first look.
    pub(super) before: Look,
    /// The second look.
    pub(super) after: Look,
    /// Its threads with names.
    pub(super) sight: Sight,
    /// The locks of the second look, by the thread that waits.
    pub(super) locks: BTreeMap<ThreadId, LockSeen>,
    /// Since when threads have not run, where the kernel tells.
    pub(super) still: HashMap<ThreadId, Duration>,
    /// Between the looks.
    pub(super) apart: Duration,
    /// Whether there may be objects of `System.Threading.Lock` that could not be looked at.
    pub(super) misses_lock_objects: bool,
    /// Whether the heap was searched for who refers to the locks, and whether all of it.
    pub(super) owners: OwnersSought,
}

/// How fields were searched that refer to the locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnersSought {
    /// Not at all: there was no need, or it was not wanted.
    No,
    /// In static fields, and in objects that the threads' stacks point to: the runtime does not show its heap.
    Nearby,
    /// On the whole heap.
    Heap,
    /// On a part of the heap, because it is large.
    PartOfHeap,
}

/// The profiling interface of .NET 9, the first with `System.Threading.Lock`, and the first that shows the heap.
const NET9: u16 = 15;

/// One look.
struct Taken {
    locks: Locks,
    unnamed: Unnamed,
    at: Instant,
}

/// Everything the agent was asked for.
struct Asked {
    before: Taken,
    after: Taken,
    owners: Option<LockOwners>,
    layout: FoundLayout,
    runtime: Runtime,
}

pub(super) fn watch(run: &Run<'_>, profiler: &'static str) -> Result<(Watched, About), ProfilerError> {
    let visited = inside::visit(run, profiler, |guest| ask(guest, run))?;
    let inside::Visited { value, mut cost, notes, measured, end } = visited;
    let Asked { before, after, owners, layout, runtime } = value;
    let apart = after.at.duration_since(before.at);
    let before = look(&before, runtime).0;
    let (after_look, mut locks) = look(&after, runtime);
    let still = last_runs(&after.unnamed, &after_look);
    let sought = match &owners {
        None => OwnersSought::No,
        Some(_) if runtime.interface < NET9 => OwnersSought::Nearby,
        Some(found) if found.cut => OwnersSought::PartOfHeap,
        Some(_) => OwnersSought::Heap,
    };
    if let Some(owners) = owners {
        add_fields(&mut locks, &owners, &after.locks);
    }
    let mut namer = Namer::of(run, [after.unnamed.stacks()]);
    namer.charge(&mut cost);
    let watched = Watched {
        before,
        after: after_look,
        sight: after.unnamed.named(&mut namer),
        locks,
        still,
        apart,
        misses_lock_objects: runtime.interface >= NET9 && !layout.sees_lock_objects,
        owners: sought,
    };
    Ok((watched, About { cost, notes, measured, end }))
}

fn ask(guest: &mut Guest<'_>, run: &Run<'_>) -> Result<Asked, AgentError> {
    let pid = run.process.pid;
    let hello = guest.hello();
    let runtime = Runtime { interface: hello.interface, major: hello.runtime[0] };
    let mut layout = guest.ask(|attached| find_lock_layout(pid, attached), |found| (found.pause, 0))?;
    let before = take(guest, &layout)?;
    guest.wait(run.duration, "waiting whether anything moves");
    // Threads that began to wait meanwhile may show what could not be found before.
    if layout.layout.is_none_or(|layout| layout.table == 0) {
        layout = guest.ask(|attached| find_lock_layout(pid, attached), |found| (found.pause, 0))?;
    }
    let after = take(guest, &layout)?;
    let stuck = judge::has_stuck_lock(&look(&before, runtime).0, &look(&after, runtime).0);
    let owners = match layout.layout {
        Some(layout) if stuck && run.settings.choice("owners") == "find" => {
            Some(guest.ask(|attached| attached.lock_owners(&layout), |answer| (answer.pause, 0))?)
        }
        _ => None,
    };
    Ok(Asked { before, after, owners, layout, runtime })
}

fn take(guest: &mut Guest<'_>, layout: &FoundLayout) -> Result<Taken, AgentError> {
    let locks = match layout.layout {
        Some(layout) => guest.ask(
            |attached| attached.locks(&layout),
            |answer| (answer.stacks.pause, answer.stacks.left_out),
        )?,
        // Nobody waits for a monitor; stacks are of use all the same.
        None => Locks { stacks: guest.stacks()?, ..Locks::default() },
    };
    let at = Instant::now();
    let unnamed = Unnamed::of(guest.target(), locks.stacks.clone(), Native::Hide);
    Ok(Taken { locks, unnamed, at })
}

fn look(taken: &Taken, runtime: Runtime) -> (Look, BTreeMap<ThreadId, LockSeen>) {
    let mut look = Look::default();
    for stack in &taken.locks.stacks.stacks {
        let seen = Seen { frames: stack.frames.clone(), rests: taken.unnamed.rests(stack.thread.os) };
        look.threads.insert(ThreadId(stack.thread.os), seen);
    }
    let mut locks = BTreeMap::new();
    for (thread, (wait, seen)) in waits(&taken.locks, runtime) {
        look.waits.insert(thread, wait);
        locks.insert(thread, seen);
    }
    (look, locks)
}

/// How long ago the waiting threads last ran.
fn last_runs(unnamed: &Unnamed, look: &Look) -> HashMap<ThreadId, Duration> {
    let Some(now) = process_view::scheduler_now() else { return HashMap::new() };
    let since = |thread: ThreadId| Some((thread, now.checked_sub(unnamed.task(thread.0)?.last_ran()?)?));
    look.threads.keys().filter_map(|thread| since(*thread)).collect()
}

/// Fields that refer to the locks. Objects may have moved since the look; who waits is the same.
fn add_fields(locks: &mut BTreeMap<ThreadId, LockSeen>, owners: &LockOwners, seen: &Locks) {
    let numbers: HashMap<u64, u32> =
        seen.stacks.stacks.iter().map(|stack| (stack.thread.id, stack.thread.os)).collect();
    let mut done: HashMap<u64, ()> = HashMap::new();
    for blocked in &owners.blocked {
        // The innermost wait of a thread stands first.
        if blocked.kind == WaitKind::Pulse || done.insert(blocked.thread, ()).is_some() {
            continue;
        }
        let Some(lock) = numbers.get(&blocked.thread).and_then(|os| locks.get_mut(&ThreadId(*os))) else {
            continue;
        };
        let mut fields: Vec<(bool, bool, String)> = owners
            .owners
            .iter()
            .filter(|owner| owner.lock == blocked.lock && !owner.field.is_empty())
            .filter_map(|owner| {
                let class = owners.classes.get(&owner.class).filter(|class| !class.name.is_empty())?;
                // What the compiler made to carry a variable into a lambda says less than a field of the program.
                let is_made = class.name.contains("<>") || owner.field.starts_with("<>");
                Some((!owner.is_static, is_made, field_name(&class.name, &owner.field)))
            })
            .collect();
        fields.sort();
        fields.dedup();
        lock.fields = fields.into_iter().map(|(_, _, name)| name).collect();
    }
}

/// A field with its type. What the compiler made of a variable that a lambda uses is told as that variable.
fn field_name(class: &str, field: &str) -> String {
    match class.rsplit_once('+') {
        Some((outer, made)) if made.starts_with("<>c__DisplayClass") => {
            format!("{}.(captured {})", symbols::readable_type(outer), property(field))
        }
        _ => format!("{}.{}", symbols::readable_type(class), property(field)),
    }
}

/// The property whose value the compiler keeps in a field: `<Gate>k__BackingField` is `Gate`.
fn property(field: &str) -> &str {
    field.strip_prefix('<').and_then(|rest| rest.strip_suffix(">k__BackingField")).unwrap_or(field)
}

impl Watched {
    /// Whether a thread waits for a lock that somebody holds.
    pub(super) fn wants_lock(&self, thread: ThreadId) -> bool {
        self.after.waits.get(&thread).is_some_and(|wait| wait.what != WaitFor::Pulse)
    }

    /// A thread with its names.
    pub(super) fn named(&self, thread: ThreadId) -> Option<&inside::Seen> {
        self.sight.threads.iter().find(|seen| seen.inside == thread.0)
    }
}

#[cfg(test)]
mod field_names {
    use super::field_name;

    #[test]
    fn what_the_compiler_made_is_told_as_it_was_written() {
        assert_eq!(field_name("Bank.Ledger", "_gate"), "Bank.Ledger._gate");
        assert_eq!(field_name("Bank.Ledger", "<Gate>k__BackingField"), "Bank.Ledger.Gate");
        assert_eq!(field_name("Bank.Branch+<>c__DisplayClass0_0", "salary"), "Bank.Branch.(captured salary)");
    }
}
