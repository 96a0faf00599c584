//! All async methods that are not finished, and who awaits them, from a walk of the heap (9 and newer).
//!
//! Kept during an answer: at most [`MOST_PATHS`] chains of awaits, 2 MB.

use std::collections::HashMap;
use std::time::Duration;

use agent_wire::{Class, Fault, FromAgent, LONGEST_CHAIN, Pause, Pending, Stage};
use clr_profiling::{ClassId, HResult, Info, Walk};

use super::known::TypeToTell;
use crate::answers::{self, Refusal};
use crate::line::Silence;
use crate::visit::Visit;

/// Most different chains.
const MOST_PATHS: usize = 4096;
/// A larger heap is not walked to its end.
const LONGEST: Duration = Duration::from_millis(100);
/// Objects between two looks at the clock.
const CLOCK: u32 = 4096;
/// Places to remember what a type is; a power of two.
const REMEMBERED: usize = 4096;

/// What was seen.
pub(crate) struct Census {
    paths: HashMap<Vec<u64>, u32>,
    types: Vec<TypeToTell>,
    cut: bool,
    pause: Pause,
}

pub(crate) fn census(visit: &Visit) -> Result<Census, Refusal> {
    let mut known = visit.async_methods.lock();
    known.make_room();
    let mut paths: HashMap<Vec<u64>, u32> = HashMap::with_capacity(MOST_PATHS);
    let mut links = Vec::with_capacity(LONGEST_CHAIN);
    let mut remembered = vec![(ClassId(0), false); REMEMBERED];
    let (mut cut, mut seen, mut walked) = (false, 0u32, Ok(()));
    let answer = answers::suspended(visit, |suspended, _, _| {
        walked = suspended.heap(|object| {
            let class = object.class();
            assert!(visit.fault != Some(Fault::Object), "a fault that was asked for");
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(CLOCK) && suspended.elapsed() > LONGEST {
                cut = true;
                return Walk::Enough;
            }
            let Some(place) = remembered.get_mut((class.0 >> 3) & (REMEMBERED - 1)) else { return Walk::On };
            if place.0 != class {
                *place = (class, known.is_box(suspended, class));
            }
            if !place.1 {
                return Walk::On;
            }
            links.clear();
            let object = (object.id().0 as u64, class.0 as u64);
            if known.is_finished(suspended, object) {
                return Walk::On;
            }
            known.follow(suspended, object, &mut links);
            if let Some(count) = paths.get_mut(&links) {
                *count = count.saturating_add(1);
            } else if paths.len() < MOST_PATHS {
                paths.insert(links.clone(), 1);
            } else {
                cut = true;
            }
            Walk::On
        });
        known.look_up(suspended, &visit.info);
    })?;
    walked.map_err(|code: HResult| Refusal { stage: Stage::Threads, code })?;
    let (_, pause) = answer.end();
    known.learn(&visit.info);
    let (_, types) = known.news();
    Ok(Census { paths, types, cut, pause })
}

impl Census {
    /// Sends it, in parts.
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        for (links, count) in &self.paths {
            say(FromAgent::Pending(Pending { count: *count, links: links.clone() }))?;
        }
        for told in &self.types {
            say(FromAgent::Class(told.class(info)))?;
        }
        say(FromAgent::Answered { left_out: self.cut.into(), pause: self.pause })
    }
}

impl TypeToTell {
    /// As it is told.
    pub(super) fn class(&self, info: &Info) -> Class {
        Class { id: self.id, token: self.token.0, module: self.file.clone(), name: self.name(info) }
    }
}
