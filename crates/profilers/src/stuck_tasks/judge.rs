//! Two looks, named; and what of them is an illness.

use std::collections::BTreeMap;
use std::time::Duration;

use model::Frame;
use task_graph::{Address, Change, Graph, Leaf, Place, Step, compare};

use super::heap::{Heap, Taken};
use super::names::Names;
use crate::blame;

/// What was seen in both looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Chains of awaits; what has not moved stands first.
    pub(super) chains: Vec<Chain>,
    /// Trees of the second look.
    pub(super) branches: Vec<Branch>,
    /// Operations that wait for each other in a circle in both looks.
    pub(super) circles: Vec<Vec<Frame>>,
    /// Pending `async` methods at the first and at the second look.
    pub(super) methods: (usize, usize),
    /// Semaphores with waiters: how many may enter now, how many at most, how many wait.
    pub(super) semaphores: Vec<(i32, i32, usize)>,
    /// Between the looks.
    pub(super) window: Duration,
    /// Whether a collection told where objects are: then only those that are in use.
    pub(super) collections: u32,
    /// Objects that had moved.
    pub(super) moved: u32,
    /// Whether tasks are laid out as we know them.
    pub(super) understood: bool,
    /// Whether there was more than could be kept.
    pub(super) cut: bool,
}

/// Equal chains of awaits.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// From the root to what is waited for.
    pub(super) frames: Vec<Frame>,
    /// What is waited for in the end; none while the innermost method is at no await.
    pub(super) leaf: Option<Leaf>,
    pub(super) before: usize,
    pub(super) now: usize,
    /// How many of those before wait still.
    pub(super) still: usize,
    /// Different things that are waited for.
    pub(super) awaited: usize,
    /// Threads that block until they end.
    pub(super) blocking: usize,
}

/// A place in a tree.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub(super) depth: usize,
    pub(super) frame: Frame,
    pub(super) count: usize,
    pub(super) blocking: usize,
}

impl Seen {
    pub(super) fn of(
        heap: &Heap,
        before: Taken,
        after: Taken,
        names: &mut Names<'_>,
        window: Duration,
    ) -> Seen {
        let changes = compare(&before.shapes, after.shapes);
        let mut chains: Vec<Chain> = changes.iter().map(|change| Chain::of(change, names)).collect();
        chains.sort_by_key(|chain| (chain.is_ordinary(), std::cmp::Reverse(chain.still)));
        let step = |address: &Address| after.graph.get(*address).map(|node| node.step.clone());
        let circles = after.forest.circles.iter().filter(|_| !before.forest.circles.is_empty());
        let circles = circles
            .map(|circle| circle.iter().filter_map(step).map(|step| names.frame(&step)).collect::<Vec<_>>())
            // Who waits for any of several may go on when another one ends.
            .filter(|circle| !circle.iter().any(|frame| frame.name == "Task.WhenAny"))
            .collect();
        Seen {
            branches: branches(&after.forest.places, names),
            circles,
            methods: (before.graph.methods(), after.graph.methods()),
            semaphores: semaphores(&after.graph),
            window,
            collections: heap.collections,
            moved: heap.moved,
            understood: heap.is_understood(),
            cut: after.forest.cut,
            chains,
        }
    }
}

fn semaphores(graph: &Graph) -> Vec<(i32, i32, usize)> {
    graph.semaphores.iter().map(|found| (found.free, found.most, found.waiters.len())).collect()
}

/// The trees in reading order, those with most operations first.
fn branches(places: &[Place], names: &mut Names<'_>) -> Vec<Branch> {
    let mut below: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, place) in places.iter().enumerate() {
        below.entry(place.parent).or_default().push(at);
    }
    for list in below.values_mut() {
        // The last one is taken first.
        list.sort_by_key(|at| places.get(*at).map_or(0, |place| place.members.len()));
    }
    let mut stack = below.get(&None).cloned().unwrap_or_default();
    let mut found = Vec::new();
    while let Some(at) = stack.pop() {
        let Some(place) = places.get(at) else { continue };
        found.push(Branch {
            depth: place.depth,
            frame: names.frame(&place.step),
            count: place.members.len(),
            blocking: place.blocking,
        });
        stack.extend(below.get(&Some(at)).into_iter().flatten());
    }
    found
}

