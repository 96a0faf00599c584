//! Stacks of addresses, each kept once.

use std::collections::HashMap;

use model::Frame;
use nettrace::CodeAddress;

use crate::profile::{FrameId, StackNode};

/// A stack in a [`StackTable`], and the node of the same number in the [`Profile`](crate::Profile) made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackKey(pub u32);

/// Stacks as a tree from the outermost frame inwards: what two stacks have in common is kept once.
#[derive(Debug, Default)]
pub struct StackTable {
    /// Caller and address of each node; a node comes after its caller.
    nodes: Vec<(Option<StackKey>, CodeAddress)>,
    index: HashMap<(Option<StackKey>, CodeAddress), StackKey>,
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
            let next = u32::try_from(self.nodes.len()).ok()?;
            caller = Some(*self.index.entry((caller, address)).or_insert_with(|| {
                self.nodes.push((caller, address));
                StackKey(next)
            }));
        }
        caller
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
    pub fn named(&self, mut name: impl FnMut(CodeAddress) -> Frame) -> (Vec<Frame>, Vec<StackNode>) {
        let mut frames = Vec::new();
        let mut by_address = HashMap::<CodeAddress, FrameId>::new();
        let mut by_text = HashMap::<(String, Option<String>, Option<u32>), FrameId>::new();
        let nodes = self
            .nodes
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_share_their_outer_frames() {
        let mut table = StackTable::new();
        let stack = |frames: &[u64]| frames.iter().map(|at| CodeAddress(*at)).collect::<Vec<_>>().into_iter();
        let one = table.intern(stack(&[3, 2, 1])).unwrap();
        let two = table.intern(stack(&[4, 2, 1])).unwrap();
        assert_eq!(table.len(), 4);
        assert_ne!(one, two);
        assert_eq!(table.intern(stack(&[3, 2, 1])), Some(one));
        assert_eq!(table.frames(two).map(|at| at.0).collect::<Vec<_>>(), [4, 2, 1]);
        assert_eq!(table.intern(stack(&[])), None);
    }
}
