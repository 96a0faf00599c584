//! Which instruction stands for which IL.

use runtime_events::jit::{IlOffset, IlToNativeMap};

/// So many entries are kept, whatever a target sends; a busy server has a few hundred thousand.
const MAX_ENTRIES: usize = 16 << 20;

/// Code that stands for no IL: what was before it goes on.
const NO_IL: u32 = u32::MAX;

/// The map of one piece of code: a part of [`IlMaps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IlMap {
    from: u32,
    count: u32,
}

/// The maps of all code, one behind the other.
#[derive(Clone, Default)]
pub(crate) struct IlMaps {
    /// Distance from the start of the code, and the IL.
    entries: Vec<(u32, u32)>,
    dropped: u64,
}

impl IlMaps {
    /// Keeps a map; none if it is empty or there is no room.
    pub(crate) fn add(&mut self, map: &IlToNativeMap<'_>) -> Option<IlMap> {
        if map.is_empty() || self.entries.len() + map.len() > MAX_ENTRIES {
            self.dropped += u64::from(!map.is_empty());
            return None;
        }
        let from = self.entries.len();
        self.entries.extend(map.entries().map(|(il, native)| {
            let il = match il {
                IlOffset::Bytes(offset) => offset,
                IlOffset::Prolog => 0,
                _ => NO_IL,
            };
            (native, il)
        }));
        if let Some(new) = self.entries.get_mut(from..) {
            // Of two at one instruction the later IL is what it does, and IL comes before none.
            new.sort_unstable_by_key(|(native, il)| (*native, il.wrapping_add(1)));
        }
        Some(IlMap { from: u32::try_from(from).ok()?, count: u32::try_from(map.len()).ok()? })
    }

    /// Gives back the room of a map that is not wanted, if it is the last.
    pub(crate) fn remove(&mut self, map: IlMap) {
        if map.from as usize + map.count as usize == self.entries.len() {
            self.entries.truncate(map.from as usize);
        }
    }

    /// The IL at a distance from the start of the code.
    pub(crate) fn il_at(&self, map: IlMap, native: u32) -> Option<u32> {
        let entries = self.entries.get(map.from as usize..)?.get(..map.count as usize)?;
        let behind = entries.partition_point(|entry| entry.0 <= native);
        entries[..behind].iter().rev().map(|entry| entry.1).find(|il| *il != NO_IL)
    }

    /// Maps there was no room for.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }
}