impl Chain {
    fn of(change: &Change, names: &mut Names<'_>) -> Chain {
        let leaf = match change.shape.steps.last() {
            Some(Step::Leaf(leaf)) => Some(leaf.clone()),
            _ => None,
        };
        Chain {
            frames: change.shape.steps.iter().map(|step| names.frame(step)).collect(),
            leaf,
            before: change.before,
            now: change.now(),
            still: change.still,
            awaited: change.shape.awaited,
            blocking: change.shape.blocking,
        }
    }

    /// Whether waiting for it is what an idle service does.
    pub(super) fn is_ordinary(&self) -> bool {
        self.leaf.as_ref().is_none_or(Leaf::is_ordinary)
    }

    /// The methods, without what is waited for.
    pub(super) fn methods(&self) -> &[Frame] {
        let end = self.frames.len() - usize::from(self.leaf.is_some());
        self.frames.get(..end).unwrap_or_default()
    }

    /// What is waited for, in words.
    pub(super) fn waits_for(&self) -> &str {
        let leaf = self.frames.last().filter(|_| self.leaf.is_some());
        leaf.map_or("nothing: it runs, or has not begun", |frame| frame.name.as_str())
    }

    /// The innermost method.
    pub(super) fn innermost(&self) -> Option<&Frame> {
        let innermost = || self.methods().iter().rev();
        innermost().find(|frame| frame.module.is_some()).or_else(|| innermost().next())
    }

    /// The innermost method of the program's own; if there is none, the innermost.
    pub(super) fn waiting(&self) -> Option<&Frame> {
        let innermost = || self.methods().iter().rev();
        innermost()
            .find(|frame| frame.module.is_some() && blame::is_own(frame))
            .or_else(|| innermost().next())
    }
}

/// Chains that end in the same place and wait for the same kind of thing.
#[derive(Clone, Debug)]
pub(super) struct Group<'a> {
    pub(super) at: &'a Frame,
    pub(super) leaf: Option<&'a Leaf>,
    pub(super) chains: Vec<&'a Chain>,
}

impl Group<'_> {
    pub(super) fn sum(&self, of: impl Fn(&Chain) -> usize) -> usize {
        self.chains.iter().map(|chain| of(chain)).sum()
    }
}

impl Seen {
    /// All pending operations by the innermost method and what it waits for; what has not moved stands first.
    pub(super) fn places(&self) -> Vec<Group<'_>> {
        let mut groups = group(&self.chains, |chain| chain.innermost());
        let ordinary = |group: &Group<'_>| group.leaf.is_none_or(Leaf::is_ordinary);
        groups.sort_by_key(|group| (ordinary(group), std::cmp::Reverse(group.sum(|chain| chain.still))));
        groups
    }

    /// Operations that wait for somebody to complete or release something, by where the program waits; most unmoved first.
    pub(super) fn suspects(&self) -> Vec<Group<'_>> {
        let mut groups = group(&self.chains, Chain::waiting);
        groups.retain(|group| !group.leaf.is_none_or(Leaf::is_ordinary));
        groups.sort_by_key(|group| std::cmp::Reverse(group.sum(|chain| chain.still)));
        groups
    }
}

fn group<'a>(chains: &'a [Chain], at: impl Fn(&'a Chain) -> Option<&'a Frame>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for chain in chains {
        let Some(at) = at(chain) else { continue };
        let leaf = chain.leaf.as_ref();
        match groups.iter_mut().find(|group| group.at == at && group.leaf == leaf) {
            Some(group) => group.chains.push(chain),
            None => groups.push(Group { at, leaf, chains: vec![chain] }),
        }
    }
    groups
}
