//! Stacks of addresses, each kept once.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use model::Frame;
use nettrace::CodeAddress;

use crate::profile::{FrameId, StackNode};

/// A stack in a [`StackTable`], and the node of the same number in the [`Profile`](crate::Profile) made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackKey(pub u32);

/// A frame by its address, under its caller.
type Node = (Option<StackKey>, CodeAddress);

/// Stacks as a tree from the outermost frame inwards: what two stacks have in common is kept once.
#[derive(Debug, Default)]
pub struct StackTable {
    /// Caller and address of each node; a node comes after its caller.
    nodes: Vec<Node>,
    /// Numbers of nodes by what they are. It holds the numbers only, since traces have up to millions of nodes.
    index: HashTable<u32>,
    hasher: RandomState,
}

impl StackTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> StackTable {
        StackTable::default()
    }

    /// The key of a stack, whose frames are given innermost first; none if it has no frame, or if the table has
    /// four billion nodes.
    pub fn intern(&mut self, frames: impl DoubleEndedIterator<Item = CodeAddress>) -> Option<StackKey> {
        let mut caller = None;
        for address in frames.rev() {
            caller = Some(self.child(caller, address)?);
        }
        caller
    }

    /// The key of a stack with one more frame, called by `caller`; none if the table has four billion nodes.
    pub fn child(&mut self, caller: Option<StackKey>, address: CodeAddress) -> Option<StackKey> {
        let StackTable { nodes, index, hasher } = self;
        let node = (caller, address);
        let is_it = |number: &u32| nodes.get(*number as usize) == Some(&node);
        let hash = hasher.hash_one(node);
        if let Some(number) = index.find(hash, is_it) {
            return Some(StackKey(*number));
        }
        let number = u32::try_from(nodes.len()).ok()?;
        // The same hash as above: of a node, not of a reference that may be none.
        let rehash = |number: &u32| nodes.get(*number as usize).map_or(0, |node| hasher.hash_one(*node));
        index.insert_unique(hash, number, rehash);
        nodes.push(node);
        Some(StackKey(number))
    }

    /// The addresses of a stack, innermost first.
    pub fn frames(&self, stack: StackKey) -> impl Iterator<Item = CodeAddress> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let (caller, address) = self.nodes.get(next?.0 as usize)?;
            next = *caller;
            Some(*address)
        })
    }

    /// The addresses of all stacks, some of them more than once.
    pub fn addresses(&self) -> impl Iterator<Item = CodeAddress> + '_ {
        self.nodes.iter().map(|(_, address)| *address)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Gives every address its name, each once: the frames, and the nodes that refer to them. Addresses in one
    /// method get one frame; nodes are not merged, so that a [`StackKey`] stays the number of its node.
    pub fn named(&self, name: impl FnMut(CodeAddress) -> Frame) -> (Vec<Frame>, Vec<StackNode>) {
        name_nodes(&self.nodes, name)
    }

    /// Like [`named`](Self::named), for the last time: what only look-ups need is freed before names take room.
    pub fn into_named(self, name: impl FnMut(CodeAddress) -> Frame) -> (Vec<Frame>, Vec<StackNode>) {
        drop(self.index);
        name_nodes(&self.nodes, name)
    }
}

fn name_nodes(nodes: &[Node], mut name: impl FnMut(CodeAddress) -> Frame) -> (Vec<Frame>, Vec<StackNode>) {
    let mut frames = Vec::new();
    let mut by_address = HashMap::<CodeAddress, FrameId, RandomState>::default();
    let mut by_text = HashMap::<(String, Option<String>, Option<u32>), FrameId, RandomState>::default();
    let nodes = nodes
        .iter()
        .map(|&(caller, address)| {
            let frame = *by_address.entry(address).or_insert_with(|| {
                let frame = name(address);
                let key = (frame.name.clone(), frame.module.clone(), frame.line);
                *by_text.entry(key).or_insert_with(|| {
                    frames.push(frame);
                    FrameId(u32::try_from(frames.len() - 1).unwrap_or(u32::MAX))
                })
            });
            StackNode { caller, frame }
        })
        .collect();
    (frames, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[u64]) -> impl DoubleEndedIterator<Item = CodeAddress> {
        frames.iter().map(|at| CodeAddress(*at)).collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn stacks_share_their_outer_frames() {
        let mut table = StackTable::new();
        let one = table.intern(stack(&[3, 2, 1])).unwrap();
        let two = table.intern(stack(&[4, 2, 1])).unwrap();
        assert_eq!(table.len(), 4);
        assert_ne!(one, two);
        assert_eq!(table.intern(stack(&[3, 2, 1])), Some(one));
        assert_eq!(table.frames(two).map(|at| at.0).collect::<Vec<_>>(), [4, 2, 1]);
        assert_eq!(table.intern(stack(&[])), None);
    }

    #[test]
    fn many_stacks_are_found_again() {
        let mut table = StackTable::new();
        let keys: Vec<_> = (0..10_000_u64).map(|leaf| table.intern(stack(&[leaf, 7])).unwrap()).collect();
        let again: Vec<_> = (0..10_000_u64).map(|leaf| table.intern(stack(&[leaf, 7])).unwrap()).collect();
        assert_eq!(keys, again);
        assert_eq!(table.len(), 10_001);
    }
}
