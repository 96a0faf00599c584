//! Weighed stacks of methods: who called whom, and what that adds up to.

use std::collections::HashMap;

use discovery::DotnetProcess;
use model::{Cell, Column, Frame, FrameKind, Node, Tree, Unit};
use stacks::{FrameId, StackKey, StackNode, StackTable};
use symbols::CodeMap;

use crate::blame;
use crate::naming::Naming;
use crate::ratio::percent;

/// Parts of the whole below this are left out of a tree: one in a thousand.
const SMALLEST_PART: u64 = 1000;
/// Nodes of a tree at most.
const MOST_NODES: usize = 2000;
/// Deepest node of a tree; what lies deeper counts as the time of the node there.
const DEEPEST: usize = 400;

/// Where the runtime begins when it starts or stops the providers of a session.
const OUR_SESSION: &str = "System.Diagnostics.Tracing.EventPipeEventProvider.Callback";

/// A row of [`Calls::methods`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MethodId(u32);

/// Whether a tree shows the framework's inner methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framework {
    /// Of methods of the framework that call one another, only the outermost: the one that the program called.
    Fold,
    /// All.
    Show,
}

impl Framework {
    /// By the word of a setting.
    pub(crate) fn of(word: &str) -> Framework {
        if word == "show" { Framework::Show } else { Framework::Fold }
    }
}

/// A method, wherever in it a stack was seen.
pub(crate) struct Method {
    pub(crate) name: String,
    pub(crate) own: bool,
}

/// Stacks with names.
#[derive(Default)]
pub(crate) struct Calls {
    frames: Vec<Frame>,
    nodes: Vec<StackNode>,
    methods: Vec<Method>,
    /// The method of each frame.
    method_of: Vec<MethodId>,
}

/// What a method took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// In the method itself.
    pub(crate) itself: u64,
    /// In it and in what it calls.
    pub(crate) total: u64,
}

impl Calls {
    /// The stacks of a session of this process, with names.
    pub(crate) fn named(stacks: &StackTable, code: &CodeMap, process: &DotnetProcess) -> Calls {
        let naming = Naming::of(process);
        let (frames, nodes) = stacks.named(|address| naming.frame(code, address));
        Calls::new(frames, nodes)
    }

    /// Frames and nodes as [`stacks::StackTable::named`] gives them.
    pub(crate) fn new(frames: Vec<Frame>, nodes: Vec<StackNode>) -> Calls {
        let mut methods = Vec::new();
        let mut known = HashMap::<(&str, Option<&str>), MethodId>::new();
        let mut method_of = Vec::with_capacity(frames.len());
        for frame in &frames {
            // Frames differ by line; the method is the same.
            let method = *known.entry((&frame.name, frame.module.as_deref())).or_insert_with(|| {
                methods.push(Method { name: frame.name.clone(), own: blame::is_own(frame) });
                MethodId(u32::try_from(methods.len() - 1).unwrap_or(u32::MAX))
            });
            method_of.push(method);
        }
        drop(known);
        Calls { frames, nodes, methods, method_of }
    }

    pub(crate) fn method(&self, method: MethodId) -> Option<&Method> {
        self.methods.get(method.0 as usize)
    }

    pub(crate) fn method_name(&self, method: MethodId) -> &str {
        self.method(method).map_or("?", |method| method.name.as_str())
    }

    fn frame_method(&self, frame: FrameId) -> Option<MethodId> {
        self.method_of.get(frame.0 as usize).copied()
    }

