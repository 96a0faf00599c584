//! What keeps objects alive from outside the heap.

use std::collections::HashMap;

use crate::ids::{NodeId, RootId, as_index, as_u32};

/// The kind of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RootKind {
    /// A static field.
    StaticField,
    /// A static field of which each thread has its own.
    ThreadStaticField,
    /// A local variable or an argument on a thread's stack, or a register.
    Local,
    /// A local that also pins its object (`fixed`).
    PinnedLocal,
    /// The queue of objects that wait for their finalizer.
    Finalizer,
    /// A `GCHandle` or a handle of the runtime.
    StrongHandle,
    /// A handle that keeps its object in place.
    PinnedHandle,
    /// A handle that is strong while native code counts references (COM).
    RefCounted,
    /// The value of a dependent handle (`ConditionalWeakTable`) whose key is not known.
    DependentHandle,
    /// A sized reference handle (caches).
    SizedRefHandle,
    /// An older generation, in a graph of a partial collection.
    OlderGeneration,
    /// Anything else.
    Other,
}

impl RootKind {
    /// Every kind, in order.
    pub const ALL: [RootKind; 12] = [
        RootKind::StaticField,
        RootKind::ThreadStaticField,
        RootKind::Local,
        RootKind::PinnedLocal,
        RootKind::Finalizer,
        RootKind::StrongHandle,
        RootKind::PinnedHandle,
        RootKind::RefCounted,
        RootKind::DependentHandle,
        RootKind::SizedRefHandle,
        RootKind::OlderGeneration,
        RootKind::Other,
    ];

    /// The kind that the runtime's `GCBulkRootEdge` event means with its kind and flags; `None` for a weak
    /// handle, which keeps nothing alive.
    pub fn from_event(kind: u8, flags: u32) -> Option<RootKind> {
        const PINNING: u32 = 1;
        const WEAK: u32 = 2;
        const REF_COUNTED: u32 = 8;
        if flags & WEAK != 0 {
            return None;
        }
        let pins = flags & PINNING != 0;
        Some(match kind {
            0 if pins => RootKind::PinnedLocal,
            0 => RootKind::Local,
            _ if flags & REF_COUNTED != 0 => RootKind::RefCounted,
            1 => RootKind::Finalizer,
            2 if pins => RootKind::PinnedHandle,
            2 => RootKind::StrongHandle,
            3 => RootKind::OlderGeneration,
            4 => RootKind::SizedRefHandle,
            _ => RootKind::Other,
        })
    }

    /// A few words for people.
    pub fn label(self) -> &'static str {
        match self {
            RootKind::StaticField => "static field",
            RootKind::ThreadStaticField => "thread-static field",
            RootKind::Local => "local variable",
            RootKind::PinnedLocal => "pinned local variable",
            RootKind::Finalizer => "finalizer queue",
            RootKind::StrongHandle => "strong handle",
            RootKind::PinnedHandle => "pinned handle",
            RootKind::RefCounted => "COM reference",
            RootKind::DependentHandle => "dependent handle",
            RootKind::SizedRefHandle => "sized-reference handle",
            RootKind::OlderGeneration => "older generation",
            RootKind::Other => "other root",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// One holder of objects: all roots of the same kind and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root<'a> {
    /// Its kind.
    pub kind: RootKind,
    /// Its name when one is known: `Namespace.Type.field` of a static field.
    pub name: Option<&'a str>,
    pub(crate) targets: &'a [u32],
}

impl<'a> Root<'a> {
    /// The objects it holds. An object held twice, by two handles of the same kind, comes twice.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = NodeId> + use<'a> {
        self.targets.iter().map(|&target| NodeId(target))
    }
}

/// All roots, ordered by kind and name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Roots {
    holders: Vec<(RootKind, Option<Box<str>>)>,
    /// Where each holder's targets start; one more than holders.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Roots {
    pub(crate) fn len(&self) -> usize {
        self.holders.len()
    }

    pub(crate) fn get(&self, id: RootId) -> Root<'_> {
        let (kind, name) = &self.holders[id.index()];
        let range = as_index(self.starts[id.index()])..as_index(self.starts[id.index() + 1]);
        Root { kind: *kind, name: name.as_deref(), targets: &self.targets[range] }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (RootId, Root<'_>)> {
        (0..self.len()).map(RootId::from_index).map(|id| (id, self.get(id)))
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.targets.len()
    }
}

/// Collects roots in any order; a target is a `T` until [`resolve`](RootsBuilder::resolve) makes it an object.
#[derive(Debug)]
pub(crate) struct RootsBuilder<T> {
    known: HashMap<(RootKind, Option<Box<str>>), u32>,
    edges: Vec<(u32, T)>,
}

impl<T: Copy> RootsBuilder<T> {
    pub(crate) fn new() -> RootsBuilder<T> {
        RootsBuilder { known: HashMap::new(), edges: Vec::new() }
    }

    pub(crate) fn push(&mut self, kind: RootKind, name: Option<&str>, target: T) {
        let next = as_u32(self.known.len());
        let holder = *self.known.entry((kind, name.map(Box::from))).or_insert(next);
        self.edges.push((holder, target));
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// Orders the holders and makes objects of the targets. Gives also the number of targets that are none;
    /// a holder that is left with no object is left out.
    pub(crate) fn resolve(self, mut object_of: impl FnMut(T) -> Option<u32>) -> (Roots, u64) {
        let mut edges: Vec<(u32, u32)> = Vec::with_capacity(self.edges.len());
        let mut lost = 0;
        for (holder, target) in self.edges {
            match object_of(target) {
                Some(object) => edges.push((holder, object)),
                None => lost += 1,
            }
        }
        let mut counts = vec![0_u32; self.known.len()];
        edges.iter().for_each(|&(holder, _)| counts[as_index(holder)] += 1);
        let mut named: Vec<_> = self.known.into_iter().filter(|(_, at)| counts[as_index(*at)] > 0).collect();
        named.sort();
        let mut roots = Roots { starts: vec![0], targets: vec![0; edges.len()], ..Roots::default() };
        let mut cursors = vec![0_u32; counts.len()];
        let mut end = 0;
        for (holder, at) in named {
            cursors[as_index(at)] = end;
            end += counts[as_index(at)];
            roots.holders.push(holder);
            roots.starts.push(end);
        }
        for (holder, object) in edges {
            let cursor = &mut cursors[as_index(holder)];
            roots.targets[as_index(*cursor)] = object;
            *cursor += 1;
        }
        (roots, lost)
    }
}
