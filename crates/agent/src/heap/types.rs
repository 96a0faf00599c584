//! Which types have objects, and what they are.

use std::collections::HashMap;
use std::time::Instant;

use agent_wire::{Field, FromAgent, HeapType, Layout, MOST_FIELDS, Pause, Sample, Stage};
use clr_profiling::{
    ArrayInfo, ClassId, FieldOffset, HeapType as Described, Info, Metadata, ModuleId, ModuleInfo, Suspended,
    Token, Walk,
};

use super::{Clock, Known, class_of};
use crate::answers::{self, Refusal, full_name};
use crate::line::Silence;
use crate::memory::word;
use crate::visit::Visit;

/// Most types that are told.
pub(super) const MOST_TYPES: usize = 16 * 1024;
/// Most modules that they come from.
const MOST_MODULES: usize = 4096;
/// Places of the table of types; a power of two, and twice as many as types.
const PLACES: usize = 2 * MOST_TYPES;

#[derive(Clone, Copy, Default)]
struct Seen {
    class: ClassId,
    count: u64,
    info: Described,
    array: Option<ArrayInfo>,
    /// Whether the runtime told of it.
    described: bool,
    flags: u32,
    base: u32,
    /// Its module can be unloaded, or that of an argument.
    collectible: bool,
}

#[derive(Default)]
pub(super) struct Types {
    seen: Vec<Seen>,
    /// Where a type stands in `seen`, counted from 1; by the hash of its id.
    places: Vec<u16>,
    modules: Vec<(ModuleId, ModuleInfo)>,
    left_out: u32,
    pause: Pause,
}

impl Types {
    /// Walks the heap, or looks at samples of it, and asks the runtime about the types that it meets.
    pub(super) fn look(visit: &Visit, samples: &[Sample]) -> Result<Types, Refusal> {
        let mut types = Types {
            seen: Vec::with_capacity(MOST_TYPES),
            places: vec![0; PLACES],
            modules: Vec::with_capacity(64),
            ..Types::default()
        };
        let turn = answers::take_turn(|| visit.is_unwanted())?;
        let began = Instant::now();
        let suspended = answers::suspend(visit, || visit.is_unwanted())?;
        types.pause.suspending = began.elapsed();
        if samples.is_empty() {
            let mut clock = Clock::default();
            let walked = suspended.heap(|object| {
                types.meet(object.class(), 1);
                if clock.is_over(&suspended) {
                    types.left_out = types.left_out.saturating_add(1);
                    return Walk::Enough;
                }
                Walk::On
            });
            walked.map_err(|code| Refusal { stage: Stage::Heap, code })?;
        } else {
            for sample in samples {
                match (class_of(sample.address), usize::try_from(sample.class)) {
                    (Some(found), Ok(class)) if found == sample.class => types.meet(ClassId(class), 1),
                    // It moved: the host is told by what is missing.
                    _ => types.left_out = types.left_out.saturating_add(1),
                }
            }
        }
        types.describe(&suspended, &visit.info);
        types.pause.suspended = suspended.elapsed();
        drop(suspended);
        drop(turn);
        types.spread();
        types.measure();
        Ok(types)
    }

    fn meet(&mut self, class: ClassId, count: u64) {
        let hash = (class.0 >> 3).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 49;
        for step in 0..PLACES {
            let Some(place) = self.places.get_mut((hash + step) % PLACES) else { return };
            if let Some(at) = usize::from(*place).checked_sub(1) {
                if let Some(seen) = self.seen.get_mut(at)
                    && seen.class == class
                {
                    seen.count += count;
                    return;
                }
                continue;
            }
            if self.seen.len() < MOST_TYPES {
                self.seen.push(Seen { class, count, ..Seen::default() });
                *place = u16::try_from(self.seen.len()).unwrap_or(0);
            } else {
                self.left_out = self.left_out.saturating_add(1);
            }
            return;
        }
    }

    /// Asks the runtime. Nothing can be unloaded meanwhile, and every id comes from a live object or from the runtime.
    fn describe(&mut self, _: &Suspended<'_>, info: &Info) {
        let mut at = 0;
        // The list grows by parents and arguments while it is walked.
        while let Some(mut seen) = self.seen.get(at).copied() {
            seen.array = info.array(seen.class);
            if let Some(array) = seen.array {
                seen.described = true;
                self.meet_also(array.element);
            } else if let Ok(found) = info.heap_type(seen.class) {
                (seen.described, seen.info) = (true, found);
                self.meet_also(found.parent);
                found.arguments.iter().take(found.argument_count).for_each(|&class| self.meet_also(class));
                seen.collectible = self.is_collectible(info, found.module);
            }
            if let Some(place) = self.seen.get_mut(at) {
                *place = seen;
            }
            at += 1;
        }
    }

    fn meet_also(&mut self, class: ClassId) {
        if class != ClassId(0) {
            self.meet(class, 0);
        }
    }