    /// The frames of a stack, innermost first.
    pub(crate) fn frames(&self, stack: StackKey) -> impl Iterator<Item = (MethodId, &Frame)> + '_ {
        let mut next = Some(stack);
        std::iter::from_fn(move || {
            let node = self.nodes.get(next?.0 as usize)?;
            next = node.caller;
            Some((self.frame_method(node.frame)?, self.frames.get(node.frame.0 as usize)?))
        })
    }

    /// The innermost frame of the program's own code.
    pub(crate) fn own_frame(&self, stack: StackKey) -> Option<(MethodId, &Frame)> {
        self.frames(stack).find(|(method, _)| self.method(*method).is_some_and(|method| method.own))
    }

    /// The frame to name for a stack: the innermost of the program's own code, or else of .NET, or else the innermost.
    pub(crate) fn named_frame(&self, stack: StackKey) -> Option<(MethodId, &Frame)> {
        self.own_frame(stack)
            .or_else(|| self.frames(stack).find(|(_, frame)| frame.kind == FrameKind::Managed))
            .or_else(|| self.frames(stack).next())
    }

    /// Whether there are stacks, but none with a name: a process that is killed does not send them.
    pub(crate) fn is_nameless(&self) -> bool {
        !self.methods.is_empty() && self.methods.iter().all(|method| method.name == blame::UNNAMED)
    }

    /// Whether a stack is what the runtime does to begin or end our own session.
    pub(crate) fn is_ours(&self, stack: StackKey) -> bool {
        let managed = self.frames(stack).filter(|(_, frame)| frame.kind == FrameKind::Managed);
        managed.last().is_some_and(|(method, _)| self.method_name(method) == OUR_SESSION)
    }

    /// What each method took; one that calls itself is counted once.
    pub(crate) fn spent<'a>(
        &self,
        weighed: impl IntoIterator<Item = (&'a StackKey, &'a u64)>,
    ) -> HashMap<MethodId, Spent> {
        let mut spent = HashMap::<MethodId, Spent>::new();
        let mut counted = Vec::new();
        for (stack, weight) in weighed {
            counted.clear();
            for (depth, (method, _)) in self.frames(*stack).enumerate() {
                let spent = spent.entry(method).or_default();
                if depth == 0 {
                    spent.itself += weight;
                }
                if !counted.contains(&method) {
                    counted.push(method);
                    spent.total += weight;
                }
            }
        }
        spent
    }

    /// The call tree, heaviest first: what a flame graph is drawn from. Small parts are left out.
    pub(crate) fn tree<'a>(
        &self,
        weighed: impl IntoIterator<Item = (&'a StackKey, &'a u64)>,
        unit: Unit,
        framework: Framework,
    ) -> Tree {
        let mut growing = Growing::default();
        let mut path = Vec::new();
        for (stack, weight) in weighed.into_iter().filter(|(_, weight)| **weight > 0) {
            path.clear();
            path.extend(self.frames(*stack).map(|(method, _)| method));
            path.reverse();
            if framework == Framework::Fold {
                let is_own = |method: &MethodId| self.method(*method).is_some_and(|method| method.own);
                path.dedup_by(|inner, outer| !is_own(inner) && !is_own(outer));
            }
            path.truncate(DEEPEST);
            growing.add(&path, *weight);
        }
        let whole: u64 = growing.roots.iter().map(|root| growing.nodes[*root].spent.total).sum();
        let least = growing.least_of_the_heaviest(MOST_NODES).max(whole / SMALLEST_PART).max(1);
        let columns = vec![
            Column::new("share", "Share", Unit::Percent),
            Column::new("total", "Total", unit),
            Column::new("self", "Self", unit),
        ];
        Tree { columns, roots: growing.harvest(&growing.roots, least, whole, self) }
    }
}

struct Branch {
    method: MethodId,
    spent: Spent,
    children: Vec<usize>,
}

#[derive(Default)]
struct Growing {
    nodes: Vec<Branch>,
    roots: Vec<usize>,
    index: HashMap<(Option<usize>, MethodId), usize>,
}

impl Growing {
    fn add(&mut self, path: &[MethodId], weight: u64) {
        let mut above = None;
        for method in path {
            let at = *self.index.entry((above, *method)).or_insert_with(|| {
                self.nodes.push(Branch { method: *method, spent: Spent::default(), children: Vec::new() });
                self.nodes.len() - 1
            });
            if self.nodes[at].spent.total == 0 {
                match above {
                    Some(above) => self.nodes[above].children.push(at),
                    None => self.roots.push(at),
                }
            }
            self.nodes[at].spent.total += weight;
            above = Some(at);
        }
        if let Some(leaf) = above {
            self.nodes[leaf].spent.itself += weight;
        }
    }

    /// The weight of the lightest among so many heaviest nodes.
    fn least_of_the_heaviest(&self, count: usize) -> u64 {
        let mut totals: Vec<u64> = self.nodes.iter().map(|node| node.spent.total).collect();
        totals.sort_unstable_by(|a, b| b.cmp(a));
        totals.get(count).map_or(0, |next| next + 1)
    }

