//! Stacks as one tree, outermost method first; below the innermost, what the threads there do.

use std::collections::HashMap;

use model::{Cell, Column, Frame, FrameKind, Node, Tree, Unit};

use crate::blame;
use crate::inside::{Seen, names};
use crate::sampling::Framework;

/// Deepest path that is kept; a tree that is read back may not be much deeper.
const DEEPEST: usize = 500;
/// Nodes that are kept. Beyond, whole stacks are left out.
const MOST_NODES: usize = 20_000;

struct Branch<'a> {
    label: String,
    threads: Vec<&'a Seen>,
    children: Vec<usize>,
}

#[derive(Default)]
struct Growing<'a> {
    nodes: Vec<Branch<'a>>,
    roots: Vec<usize>,
    index: HashMap<(Option<usize>, String), usize>,
}

/// The tree of these threads.
pub(super) fn tree(shown: &[&Seen], framework: Framework) -> Tree {
    let mut growing = Growing::default();
    for thread in shown {
        if growing.nodes.len() < MOST_NODES {
            growing.add(thread, framework);
        }
    }
    let columns = vec![Column::new("threads", "Threads", Unit::Count)];
    Tree { roots: growing.harvest(&growing.roots), columns }
}

impl<'a> Growing<'a> {
    fn add(&mut self, thread: &'a Seen, framework: Framework) {
        let mut path: Vec<&Frame> = thread.frames.iter().rev().map(AsRef::as_ref).collect();
        if framework == Framework::Fold {
            path.retain(|frame| frame.kind == FrameKind::Managed);
            path.dedup_by(|inner, outer| !blame::is_own(inner) && !blame::is_own(outer));
        }
        path.truncate(DEEPEST);
        let mut above = None;
        for label in path.into_iter().map(label).chain([doing(thread)]) {
            above = Some(self.step(above, label, thread));
        }
    }

    fn step(&mut self, above: Option<usize>, label: String, thread: &'a Seen) -> usize {
        let at = match self.index.get(&(above, label.clone())) {
            Some(at) => *at,
            None => {
                let at = self.nodes.len();
                self.nodes.push(Branch { label: label.clone(), threads: Vec::new(), children: Vec::new() });
                self.index.insert((above, label), at);
                match above.and_then(|above| self.nodes.get_mut(above)) {
                    Some(above) => above.children.push(at),
                    None => self.roots.push(at),
                }
                at
            }
        };
        if let Some(node) = self.nodes.get_mut(at) {
            node.threads.push(thread);
        }
        at
    }

    /// Depth is bounded by [`DEEPEST`], so this may recurse.
    fn harvest(&self, nodes: &[usize]) -> Vec<Node> {
        let mut nodes: Vec<&Branch<'_>> = nodes.iter().filter_map(|at| self.nodes.get(*at)).collect();
        nodes.sort_by(|a, b| b.threads.len().cmp(&a.threads.len()).then_with(|| a.label.cmp(&b.label)));
        nodes
            .into_iter()
            .map(|node| Node {
                label: if node.children.is_empty() {
                    format!("{} · {}", node.label, names(&node.threads).join(", "))
                } else {
                    node.label.clone()
                },
                values: vec![Cell::from(node.threads.len() as u64)],
                children: self.harvest(&node.children),
            })
            .collect()
    }
}

/// `Shop.Orders.Add (Orders.cs:42)`.
fn label(frame: &Frame) -> String {
    let file = frame.file.as_deref().map(|file| file.rsplit(['/', '\\']).next().unwrap_or(file));
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", frame.name),
        _ => frame.name.clone(),
    }
}

/// `* waits for a lock (Monitor.Enter), futex`.
fn doing(thread: &Seen) -> String {
    let words = thread.why.words();
    match &thread.waits_in {
        Some(call) => format!("* {words}, {call}"),
        None => format!("* {words}"),
    }
}
