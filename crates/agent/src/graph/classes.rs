//! The types that a walk met, told when the runtime runs again.

use std::collections::HashMap;

use agent_wire::{FromAgent, HeapType};
use clr_profiling::{ClassId, Info, Metadata, ModuleId, ModuleInfo, Suspended, can_be_unloaded};

use crate::answers::full_name;
use crate::line::Silence;
use crate::memory::word;

/// Most types that are kept, and of these most that can be unloaded.
const MOST: usize = 96 * 1024;
const MOST_COLLECTIBLE: usize = 4096;
/// Places of the table of types; a power of two, with room to spare.
const PLACES: usize = 256 * 1024;
/// Types that are looked up first, since neighbours on the heap are of few types; a power of two.
const AT_HAND: usize = 4096;
/// Most modules whose metadata is kept open.
const MOST_MODULES: usize = 2048;

/// Types: 3 MB at most.
pub(super) struct Classes {
    at_hand: Vec<usize>,
    places: Vec<usize>,
    /// Those that stay, in the order in which they were met.
    met: Vec<ClassId>,
    /// Those that can be unloaded: nothing may be asked of them once the runtime runs.
    collectible: Vec<ClassId>,
    /// What was found out of those before it did.
    told: Vec<HeapType>,
    /// How many did not fit.
    pub(super) left_out: u32,
}

impl Classes {
    pub(super) fn new() -> Classes {
        Classes {
            at_hand: vec![0; AT_HAND],
            places: vec![0; PLACES],
            met: Vec::with_capacity(MOST),
            collectible: Vec::with_capacity(MOST_COLLECTIBLE),
            told: Vec::new(),
            left_out: 0,
        }
    }

    /// A type that an object has.
    #[inline]
    pub(super) fn meet(&mut self, class: ClassId, is_collectible: impl FnOnce() -> bool) {
        let near = self.at_hand.get_mut(((class.0 >> 3) ^ (class.0 >> 13)) % AT_HAND);
        if let Some(near) = near
            && *near != class.0
        {
            *near = class.0;
            self.meet_anew(class, is_collectible);
        }
    }

    fn meet_anew(&mut self, class: ClassId, is_collectible: impl FnOnce() -> bool) {
        let hash = (class.0 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        for step in 0..PLACES {
            let Some(place) = self.places.get_mut((hash + step) % PLACES) else { return };
            if *place == class.0 {
                return;
            }
            if *place != 0 {
                continue;
            }
            let collectible = is_collectible();
            let (list, most) = match collectible {
                true => (&mut self.collectible, MOST_COLLECTIBLE),
                false => (&mut self.met, MOST),
            };
            if list.len() < most {
                *place = class.0;
                list.push(class);
            } else {
                self.left_out = self.left_out.saturating_add(1);
            }
            return;
        }
    }

    /// Asks about the types that may be gone when the runtime runs again. Their names are left to whoever has their file.
    pub(super) fn describe_collectible(&mut self, info: &Info, _: &Suspended<'_>) {
        let mut at = 0;
        while let Some(&class) = self.collectible.get(at) {
            at += 1;
            let Some((told, module, others)) = described(info, class) else { continue };
            for other in others.into_iter().filter(|other| *other != ClassId(0)) {
                // What has no method table of its own may go with it.
                let head = if other.0 % 8 == 0 { word(other.0 as u64) } else { None };
                self.meet_anew(other, || {
                    head.is_none_or(|head| can_be_unloaded((head & 0xFFFF_FFFF) as u32))
                });
            }
            let path = info.module(module).map_or(String::new(), |found| found.name);
            self.told.push(HeapType { module: path, ..told });
        }
    }

    /// Tells all types. Nothing needs to stand still for it: those that are asked about stay.
    pub(super) fn tell(
        mut self,
        info: &Info,
        say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<u32, Silence> {
        for told in std::mem::take(&mut self.told) {
            say(FromAgent::HeapType(told))?;
        }
        let mut modules: HashMap<ModuleId, (ModuleInfo, Option<Metadata>)> = HashMap::new();
        let mut at = 0;
        // The list grows by parents and arguments while it is walked.
        while let Some(&class) = self.met.get(at) {
            at += 1;
            let Some((mut told, module, others)) = described(info, class) else { continue };
            for other in others.into_iter().filter(|other| *other != ClassId(0)) {
                self.meet_anew(other, || false);
            }
            if told.rank == 0 {
                if modules.len() >= MOST_MODULES {
                    modules.clear();
                }
                let (found, metadata) = modules.entry(module).or_insert_with(|| {
                    let found = info.module(module).unwrap_or_default();
                    let metadata = if found.collectible { None } else { info.metadata(module).ok() };
                    (found, metadata)
                });
                told.module.clone_from(&found.name);
                let token = clr_profiling::Token(told.token);
                told.name = metadata.as_ref().and_then(|data| full_name(data, token)).unwrap_or_default();
            }
            say(FromAgent::HeapType(told))?;
        }
        Ok(self.left_out)
    }
}

/// What a type is, without names, and the types that it is made of.
fn described(info: &Info, class: ClassId) -> Option<(HeapType, ModuleId, Vec<ClassId>)> {
    let id = |class: &ClassId| class.0 as u64;
    let told = HeapType { id: id(&class), ..HeapType::default() };
    if let Some(array) = info.array(class) {
        let rank = u8::try_from(array.rank).unwrap_or(u8::MAX);
        let told = HeapType { arguments: vec![id(&array.element)], rank, ..told };
        return Some((told, ModuleId(0), vec![array.element]));
    }
    let found = info.heap_type(class).ok()?;
    let arguments: Vec<ClassId> = found.arguments.iter().take(found.argument_count).copied().collect();
    let told = HeapType {
        token: found.token.0,
        parent: id(&found.parent),
        arguments: arguments.iter().map(id).collect(),
        ..told
    };
    let others = arguments.into_iter().chain([found.parent]).collect();
    Some((told, found.module, others))
}
