//! Looking up what was learned.

use model::Frame;
use nettrace::CodeAddress;
use runtime_events::{MethodId, ModuleId};

use super::{CodeMap, Naming};
use crate::il_maps::IlMap;
use crate::method::{Code, MethodIndex, MethodKind, MethodRef, Module, Position};
use crate::text::TextId;

/// How far before an address its method is looked for when pieces of code overlap. A program that makes code all the time
/// uses one place again and again.
const MAX_OVERLAPS: usize = 512;

/// Code that is known by its entry point alone is taken to be no longer than this.
const ENTRY_POINT_REACH: u64 = 16 << 10;

/// Code in its place in memory.
#[derive(Clone, Copy)]
pub(super) struct Settled {
    start: u64,
    /// The furthest end of this and all code before it.
    furthest: u64,
    index: MethodIndex,
}

/// Those that begin at an address or before it.
fn up_to(settled: &[Settled], address: u64) -> &[Settled] {
    &settled[..settled.partition_point(|one| one.start <= address)]
}

impl CodeMap {
    /// Makes the map ready for look-ups; to be called again after more was learned.
    pub fn settle(&mut self) {
        if !std::mem::take(&mut self.unsettled) {
            return;
        }
        let (mut entries, mut others): (Vec<Settled>, Vec<Settled>) = (0..)
            .zip(&self.code)
            .map(|(index, code)| Settled {
                start: code.start,
                furthest: code.end(),
                index: MethodIndex(index),
            })
            .partition(|one| self.get(one.index).is_some_and(|one| one.kind() == MethodKind::EntryPoint));
        entries.sort_by_key(|one| one.start);
        others.sort_by_key(|one| one.start);
        let mut furthest = 0;
        for one in &mut others {
            furthest = furthest.max(one.furthest);
            one.furthest = furthest;
        }
        (self.by_start, self.entry_points) = (others, entries);
    }

    /// The frame of the innermost address of a stack; none if no method is known there.
    #[must_use]
    pub fn frame(&self, address: CodeAddress) -> Option<Frame> {
        Some(self.method(address)?.frame())
    }

    /// The frame of any other address of a stack, which is where a call returns to.
    #[must_use]
    pub fn caller_frame(&self, address: CodeAddress) -> Option<Frame> {
        Some(self.method_for(address, Position::Caller)?.frame())
    }

    /// The method whose code is at an address; of several that were there, the one loaded last.
    #[must_use]
    pub fn method(&self, address: CodeAddress) -> Option<MethodRef<'_>> {
        self.method_for(address, Position::Interrupted)
    }

    /// The same for an address that may be the one behind a call, with which a method may end.
    #[must_use]
    pub fn method_for(&self, address: CodeAddress, position: Position) -> Option<MethodRef<'_>> {
        self.find(position.byte(address), |_| true).or_else(|| self.by_entry_point(position.byte(address)))
    }

    /// The method that was at an address at a moment, in nanoseconds of the trace. It needs [`CodeMap::learn_at`].
    #[must_use]
    pub fn method_at(&self, address: CodeAddress, position: Position, at_ns: u64) -> Option<MethodRef<'_>> {
        let there = |code: &Code| code.from_ns <= at_ns && at_ns < code.until_ns;
        self.find(position.byte(address), there).or_else(|| self.method_for(address, position))
    }

    /// All methods that were at an address, one after the other: more than one if code was unloaded and its place used
    /// again.
    pub fn methods_over(
        &self,
        address: CodeAddress,
        position: Position,
    ) -> impl Iterator<Item = MethodRef<'_>> {
        self.over(position.byte(address))
    }

    /// The frame at an address at a moment: see [`CodeMap::method_at`].
    #[must_use]
    pub fn frame_at(&self, address: CodeAddress, position: Position, at_ns: u64) -> Option<Frame> {
        Some(self.method_at(address, position, at_ns)?.frame())
    }

    fn over(&self, address: u64) -> impl Iterator<Item = MethodRef<'_>> {
        debug_assert!(!self.unsettled, "settle() comes before look-ups");
        up_to(&self.by_start, address)
            .iter()
            .rev()
            .take(MAX_OVERLAPS)
            .take_while(move |one| address < one.furthest)
            .filter_map(|one| self.get(one.index))
            .filter(move |method| address < method.code.end())
    }

    fn find(&self, address: u64, wanted: impl Fn(&Code) -> bool) -> Option<MethodRef<'_>> {
        self.over(address)
            .filter(|method| wanted(method.code))
            .max_by_key(|method| (method.code.until_ns == u64::MAX, method.code.from_ns, method.index))
    }

    /// The entry point before an address, if no other code lies between them.
    fn by_entry_point(&self, address: u64) -> Option<MethodRef<'_>> {
        let entry = up_to(&self.entry_points, address).last()?;
        let nearest = up_to(&self.by_start, address).last().map_or(0, |one| one.start);
        let is_near = nearest < entry.start && address - entry.start < ENTRY_POINT_REACH;
        self.get(entry.index).filter(|_| is_near)
    }

    /// A method by its index.
    #[must_use]
    pub fn get(&self, index: MethodIndex) -> Option<MethodRef<'_>> {
        self.code.get(index.0 as usize).map(|code| MethodRef { map: self, code, index })
    }

    /// The code of a method that was told of last, by the runtime's id of the method.
    #[must_use]
    pub fn by_id(&self, id: MethodId) -> Option<MethodRef<'_>> {
        self.latest.get(&id).and_then(|index| self.get(MethodIndex(*index)))
    }

    /// All methods, in the order in which they were told of.
    pub fn methods(&self) -> impl Iterator<Item = MethodRef<'_>> {
        (0..).map_while(|index| self.get(MethodIndex(index)))
    }

    /// The path of a module, as the target sees it; of a module without a file, its name.
    #[must_use]
    pub fn module_path(&self, id: ModuleId) -> Option<&str> {
        self.module(id).map(|module| module.path.as_str())
    }

    /// How much is known.
    #[must_use]
    pub fn naming(&self) -> Naming {
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Naming {
            methods: count(self.code.len()),
            with_il_map: count(self.code.iter().filter(|code| code.map.is_some()).count()),
            modules: count(self.modules.len()),
            dropped: self.dropped.saturating_add(self.maps.dropped()),
        }
    }

    pub(crate) fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(&id).filter(|module| !module.path.is_empty())
    }

    pub(crate) fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    pub(crate) fn il_at(&self, map: IlMap, native: u32) -> Option<u32> {
        self.maps.il_at(map, native)
    }
}

impl Position {
    /// The byte that tells what ran.
    fn byte(self, address: CodeAddress) -> u64 {
        match self {
            Position::Interrupted => address.0,
            Position::Caller => address.0.saturating_sub(1),
        }
    }
}
