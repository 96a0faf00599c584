//! Questions about the heap: its types, their fields, chosen objects.
//!
//! What is kept is bounded: [`types::MOST_TYPES`] types (about 6 MB while they are told, 1 MB for the rest of the visit),
//! [`objects::MOST_OBJECTS`] objects and [`objects::MOST_BYTES`] of their bytes (about 16 MB with the plan, and nothing
//! afterwards).

mod objects;
mod types;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use agent_wire::{FromAgent, Plan};
use clr_profiling::{ClassId, Info, ModuleId, Suspended, Token};

use crate::answers::Refusal;
use crate::line::Silence;
use crate::memory::word;
use crate::visit::Visit;

/// Most objects in a plan, and most types and references.
const MOST_SAMPLES: usize = 64 * 1024;
const MOST_PLANNED: usize = 16 * 1024;

/// How long the heap is walked, some 300 million objects; what comes after is left out.
const LONGEST_WALK: Duration = Duration::from_secs(3);
/// The clock is looked at after so many objects; a power of two.
const LOOK_AT_CLOCK: u32 = 64 * 1024;

/// Whether a walk takes too long.
#[derive(Default)]
struct Clock(u32);

impl Clock {
    fn is_over(&mut self, suspended: &Suspended<'_>) -> bool {
        self.0 = self.0.wrapping_add(1);
        self.0 & (LOOK_AT_CLOCK - 1) == 0 && suspended.elapsed() > LONGEST_WALK
    }
}

/// Bits of an object's first word that are no part of its type's address.
const MARKS: u64 = 7;

/// The type of what may be an object.
fn class_of(object: u64) -> Option<u64> {
    word(object).map(|word| word & !MARKS)
}

/// What a visit remembers of the heap.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Remembered>);

#[derive(Default)]
struct Remembered {
    /// What the next question is about.
    plan: Plan,
    /// Types that a live object has proven and that cannot be unloaded: these may be asked about at any time.
    types: HashMap<ClassId, Known>,
}

/// A type that stays.
#[derive(Clone, Copy)]
struct Known {
    module: ModuleId,
    token: Token,
    /// The first two words of its method table, which tell how large its objects are.
    flags: u32,
    base: u32,
}

/// What was found, to be told when the runtime runs again.
pub(crate) struct Answer(Found);

enum Found {
    Types(types::Types),
    Layouts(Vec<(ClassId, Known)>),
    Objects(objects::Objects),
}

impl Memory {
    /// More of what the next question is about. What is too much is left out, and the answer says so.
    pub(crate) fn plan(&self, part: Plan) {
        let plan = &mut self.0.lock().unwrap_or_else(PoisonError::into_inner).plan;
        add(&mut plan.samples, part.samples, MOST_SAMPLES);
        add(&mut plan.picks, part.picks, MOST_PLANNED);
        add(&mut plan.follow, part.follow, MOST_PLANNED);
        add(&mut plan.elements, part.elements, MOST_PLANNED);
    }

    fn with<T>(&self, look: impl FnOnce(&mut Remembered) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn add<T>(list: &mut Vec<T>, more: Vec<T>, most: usize) {
    let room = most.saturating_sub(list.len());
    list.extend(more.into_iter().take(room));
}

/// All types that have objects.
pub(crate) fn types(visit: &Visit) -> Result<Answer, Refusal> {
    let plan = visit.heap.with(|memory| std::mem::take(&mut memory.plan));
    let found = types::Types::look(visit, &plan.samples)?;
    visit.heap.with(|memory| found.remember(&mut memory.types));
    Ok(Answer(Found::Types(found)))
}

/// The fields of types. Nothing needs to stand still for it: the types stay.
pub(crate) fn layouts(visit: &Visit, ids: &[u64]) -> Answer {
    let class = |id: &u64| usize::try_from(*id).ok().map(ClassId);
    Answer(Found::Layouts(visit.heap.with(|memory| {
        let known = |id| memory.types.get(&id).map(|known| (id, *known));
        ids.iter().filter_map(class).filter_map(known).collect()
    })))
}

/// The objects of the plan.
pub(crate) fn objects(visit: &Visit) -> Result<Answer, Refusal> {
    let (plan, known) = visit.heap.with(|memory| (std::mem::take(&mut memory.plan), memory.types.clone()));
    objects::Objects::look(visit, &plan, &known).map(|found| Answer(Found::Objects(found)))
}

impl Answer {
    /// Sends it, in parts.
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        let (left_out, pause) = match &self.0 {
            Found::Types(types) => types.tell(info, &mut say)?,
            Found::Layouts(layouts) => types::tell_layouts(info, layouts, &mut say)?,
            Found::Objects(objects) => objects.tell(&mut say)?,
        };
        say(FromAgent::Answered { left_out, pause })
    }
}
