//! All stacks laid over each other.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::profile::{FrameId, Profile, Sample};
use crate::table::StackKey;

/// A frame under its callers, with what it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallNode {
    /// The place of its caller in [`CallTree::nodes`]; none for the outermost frame.
    pub caller: Option<u32>,
    /// What it is.
    pub frame: FrameId,
    /// The weight of samples that ended here.
    pub own: u64,
    /// The same with all it called.
    pub total: u64,
}

/// Samples merged by the frames of their stacks.
#[derive(Debug, Default)]
pub struct CallTree {
    /// The nodes; a caller stands before its callees, and no two have the same caller and frame.
    pub nodes: Vec<CallNode>,
    /// The weight of samples without a stack.
    pub without_stack: u64,
}

impl CallTree {
    /// Lays the stacks of some samples of a profile over each other.
    pub fn new<'a>(profile: &Profile, samples: impl IntoIterator<Item = &'a Sample>) -> CallTree {
        let mut weights = HashMap::<StackKey, u64, RandomState>::default();
        let mut tree = CallTree::default();
        for sample in samples {
            match sample.stack.filter(|stack| (stack.0 as usize) < profile.nodes.len()) {
                Some(stack) => {
                    let weight = weights.entry(stack).or_default();
                    *weight = weight.saturating_add(sample.weight);
                }
                None => tree.without_stack = tree.without_stack.saturating_add(sample.weight),
            }
        }
        // In the order of the profile, so that the same profile always gives the same tree.
        let mut weights: Vec<(StackKey, u64)> = weights.into_iter().collect();
        weights.sort_unstable();
        let mut growing = Growing { profile, tree, known: HashMap::default(), children: HashMap::default() };
        for (stack, weight) in weights {
            growing.add(stack, weight);
        }
        let mut tree = growing.tree;
        tree.sum_up();
        tree
    }

    /// The weight of everything.
    #[must_use]
    pub fn total(&self) -> u64 {
        let outermost = self.nodes.iter().filter(|node| node.caller.is_none());
        outermost.fold(self.without_stack, |sum, node| sum.saturating_add(node.total))
    }

    /// The frames from a node outwards.
    pub fn path(&self, node: u32) -> impl Iterator<Item = FrameId> + '_ {
        let mut next = Some(node);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next? as usize)?;
            next = node.caller;
            Some(node.frame)
        })
    }

    fn sum_up(&mut self) {
        for node in &mut self.nodes {
            node.total = node.own;
        }
        for place in (0..self.nodes.len()).rev() {
            let CallNode { caller, total, .. } = self.nodes[place];
            if let Some(caller) = caller.and_then(|caller| self.nodes.get_mut(caller as usize)) {
                caller.total = caller.total.saturating_add(total);
            }
        }
    }
}

/// A tree to which stacks are added.
struct Growing<'a> {
    profile: &'a Profile,
    tree: CallTree,
    /// Which node of the tree stands for a stack of the profile.
    known: HashMap<StackKey, u32, RandomState>,
    children: HashMap<(Option<u32>, FrameId), u32, RandomState>,
}

impl Growing<'_> {
    fn add(&mut self, stack: StackKey, weight: u64) {
        // Outwards until something is known, then inwards again.
        let mut path = Vec::new();
        let mut caller = None;
        let mut next = Some(stack);
        while let Some(key) = next {
            if let Some(node) = self.known.get(&key) {
                caller = Some(*node);
                break;
            }
            let Some(node) = self.profile.nodes.get(key.0 as usize) else { break };
            path.push((key, node.frame));
            next = node.caller;
        }
        for (key, frame) in path.into_iter().rev() {
            let nodes = &mut self.tree.nodes;
            let node = *self.children.entry((caller, frame)).or_insert_with(|| {
                nodes.push(CallNode { caller, frame, own: 0, total: 0 });
                // A tree has no more nodes than its profile, whose nodes have numbers of 32 bits.
                u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
            });
            self.known.insert(key, node);
            caller = Some(node);
        }
        if let Some(node) = caller.and_then(|node| self.tree.nodes.get_mut(node as usize)) {
            node.own = node.own.saturating_add(weight);
        }
    }
}
