//! Which fields refer to the locks that threads wait for: static fields of types whose methods are on a stack, and on
//! 9 and newer the fields of all objects. Older runtimes do not show their heap; there the fields of objects are looked at
//! that the waiting threads' stacks point to, which is where `this` is.
//!
//! Two suspensions. The first finds the types of methods that run; their static fields are read from metadata while the
//! program runs again, since that takes locks. The second finds the locks anew, because objects move meanwhile.
//! Kept: [`MOST_STATICS`] fields with [`LONGEST_NAMES`] bytes of names, and [`MOST_OWNERS`] places: half a MB.

use std::time::{Duration, Instant};

use agent_wire::{FromAgent, LockLayout, Owner, Pause, WaitKind};
use clr_profiling::{
    AppDomainId, ClassId, ClassInfo, FieldOffset, FunctionId, HResult, Info, ModuleId, ObjectId, Suspended,
    ThreadId, Token, Walk,
};

use crate::answers::{self, Refusal, SEEN};
use crate::line::Silence;
use crate::locks::Waits;
use crate::memory::{word, words};
use crate::visit::Visit;

/// Most locks that are looked for.
const MOST_LOCKS: usize = 64;
/// Most places that refer to one lock, and to all.
const MOST_OF_ONE: usize = 8;
const MOST_OWNERS: usize = 256;
/// Most types whose static fields are looked at, fields of one, and fields of all.
const MOST_CLASSES: usize = 1024;
const MOST_FIELDS: usize = 256;
const MOST_STATICS: usize = 4096;
const LONGEST_NAMES: usize = 256 * 1024;
/// Most parents of a type.
const DEEPEST_TYPE: usize = 32;
/// Stacks that are looked at where the heap is hidden, how much of each, and most objects that are found there.
const MOST_STACKS: usize = 32;
const PAGES_OF_STACK: u64 = 4;
const MOST_OBJECTS: usize = 1024;
/// How long the heap is walked: some 20 million objects.
const LONGEST_WALK: Duration = Duration::from_millis(500);
/// The clock is looked at after so many references; a power of two.
const LOOK_AT_CLOCK: u32 = 4096;
/// Of a field's flags.
const STATIC: u32 = 0x10;
const LITERAL: u32 = 0x40;
/// Of the first word of an object: the collector's bits.
const MARKS: u64 = 7;

/// What was found.
pub(crate) struct Owners {
    waits: Waits,
    found: Vec<Place>,
    statics: Vec<Static>,
    left_out: u32,
    pause: Pause,
}

/// A static field that may refer to a lock.
struct Static {
    class: ClassId,
    token: Token,
    name: String,
}

/// A place that refers to a lock.
struct Place {
    lock: u64,
    /// The type of the object, or that of the static field.
    class: ClassId,
    /// The static field, by its place in the list.
    variable: Option<usize>,
    /// Where in the object.
    offset: usize,
    /// The module and the row of the field.
    field: Option<(ModuleId, Token)>,
}

pub(crate) fn owners(visit: &Visit, layout: &LockLayout) -> Result<Owners, Refusal> {
    let mut known = Vec::with_capacity(MOST_CLASSES);
    let before = on_a_stack(visit, |_, suspended, _, running| {
        let described = running.iter().filter_map(|id| Some((*id, suspended.class(*id).ok()?)));
        known.extend(described.take(MOST_CLASSES));
    })?;
    let statics = static_fields(&visit.info, &known);
    let mut waits = Waits::with_room();
    let mut found = Vec::with_capacity(MOST_OWNERS);
    let mut room = vec![FieldOffset::default(); MOST_FIELDS];
    let mut left_out = 0;
    let after = on_a_stack(visit, |info, suspended, ids, running| {
        waits.look(suspended, info, ids, layout, running);
        let locks = wanted(&waits);
        if locks.is_empty() {
            return;
        }
        // A type may have been unloaded meanwhile, even if its module stays: by what stands for its parameters.
        let is_there = |class: &ClassId| {
            let before = known.iter().find(|(known, _)| known == class).map(|(_, described)| *described);
            running.binary_search(class).is_ok() && before.is_some() && suspended.class(*class).ok() == before
        };
        let domain = ids.iter().find_map(|&id| suspended.app_domain(id).ok());
        in_statics(suspended, &statics, is_there, domain, &locks, &mut found);
        match on_heap(suspended, &locks, &mut found) {
            Heap::Whole => {}
            Heap::Part => left_out = 1,
            Heap::Hidden => on_stacks(suspended, &waits, &locks, running, &mut found, &mut room),
        }
        for place in &mut found {
            describe(suspended, info, place, &mut waits, &mut room);
        }
    })?;
    let pause = Pause {
        suspending: before.suspending + after.suspending,
        suspended: before.suspended + after.suspended,
    };
    Ok(Owners { waits, found, statics, left_out, pause })
}

