//! Which nodes of a file are no objects: those that stand for roots, and the rests of huge objects.

use std::collections::HashMap;

use super::memory_graph::RawGraph;
use super::names::{Meaning, is_made_up, meaning};
use super::{MAX_SIZE, PART};
use crate::ids::as_index;
use crate::roots::{RootKind, RootsBuilder};

/// What was found beside the objects.
pub(super) struct Pseudo {
    /// By node: whether it is made up.
    pub(super) made_up: Vec<bool>,
    /// The roots, with nodes as the file numbers them.
    pub(super) roots: RootsBuilder<u32>,
    /// By node: bytes to add to an object's size.
    pub(super) more_bytes: HashMap<u32, u64>,
    /// Objects at the largest size of the format, whose true size may be above.
    pub(super) clipped: u64,
}

impl Pseudo {
    pub(super) fn find(raw: &RawGraph) -> Pseudo {
        let mut pseudo = Pseudo {
            made_up: vec![false; raw.node_types.len()],
            roots: RootsBuilder::new(),
            more_bytes: HashMap::new(),
            clipped: 0,
        };
        pseudo.find_parts(raw);
        pseudo.find_roots(raw);
        pseudo
    }

    fn find_parts(&mut self, raw: &RawGraph) {
        let largest = |node: u32| u64::from(raw.sizes[as_index(node)]) == MAX_SIZE;
        for (node, _) in (0_u32..).zip(&raw.sizes).filter(|&(_, &size)| u64::from(size) == MAX_SIZE) {
            let is_part = |node: u32| {
                raw.addresses[as_index(node)] == 0
                    && raw.type_name(node) == PART
                    && raw.children(node).is_empty()
            };
            if is_part(node) {
                continue;
            }
            let mut more = 0_u64;
            for &child in raw.children(node).iter().filter(|&&child| is_part(child)) {
                if !std::mem::replace(&mut self.made_up[as_index(child)], true) {
                    more += u64::from(raw.sizes[as_index(child)]);
                }
            }
            if more > 0 {
                self.more_bytes.insert(node, more);
            } else {
                self.clipped += u64::from(largest(node));
            }
        }
    }

    fn find_roots(&mut self, raw: &RawGraph) {
        let Some(top) = raw.root else { return };
        let no_object = |node: u32| raw.addresses[as_index(node)] == 0 && is_made_up(raw.type_name(node));
        if !no_object(top) {
            self.roots.push(RootKind::Other, None, top);
            return;
        }
        self.made_up[as_index(top)] = true;
        // A node, the kind of the group around its children, and their root's name. The walk ends even when
        // made-up nodes form a ring: each is taken once.
        let mut open: Vec<(u32, Option<RootKind>, Option<&str>)> = vec![(top, None, None)];
        while let Some((node, kind, name)) = open.pop() {
            for &child in raw.children(node) {
                if !no_object(child) {
                    if !self.made_up[as_index(child)] {
                        self.roots.push(kind.unwrap_or(RootKind::Other), name, child);
                    }
                } else if !std::mem::replace(&mut self.made_up[as_index(child)], true) {
                    open.push(match meaning(raw.type_name(child)) {
                        Meaning::Group(group) => (child, Some(group), None),
                        Meaning::Named(name, usual) => (child, Some(kind.unwrap_or(usual)), Some(name)),
                    });
                }
            }
        }
    }
}
