//! Where objects hang, over several looks.
//!
//! ```text
//!                                  first look    last look
//!  static Shop.OrderHistory.s_orders
//!  └─ List<Order>                           1            1
//!     └─ Order[]                            1            1     <- the collection
//!        └─ Order                         900        4,200     <- what is added: the topmost place that grows
//!           └─ Byte[]                     900        4,200
//! ```
//! Objects move between looks and have no name of their own, but their places have: a root and the types passed.

use std::collections::HashMap;

use heap_graph::{At, HeapGraph, NodeId, PathTree, RootKind, Totals};

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum What {
    Root { kind: RootKind, name: Option<Box<str>> },
    Type(Box<str>),
}

/// What one look saw at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The objects there.
    pub(super) own: Totals,
    /// Their bytes and those of all below them.
    pub(super) with_below: u64,
}

/// A place that any look saw.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) above: Option<usize>,
    pub(super) what: What,
    pub(super) below: Vec<usize>,
    pub(super) repeats: bool,
    /// By look.
    pub(super) seen: Vec<Seen>,
    /// The module of the type there.
    pub(super) module: Option<Box<str>>,
    /// An object that the last look saw there.
    pub(super) example: Option<NodeId>,
}

impl Place {
    /// How many objects more the last look saw than the first.
    pub(super) fn more_objects(&self) -> u64 {
        let at = |seen: Option<&Seen>| seen.map_or(0, |seen| seen.own.objects);
        at(self.seen.last()).saturating_sub(at(self.seen.first()))
    }

    /// How many bytes more the objects there have themselves.
    pub(super) fn more_own_bytes(&self) -> u64 {
        let at = |seen: Option<&Seen>| seen.map_or(0, |seen| seen.own.bytes);
        at(self.seen.last()).saturating_sub(at(self.seen.first()))
    }

    /// How many bytes more hang there.
    pub(super) fn more_bytes(&self) -> u64 {
        let at = |seen: Option<&Seen>| seen.map_or(0, |seen| seen.with_below);
        at(self.seen.last()).saturating_sub(at(self.seen.first()))
    }

    /// Whether every look saw more there than the one before it.
    pub(super) fn rises(&self) -> bool {
        self.seen.windows(2).all(|pair| pair[1].with_below > pair[0].with_below)
    }

    /// The name of the type there; empty for a root.
    pub(super) fn type_name(&self) -> &str {
        match &self.what {
            What::Type(name) => name,
            What::Root { .. } => "",
        }
    }
}

/// All places of all looks.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) all: Vec<Place>,
    pub(super) roots: Vec<usize>,
    known: HashMap<(Option<usize>, What), usize>,
    looks: usize,
}

impl Places {
    /// Adds what a look saw.
    pub(super) fn add(&mut self, graph: &HeapGraph, tree: &PathTree) {
        let look = self.looks;
        self.looks += 1;
        for place in &mut self.all {
            place.seen.push(Seen::default());
            // Objects of an earlier look mean nothing in this one.
            place.example = None;
        }
        let mut here = Vec::with_capacity(tree.places.len());
        for place in &tree.places {
            let above = place.above.map(|above| here[above]);
            let (what, module) = match place.at {
                At::Root(id) => {
                    let root = graph.root(id);
                    (What::Root { kind: root.kind, name: root.name.map(Box::from) }, None)
                }
                At::Type(id) => {
                    let info = graph.type_info(id);
                    (What::Type(info.name.clone()), info.module.clone())
                }
            };
            let index = self.place(above, what);
            here.push(index);
            let found = &mut self.all[index];
            let seen = &mut found.seen[look];
            seen.own.objects += place.own.objects;
            seen.own.bytes = seen.own.bytes.saturating_add(place.own.bytes);
            seen.with_below = seen.with_below.saturating_add(place.with_below);
            found.repeats |= place.repeats;
            found.example = found.example.or(place.example);
            found.module = found.module.take().or(module);
        }
    }

    fn place(&mut self, above: Option<usize>, what: What) -> usize {
        let next = self.all.len();
        let index = *self.known.entry((above, what.clone())).or_insert(next);
        if index == next {
            let seen = vec![Seen::default(); self.looks];
            self.all.push(Place {
                above,
                what,
                below: Vec::new(),
                repeats: false,
                seen,
                module: None,
                example: None,
            });
            match above {
                Some(above) => self.all[above].below.push(next),
                None => self.roots.push(next),
            }
        }
        index
    }

    /// The places from a root to one, both included.
    pub(super) fn way(&self, to: usize) -> Vec<usize> {
        let mut way = vec![to];
        let mut at = to;
        while let Some(above) = self.all[at].above {
            way.push(above);
            at = above;
        }
        way.reverse();
        way
    }
}
