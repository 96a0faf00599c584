//! The timers of a heap: the objects that stand in the runtime's queues, what they call and with what.

use std::collections::{BTreeMap, HashMap};

use agent_host::HeapObjects;
use task_graph::{Look, Object, Pick, TypeId, Types};

use crate::inside::objects::Wish;

const TIMER: &str = "System.Threading.TimerQueueTimer";
const CALLBACK: &str = "System.Threading.TimerCallback";
/// `System.Timers.Timer`, and what it calls.
const COMPONENT: &str = "System.Timers.Timer";
const HANDLER: &str = "System.Timers.ElapsedEventHandler";
const DELAY: &str = "System.Threading.Tasks.Task+DelayPromise";
const CANCELLATION: &str = "System.Threading.CancellationTokenSource";
const PERIODIC: &str = "System.Threading.PeriodicTimer";
/// What is set in a time that is none, and in those of more than 24 days.
const NEVER: u32 = 0x8000_0000;
/// A period that is none.
const ONCE: u32 = u32::MAX;
/// Bytes of a reference.
const REFERENCE: usize = 8;

/// What a timer does when its time has come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum What {
    /// It ends a `Task.Delay`, whose end this goes on with.
    Delay(Option<TypeId>),
    /// It cancels a `CancellationTokenSource`.
    Cancel,
    /// It ticks for a `PeriodicTimer`.
    Tick,
    /// It calls a method.
    Call(Call),
    /// It raises `Elapsed` of a `System.Timers.Timer`, which calls a method.
    Elapsed(Option<Call>),
}

/// A method that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Call {
    /// On an object of this type; none for a static method.
    pub(super) target: Option<TypeId>,
    /// Its code.
    pub(super) code: u64,
    /// With an object of this type.
    pub(super) state: Option<TypeId>,
}

/// Timers that are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alike {
    pub(super) count: u64,
    /// The shortest and the longest time that one was set to, in milliseconds.
    pub(super) due: (u32, u32),
}

/// All timers by what they do and their period in milliseconds; none fires once.
pub(super) type Timers = BTreeMap<(What, Option<u32>), Alike>;

/// What tells of timers.
pub(super) struct TimerQueues;

/// Where the fields of a timer lie.
struct Fields {
    id: TypeId,
    due: usize,
    period: usize,
    callback: usize,
    state: usize,
}

/// A field, by its name without what .NET put before it at some time.
fn field(types: &Types, id: TypeId, name: &str) -> Option<usize> {
    ["_", "m_", ""].iter().find_map(|prefix| types.field(id, &format!("{prefix}{name}")))
}

fn named(types: &Types, name: &str) -> Option<TypeId> {
    types.iter().find(|(_, described)| described.name == name).map(|(id, _)| id)
}

impl Fields {
    fn of(types: &Types) -> Option<Fields> {
        let id = named(types, TIMER)?;
        let field = |name| field(types, id, name);
        Some(Fields {
            id,
            due: field("dueTime")?,
            period: field("period")?,
            callback: field("timerCallback")?,
            state: field("state")?,
        })
    }

    /// Bytes up to the last of them.
    fn bytes(&self) -> usize {
        [self.due, self.period, self.callback, self.state].into_iter().max().unwrap_or(0) + REFERENCE
    }
}

impl Wish for TimerQueues {
    fn begins_with(&self, name: &str) -> bool {
        name == TIMER
    }