    fn is_collectible(&mut self, info: &Info, module: ModuleId) -> bool {
        if let Some((_, known)) = self.modules.iter().find(|(known, _)| *known == module) {
            return known.collectible;
        }
        let Ok(found) = info.module(module) else { return true };
        let collectible = found.collectible;
        if self.modules.len() < MOST_MODULES {
            self.modules.push((module, found));
        }
        collectible
    }

    /// A type with an argument that can be unloaded can be unloaded.
    fn spread(&mut self) {
        let mut gone: HashMap<ClassId, bool> =
            self.seen.iter().map(|seen| (seen.class, seen.collectible)).collect();
        // Arguments are nested a few deep.
        for _ in 0..8 {
            let mut changed = false;
            for seen in &mut self.seen {
                let arguments = seen.info.arguments.iter().take(seen.info.argument_count);
                let elements = seen.array.iter().map(|array| &array.element);
                let parent = std::iter::once(&seen.info.parent);
                let is_gone = |class: &ClassId| gone.get(class).copied().unwrap_or(false);
                if !seen.collectible && arguments.chain(elements).chain(parent).any(is_gone) {
                    (seen.collectible, changed) = (true, true);
                    gone.insert(seen.class, true);
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// How large objects are, of types that stay: these are there without anything standing still.
    fn measure(&mut self) {
        for seen in self.seen.iter_mut().filter(|seen| seen.described && !seen.collectible) {
            if let Some(head) = word(seen.class.0 as u64) {
                let [a, b, c, d, e, f, g, h] = head.to_le_bytes();
                (seen.flags, seen.base) =
                    (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            }
        }
    }

    /// Keeps the types that stay.
    pub(super) fn remember(&self, known: &mut HashMap<ClassId, Known>) {
        for seen in self.seen.iter().filter(|seen| !seen.collectible && seen.base != 0) {
            if known.len() < MOST_TYPES || known.contains_key(&seen.class) {
                let (module, token) = (seen.info.module, seen.info.token);
                known.insert(seen.class, Known { module, token, flags: seen.flags, base: seen.base });
            }
        }
    }

    pub(super) fn tell(
        &self,
        info: &Info,
        say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(u32, Pause), Silence> {
        let mut order: Vec<&Seen> = self.seen.iter().filter(|seen| seen.described).collect();
        order.sort_by_key(|seen| seen.info.module);
        let mut open: Option<(ModuleId, &str, Option<Metadata>)> = None;
        for seen in order {
            let module = seen.info.module;
            if open.as_ref().is_none_or(|(open, ..)| *open != module) {
                // Names are read after the runtime runs again, since reading them takes locks. A module that can be
                // unloaded may be gone by now.
                let described = self.modules.iter().find(|(known, _)| *known == module);
                let stays = described.is_some_and(|(_, found)| !found.collectible);
                let path = described.map_or("", |(_, found)| found.name.as_str());
                open = Some((module, path, if stays { info.metadata(module).ok() } else { None }));
            }
            let (path, metadata) = open.as_ref().map_or(("", None), |(_, path, data)| (*path, data.as_ref()));
            let name = match metadata {
                Some(metadata) if !seen.collectible && seen.array.is_none() => {
                    full_name(metadata, seen.info.token).unwrap_or_default()
                }
                _ => String::new(),
            };
            let id = |class: &ClassId| class.0 as u64;
            let arguments = match &seen.array {
                Some(array) => vec![id(&array.element)],
                None => seen.info.arguments.iter().take(seen.info.argument_count).map(id).collect(),
            };
            say(FromAgent::HeapType(HeapType {
                id: id(&seen.class),
                count: seen.count,
                token: if seen.array.is_some() { 0 } else { seen.info.token.0 },
                parent: id(&seen.info.parent),
                arguments,
                rank: seen.array.map_or(0, |array| u8::try_from(array.rank).unwrap_or(u8::MAX)),
                module: path.to_owned(),
                name,
            }))?;
        }
        Ok((self.left_out, self.pause))
    }
}

/// The fields of types that stay, with their names.
pub(super) fn tell_layouts(
    info: &Info,
    types: &[(ClassId, Known)],
    say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
) -> Result<(u32, Pause), Silence> {
    let mut room = vec![FieldOffset::default(); MOST_FIELDS];
    let mut modules: HashMap<ModuleId, Option<Metadata>> = HashMap::new();
    let mut left_out = 0u32;
    for (class, known) in types {
        let metadata = modules.entry(known.module).or_insert_with(|| info.metadata(known.module).ok());
        let (Some(metadata), Ok((count, size))) = (metadata.as_ref(), info.layout(*class, &mut room)) else {
            left_out = left_out.saturating_add(1);
            continue;
        };
        let field = |field: &FieldOffset| {
            let name = metadata.field(field.token).ok()?.0;
            Some(Field { offset: field.offset, name })
        };
        say(FromAgent::Layout(Layout {
            id: class.0 as u64,
            size,
            move_next: metadata.action(known.token, "MoveNext").map_or(0, |Token(token)| token),
            fields: room.iter().take(count).filter_map(field).collect(),
        }))?;
    }
    Ok((left_out, Pause::default()))
}