    /// Depth is bounded by [`DEEPEST`], so this may recurse.
    fn harvest(&self, nodes: &[usize], least: u64, whole: u64, calls: &Calls) -> Vec<Node> {
        let mut nodes: Vec<&Branch> =
            nodes.iter().map(|at| &self.nodes[*at]).filter(|node| node.spent.total >= least).collect();
        nodes.sort_by(|a, b| {
            (b.spent.total, calls.method_name(a.method)).cmp(&(a.spent.total, calls.method_name(b.method)))
        });
        nodes
            .into_iter()
            .map(|node| Node {
                label: calls.method_name(node.method).to_owned(),
                values: vec![
                    Cell::from(percent(node.spent.total, whole)),
                    Cell::from(node.spent.total),
                    Cell::from(node.spent.itself),
                ],
                children: self.harvest(&node.children, least, whole, calls),
            })
            .collect()
    }
}

#[cfg(test)]
pub(crate) mod examples {
    use model::{Frame, FrameKind};
    use nettrace::CodeAddress;
    use stacks::{StackKey, StackTable};

    use super::Calls;

    /// Stacks of methods, innermost first, as `assembly!method`.
    pub(crate) fn calls(stacks: &[&[&str]]) -> (Calls, Vec<StackKey>) {
        let mut names: Vec<&str> = Vec::new();
        let mut table = StackTable::new();
        let keys = stacks
            .iter()
            .map(|stack| {
                let addresses: Vec<CodeAddress> = stack
                    .iter()
                    .map(|name| {
                        let at = names.iter().position(|known| known == name).unwrap_or_else(|| {
                            names.push(name);
                            names.len() - 1
                        });
                        CodeAddress(at as u64)
                    })
                    .collect();
                table.intern(addresses.into_iter()).expect("a stack has frames")
            })
            .collect();
        let (frames, nodes) = table.named(|address| {
            let text = names[usize::try_from(address.0).expect("an index")];
            let (module, name) = text.split_once('!').unwrap_or(("Shop", text));
            let own = module == "Shop";
            Frame {
                kind: FrameKind::Managed,
                name: name.to_owned(),
                module: Some(module.to_owned()),
                file: own.then(|| "src/Shop.cs".to_owned()),
                line: own.then_some(42),
            }
        });
        (Calls::new(frames, nodes), keys)
    }
}

#[cfg(test)]
mod tests {
    use super::examples::calls;
    use super::*;

    #[test]
    fn recursion_counts_once() {
        let (calls, keys) =
            calls(&[&["Walk", "Walk", "Main"], &["System.Private.CoreLib!System.Sort", "Walk", "Main"]]);
        let weighed = HashMap::from([(keys[0], 30), (keys[1], 10)]);
        let spent = calls.spent(&weighed);
        let of = |name: &str| {
            spent.iter().find(|(method, _)| calls.method_name(**method) == name).map(|(_, spent)| *spent)
        };
        assert_eq!(of("Walk"), Some(Spent { itself: 30, total: 40 }));
        assert_eq!(of("Main"), Some(Spent { itself: 0, total: 40 }));
        assert_eq!(calls.own_frame(keys[1]).unwrap().1.name, "Walk");
    }

    #[test]
    fn a_tree_has_the_heaviest_first_and_no_dust() {
        let (calls, keys) = calls(&[&["A", "Main"], &["B", "Main"], &["C", "Main"]]);
        let weighed = HashMap::from([(keys[0], 10_000), (keys[1], 50_000), (keys[2], 1)]);
        let tree = calls.tree(&weighed, Unit::Nanoseconds, Framework::Show);
        assert_eq!(tree.roots.len(), 1);
        let labels: Vec<&str> = tree.roots[0].children.iter().map(|node| node.label.as_str()).collect();
        assert_eq!(labels, ["B", "A"]);
        assert_eq!(tree.roots[0].values[1], Cell::from(60_001u64));
    }

    #[test]
    fn the_inner_methods_of_the_framework_fold_into_the_one_that_was_called() {
        let (calls, keys) =
            calls(&[&["System.Net!C", "System.Net!B", "Pay", "System.Net!A", "System.Net!Start"]]);
        let weighed = HashMap::from([(keys[0], 7)]);
        let tree = calls.tree(&weighed, Unit::Count, Framework::Fold);
        let pay = &tree.roots[0].children[0];
        assert_eq!((tree.roots[0].label.as_str(), pay.label.as_str()), ("Start", "Pay"));
        assert_eq!(pay.children[0].label, "B");
        assert_eq!(pay.children[0].values[2], Cell::from(7u64));
        assert!(pay.children[0].children.is_empty());
    }
}