    fn layouts(&self, types: &Types) -> Vec<TypeId> {
        let of_interest = types.iter().filter(|(_, described)| {
            [TIMER, CALLBACK, COMPONENT, HANDLER].contains(&described.name.as_str())
                || described.name.starts_with(DELAY)
        });
        let mut wanted: Vec<TypeId> =
            of_interest.flat_map(|(id, _)| types.ancestry(id).map(|(id, _)| id)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    fn plan(&self, types: &Types) -> Option<Look> {
        let timer = Fields::of(types)?;
        let mut look = Look::default();
        let bytes = |length: usize| u16::try_from(length).ok();
        let without = (bytes(timer.due)?, NEVER);
        look.picks.push(Pick { id: timer.id, bytes: bytes(timer.bytes())?, all: true, without });
        look.follow.push((timer.id, bytes(timer.callback)?));
        look.follow.push((timer.id, bytes(timer.state)?));
        let mut lead = |id: TypeId, to: Option<usize>, length: usize| {
            if let (Some(to), Some(length)) = (to.and_then(bytes), bytes(length)) {
                // Nearly each timer has a callback of its own; to copy them in the walk is quicker than to follow.
                let all = types.get(id).is_some_and(|described| described.name == CALLBACK);
                look.picks.push(Pick { id, bytes: length, all, without: (0, 0) });
                look.follow.push((id, to));
            }
        };
        for (id, described) in types.iter() {
            if described.name == CALLBACK || described.name == HANDLER {
                let ends = field(types, id, "methodPtrAux").map_or(0, |at| at + REFERENCE);
                lead(id, field(types, id, "target"), ends);
            } else if described.name == COMPONENT {
                let at = field(types, id, "onIntervalElapsed");
                lead(id, at, at.map_or(0, |at| at + REFERENCE));
            } else if described.name.starts_with(DELAY) {
                let at = field(types, id, "continuationObject");
                lead(id, at, at.map_or(0, |at| at + REFERENCE));
            }
        }
        Some(look)
    }
}

/// The timers among objects that were read.
pub(super) fn timers(types: &Types, answer: HeapObjects) -> Timers {
    let mut found = Timers::new();
    let Some(fields) = Fields::of(types) else { return found };
    let objects = answer.objects.into_iter();
    let objects: HashMap<u64, Object> = objects
        .map(|object| (object.address, Object { id: TypeId(object.class), bytes: object.bytes }))
        .collect();
    let look = Objects { types, objects: &objects };
    for timer in objects.values().filter(|object| object.id == fields.id) {
        let due = timer.bits(fields.due).filter(|due| due & NEVER == 0);
        let (Some(due), Some(period)) = (due, timer.bits(fields.period)) else { continue };
        let Some(what) = look.what(timer, &fields) else { continue };
        let period = Some(period).filter(|period| *period != ONCE && *period != 0);
        let alike = found.entry((what, period)).or_insert(Alike { count: 0, due: (due, due) });
        alike.count += 1;
        alike.due = (alike.due.0.min(due), alike.due.1.max(due));
    }
    found
}

struct Objects<'a> {
    types: &'a Types,
    objects: &'a HashMap<u64, Object>,
}

impl Objects<'_> {
    fn at(&self, object: &Object, offset: usize) -> Option<(u64, &Object)> {
        let address = object.reference(offset)?.0;
        Some((address, self.objects.get(&address)?))
    }

    fn what(&self, timer: &Object, fields: &Fields) -> Option<What> {
        let state = self.at(timer, fields.state).map(|(_, state)| state);
        let name = state.and_then(|state| self.types.get(state.id)).map_or("", |it| it.name.as_str());
        if let Some(delay) = state.filter(|_| name.starts_with(DELAY)) {
            let goes_on = field(self.types, delay.id, "continuationObject");
            let goes_on = goes_on.and_then(|at| self.at(delay, at)).map(|(_, object)| object.id);
            return Some(What::Delay(goes_on));
        }
        if name == PERIODIC || name.strip_prefix(PERIODIC).is_some_and(|inner| inner.starts_with('+')) {
            return Some(What::Tick);
        }
        let is_cancellation = state.is_some_and(|state| self.types.is_a(state.id, CANCELLATION));
        let call = self.call(self.at(timer, fields.callback)?, state.map(|state| state.id))?;
        // A program's own callback may have one as its state, too.
        if is_cancellation && call.target.is_none_or(|target| is_framework(self.types, target)) {
            return Some(What::Cancel);
        }
        let component = call.target.filter(|target| self.types.is_a(*target, COMPONENT));
        if let Some(component) = component {
            let target = self.target(self.at(timer, fields.callback)?.1);
            let handler = field(self.types, component, "onIntervalElapsed")
                .zip(target)
                .and_then(|(at, (_, target))| self.at(target, at));
            return Some(What::Elapsed(handler.and_then(|handler| self.call(handler, None))));
        }
        Some(What::Call(call))
    }

    fn target(&self, delegate: &Object) -> Option<(u64, &Object)> {
        self.at(delegate, field(self.types, delegate.id, "target")?)
    }

    /// What a delegate calls.
    fn call(&self, (address, delegate): (u64, &Object), state: Option<TypeId>) -> Option<Call> {
        let code = |name| {
            let at = field(self.types, delegate.id, name)?;
            delegate.reference(at).map(|code| code.0)
        };
        let target = self.target(delegate);
        // A delegate of a static method has itself as its target, and the code in the second place.
        let is_static = target.is_none_or(|(at, _)| at == address);
        let code = if is_static { code("methodPtrAux").or(code("methodPtr")) } else { code("methodPtr") };
        let target = target.filter(|_| !is_static).map(|(_, target)| target.id);
        Some(Call { target, code: code?, state })
    }
}

/// Whether a type is .NET's.
pub(super) fn is_framework(types: &Types, id: TypeId) -> bool {
    types.get(id).is_some_and(|described| symbols::is_framework_module(&described.module))
}
