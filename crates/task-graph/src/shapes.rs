//! Pending operations merged by shape: equal chains of awaits are one, with a count.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::graph::{Graph, Node, Step};
use crate::objects::Address;

/// Longer chains are cut off.
const DEEPEST: usize = 64;
/// Most nodes of the merged trees.
const MOST_PLACES: usize = 100_000;

/// All pending operations, merged.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The places of all trees; parents come before their children.
    pub places: Vec<Place>,
    /// Operations that wait for each other in a circle, each once.
    pub circles: Vec<Vec<Address>>,
    /// Whether there was more than could be kept.
    pub cut: bool,
}

/// A place in a tree of awaits: operations of one kind that are reached by the same steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What is there.
    pub step: Step,
    /// Who waits for it; none for a root.
    pub parent: Option<usize>,
    /// How deep it lies; a root at 0.
    pub depth: usize,
    /// The operations.
    pub members: BTreeSet<Address>,
    /// Those of them until whose end a thread blocks.
    pub blocking: usize,
    /// If nothing is below it: the innermost `async` methods that lead to it.
    pub waiters: BTreeSet<Address>,
}

/// One chain of awaits from a root to what it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The steps from the root to the end.
    pub steps: Vec<Step>,
    /// How many roots begin with it.
    pub roots: usize,
    /// The innermost `async` methods of it, with what stays the same when they move.
    pub waiters: Vec<(Address, u64)>,
    /// How many different things they wait for.
    pub awaited: usize,
    /// How many threads block until it ends.
    pub blocking: usize,
}

impl Forest {
    /// Merges.
    #[must_use]
    pub fn of(graph: &Graph) -> Forest {
        let (circles, back) = circles(graph);
        let mut forest = Forest { circles, ..Forest::default() };
        let mut children: HashMap<(Option<usize>, Step), usize> = HashMap::new();
        let mut seen = HashSet::new();
        // A circle has no root: its first operation stands for one.
        let of_circles = forest.circles.iter().filter_map(|circle| circle.first()).copied();
        let begin = graph.roots().filter(|node| !matches!(node.step, Step::Leaf(_)));
        let mut stack: Vec<(Address, Option<usize>, Option<Address>)> =
            begin.map(|node| node.address).chain(of_circles).map(|root| (root, None, None)).collect();
        stack.sort_unstable_by(|a, b| b.cmp(a));
        while let Some((address, parent, waiter)) = stack.pop() {
            let Some(node) = graph.get(address) else { continue };
            let Some(place) = forest.place(&mut children, parent, node) else { continue };
            let waiter = if matches!(node.step, Step::Await { .. }) { Some(address) } else { waiter };
            if !seen.insert((place, address, waiter)) {
                continue;
            }
            let below = node.waits_for.iter().filter(|next| !back.contains(&(address, **next)));
            let before = stack.len();
            stack.extend(below.map(|next| (*next, Some(place), waiter)));
            if stack.len() == before
                && let (Some(place), Some(waiter)) = (forest.places.get_mut(place), waiter)
            {
                place.waiters.insert(waiter);
            }
        }
        forest
    }

    fn place(
        &mut self,
        children: &mut HashMap<(Option<usize>, Step), usize>,
        parent: Option<usize>,
        node: &Node,
    ) -> Option<usize> {
        let depth = parent.and_then(|parent| self.places.get(parent)).map_or(0, |parent| parent.depth + 1);
        let full = self.places.len() >= MOST_PLACES || depth >= DEEPEST;
        let key = (parent, node.step.clone());
        let place = match children.get(&key) {
            Some(place) => *place,
            None if full => {
                self.cut = true;
                return None;
            }
            None => {
                let place = self.places.len();
                children.insert(key, place);
                self.places.push(Place {
                    step: node.step.clone(),
                    parent,
                    depth,
                    members: BTreeSet::new(),
                    blocking: 0,
                    waiters: BTreeSet::new(),
                });
                place
            }
        };
        let found = self.places.get_mut(place)?;
        if found.members.insert(node.address) {
            found.blocking += usize::from(node.blocks_thread);
        }
        Some(place)
    }

    /// The chains, those with most waiters first.
    #[must_use]
    pub fn shapes(&self, graph: &Graph) -> Vec<Shape> {
        let mut shapes: Vec<Shape> = Vec::new();
        for place in self.places.iter().filter(|place| !place.waiters.is_empty()) {
            let mut steps = Vec::new();
            let (mut roots, mut blocking) = (0, 0);
            let mut at = Some(place);
            while let Some(place) = at {
                steps.push(place.step.clone());
                (roots, blocking) = (place.members.len(), blocking + place.blocking);
                at = place.parent.and_then(|parent| self.places.get(parent));
            }
            steps.reverse();
            let print = |address: &Address| graph.get(*address).map_or(0, |node| node.fingerprint);
            let waiters = place.waiters.iter().map(|address| (*address, print(address))).collect();
            // The innermost method itself is not what it waits for.
            let awaited = if place.waiters == place.members { 0 } else { place.members.len() };
            shapes.push(Shape { steps, roots, waiters, awaited, blocking });
        }
        shapes.sort_by(|a, b| b.waiters.len().cmp(&a.waiters.len()).then_with(|| a.steps.cmp(&b.steps)));
        shapes
    }
}

/// Circles of operations that wait for each other, and the references that close them.
fn circles(graph: &Graph) -> (Vec<Vec<Address>>, HashSet<(Address, Address)>) {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Mark {
        Open,
        Done,
    }
    let (mut found, mut back) = (Vec::new(), HashSet::new());
    let mut marks: BTreeMap<Address, Mark> = BTreeMap::new();
    // Roots first, so that a circle is entered where it is reached from.
    let order = graph.roots().chain(graph.nodes()).map(|node| node.address);
    for root in order {
        if marks.contains_key(&root) {
            continue;
        }
        let mut path: Vec<(Address, usize)> = vec![(root, 0)];
        marks.insert(root, Mark::Open);
        while let Some((address, next)) = path.last_mut() {
            let at = *address;
            let Some(child) = graph.get(at).and_then(|node| node.waits_for.get(*next)).copied() else {
                marks.insert(at, Mark::Done);
                path.pop();
                continue;
            };
            *next += 1;
            match marks.get(&child) {
                None if graph.get(child).is_some() => {
                    marks.insert(child, Mark::Open);
                    path.push((child, 0));
                }
                Some(Mark::Open) => {
                    back.insert((at, child));
                    let from = path.iter().position(|(address, _)| *address == child).unwrap_or(0);
                    found.push(path.iter().skip(from).map(|(address, _)| *address).collect());
                }
                _ => {}
            }
        }
    }
    (found, back)
}