/// Suspends, and looks with the types that have a method on a stack, in modules that stay, in order: these are there.
fn on_a_stack(
    visit: &Visit,
    look: impl FnOnce(&Info, &Suspended<'_>, &[ThreadId], &[ClassId]),
) -> Result<Pause, Refusal> {
    let mut seen = vec![FunctionId(0); SEEN];
    let answer = answers::suspended(visit, |suspended, ids, answer| {
        for (index, &id) in ids.iter().enumerate() {
            answer.walk(suspended, index, id, &mut seen, visit.fault);
        }
        answer.look_up(&visit.info);
        let mut running: Vec<ClassId> = answer.classes().map(|(class, _)| class).collect();
        running.sort_unstable();
        running.dedup();
        look(&visit.info, suspended, ids, &running);
    })?;
    Ok(answer.end().1)
}

/// Their static fields.
fn static_fields(info: &Info, classes: &[(ClassId, ClassInfo)]) -> Vec<Static> {
    let mut statics = Vec::new();
    let mut bytes = 0;
    let mut room = vec![Token(0); MOST_FIELDS];
    for (id, class) in classes {
        let Ok(metadata) = info.metadata(class.module) else { continue };
        let count = metadata.fields(class.token, &mut room).unwrap_or(0);
        for &token in room.get(..count).unwrap_or_default() {
            let Ok((name, flags)) = metadata.field(token) else { continue };
            let has_room = statics.len() < MOST_STATICS && bytes + name.len() <= LONGEST_NAMES;
            if flags & STATIC != 0 && flags & LITERAL == 0 && has_room {
                bytes += name.len();
                statics.push(Static { class: *id, token, name });
            }
        }
    }
    statics
}

/// The lock objects that somebody wants to enter, in the order of their addresses, each with the address of its lock.
fn wanted(waits: &Waits) -> Vec<(u64, u64)> {
    let mut locks: Vec<(u64, u64)> = waits
        .blocked
        .iter()
        .filter(|blocked| blocked.kind != WaitKind::Pulse && blocked.object != 0)
        .map(|blocked| (blocked.object, blocked.lock))
        .collect();
    locks.sort_unstable();
    locks.dedup();
    locks.truncate(MOST_LOCKS);
    locks
}

fn in_statics(
    suspended: &Suspended<'_>,
    statics: &[Static],
    is_there: impl Fn(&ClassId) -> bool,
    domain: Option<AppDomainId>,
    locks: &[(u64, u64)],
    found: &mut Vec<Place>,
) {
    let Some(domain) = domain else { return };
    let mut last = (ClassId(0), false);
    for (index, field) in statics.iter().enumerate() {
        // Fields of one type follow each other.
        if last.0 != field.class {
            last = (field.class, is_there(&field.class));
        }
        if !last.1 {
            continue;
        }
        let Ok(address) = suspended.static_field(field.class, field.token, domain) else { continue };
        let Some(value) = word(address as u64) else { continue };
        if let Some(lock) = lock_of(locks, value)
            && found.len() < MOST_OWNERS
        {
            found.push(Place { lock, class: field.class, variable: Some(index), offset: 0, field: None });
        }
    }
}

/// How much of the heap was seen.
enum Heap {
    Whole,
    Part,
    /// The runtime is too old to show it.
    Hidden,
}

fn on_heap(suspended: &Suspended<'_>, locks: &[(u64, u64)], found: &mut Vec<Place>) -> Heap {
    let (Some((lowest, _)), Some((highest, _))) = (locks.first(), locks.last()) else { return Heap::Whole };
    let until = Instant::now() + LONGEST_WALK;
    let (mut count, mut is_whole) = (0u32, true);
    let outcome = suspended.references(|object, offset, target| {
        count = count.wrapping_add(1);
        if count.is_multiple_of(LOOK_AT_CLOCK) && Instant::now() > until {
            is_whole = false;
            return Walk::Enough;
        }
        let target = target.0 as u64;
        if (*lowest..=*highest).contains(&target)
            && let Some(lock) = lock_of(locks, target)
        {
            add(found, lock, object, offset);
        }
        Walk::On
    });
    match outcome {
        Ok(()) if is_whole => Heap::Whole,
        Err(HResult::E_NOINTERFACE) => Heap::Hidden,
        _ => Heap::Part,
    }
}

/// The lock whose object this is.
fn lock_of(locks: &[(u64, u64)], object: u64) -> Option<u64> {
    let at = locks.binary_search_by_key(&object, |(object, _)| *object).ok()?;
    locks.get(at).map(|(_, lock)| *lock)
}

/// Looks at objects that the stacks of waiting threads point to, if they are of a type whose method is on a stack.
fn on_stacks(
    suspended: &Suspended<'_>,
    waits: &Waits,
    locks: &[(u64, u64)],
    running: &[ClassId],
    found: &mut Vec<Place>,
    room: &mut [FieldOffset],
) {
    let mut seen: Vec<u64> = Vec::with_capacity(MOST_OBJECTS);
    let wanting = waits.blocked.iter().zip(&waits.noted).filter(|(wait, _)| wait.kind != WaitKind::Pulse);
    for (_, noted) in wanting.take(MOST_STACKS) {
        // What lies above belongs to the callers, managed code among them.
        let pages = (0..PAGES_OF_STACK).map_while(|page| words::<512>((noted & !0xFFF) + page * 0x1000));
        for value in pages.flatten().filter(|value| *value != 0 && *value & MARKS == 0) {
            if seen.contains(&value) || seen.len() == MOST_OBJECTS {
                continue;
            }
            let class = word(value).map_or(0, |word| word & !MARKS);
            let class = ClassId(usize::try_from(class).unwrap_or(0));
            // Only an object begins with the address of a type.
            if running.binary_search(&class).is_ok() {
                seen.push(value);
                in_object(suspended, value, class, locks, found, room);
            }
        }
    }
}

/// The fields of one object, and of its type's parents.
fn in_object(
    suspended: &Suspended<'_>,
    object: u64,
    mut class: ClassId,
    locks: &[(u64, u64)],
    found: &mut Vec<Place>,
    room: &mut [FieldOffset],
) {
    for _ in 0..DEEPEST_TYPE {
        let count = suspended.layout(class, room).unwrap_or(0);
        for field in room.get(..count).unwrap_or_default() {
            let value = word(object.wrapping_add(field.offset.into()));
            if let Some(lock) = value.and_then(|value| lock_of(locks, value)) {
                let offset = usize::try_from(field.offset).unwrap_or(0);
                add(found, lock, ObjectId(usize::try_from(object).unwrap_or(0)), offset);
            }
        }
        class = suspended.class(class).map_or(ClassId(0), |described| described.parent);
        if class == ClassId(0) {
            return;
        }
    }
}

fn add(found: &mut Vec<Place>, lock: u64, object: ObjectId, offset: usize) {
    let known = found.iter().filter(|place| place.lock == lock).count();
    if known >= MOST_OF_ONE || found.len() >= MOST_OWNERS {
        return;
    }
    let class = word(object.0 as u64).map_or(0, |word| word & !MARKS);
    let class = ClassId(usize::try_from(class).unwrap_or(0));
    found.push(Place { lock, class, variable: None, offset, field: None });
}

/// Which field it is: the last one of the object's type, or of the nearest parent, that begins at the place or before.
fn describe(
    suspended: &Suspended<'_>,
    info: &Info,
    place: &mut Place,
    waits: &mut Waits,
    room: &mut [FieldOffset],
) {
    if place.class == ClassId(0) {
        return;
    }
    let described = suspended.class(place.class).unwrap_or_default();
    if waits.classes.iter().all(|(known, _)| *known != place.class) {
        waits.classes.push((place.class, described));
    }
    waits.add_module(info, described.module);
    if place.variable.is_some() {
        return;
    }
    let offset = u32::try_from(place.offset).unwrap_or(u32::MAX);
    let mut class = place.class;
    for _ in 0..DEEPEST_TYPE {
        // An array has no fields.
        let Ok(described) = suspended.class(class) else { return };
        let count = suspended.layout(class, room).unwrap_or(0);
        let fields = room.get(..count).unwrap_or_default();
        let field = fields.iter().filter(|field| field.offset <= offset).max_by_key(|field| field.offset);
        if let Some(field) = field {
            waits.add_module(info, described.module);
            place.field = Some((described.module, field.token));
            return;
        }
        class = described.parent;
        if class == ClassId(0) {
            return;
        }
    }
}

impl Owners {
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        self.waits.tell(info, &mut say)?;
        for place in &self.found {
            let variable = place.variable.and_then(|index| self.statics.get(index));
            let name = || {
                let (module, token) = place.field.filter(|(module, _)| self.waits.stays(*module))?;
                Some(info.metadata(module).ok()?.field(token).ok()?.0)
            };
            let field = variable.map(|field| field.name.clone()).or_else(name).unwrap_or_default();
            say(FromAgent::Owner(Owner {
                lock: place.lock,
                class: place.class.0 as u64,
                field,
                is_static: variable.is_some(),
            }))?;
        }
        say(FromAgent::Answered { left_out: self.left_out, pause: self.pause })
    }
}
