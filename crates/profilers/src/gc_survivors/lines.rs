//! Which lines of the tree are shown. What is not shown is summed up beside its neighbours, so that every level adds up.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use heap_graph::{HeapGraph, LineId, Place, Totals, TypeTree};
use heap_reports::kind_label;
use model::{Cell, Column, Node, Tree, Unit};

use crate::ratio::count_words;

/// What lines are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Bytes that would go with a line's objects.
    Retained,
    /// Bytes of a line's own objects.
    Bytes,
    /// Objects that would go with a line's objects.
    Count,
}

impl Measure {
    pub(super) fn of(word: &str) -> Measure {
        match word {
            "bytes" => Measure::Bytes,
            "count" => Measure::Count,
            _ => Measure::Retained,
        }
    }
}

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) measure: Measure,
    /// Thousandths of the whole.
    pub(super) threshold: u64,
    pub(super) depth: u64,
    pub(super) rows: u64,
}

/// The tree to be shown.
pub(super) fn tree(graph: &HeapGraph, lines: &TypeTree, limits: &Limits) -> Tree {
    let chosen = Chosen::of(lines, limits);
    Tree {
        columns: vec![
            Column::new("held-bytes", "Held", Unit::Bytes),
            Column::new("held-objects", "Objects", Unit::Count),
            Column::new("own-bytes", "Own bytes", Unit::Bytes),
            Column::new("own-objects", "Own objects", Unit::Count),
        ],
        roots: vec![chosen.node(graph, lines, lines.top())],
    }
}

/// The lines that are shown, and the order of neighbours.
struct Chosen {
    measure: Measure,
    /// Lines that are shown, with the number of lines right below them that are not.
    hidden_below: HashMap<LineId, u64>,
}

impl Chosen {
    /// The heaviest lines, from the top down: no line is heavier than the one above it, so what is shown hangs together.
    fn of(lines: &TypeTree, limits: &Limits) -> Chosen {
        let weights = weights(lines, limits.measure);
        let weight = |id: LineId| weights.get(&id).copied().unwrap_or(0);
        let below = |id: LineId| lines.below(id).map(|id| (weight(id), Reverse(id)));
        let total = match limits.measure {
            Measure::Count => lines.line(lines.top()).held.objects,
            Measure::Retained | Measure::Bytes => lines.line(lines.top()).held.bytes,
        };
        let count = |id: LineId| lines.below(id).count() as u64;
        let top = lines.top();
        let mut hidden_below = HashMap::from([(top, count(top))]);
        let mut rows = 1 + u64::from(count(top) > 0);
        let mut waiting: BinaryHeap<_> = below(top).collect();
        while let Some((weight, Reverse(id))) = waiting.pop() {
            if u128::from(weight) * 1000 < u128::from(total) * u128::from(limits.threshold) {
                break;
            }
            let Some(above) = lines.above(id) else { continue };
            let Some(siblings) = hidden_below.get_mut(&above) else { continue };
            // The line itself, a line for what is hidden below it, and the line for its neighbours, if it was the last.
            let more = 1 + u64::from(count(id) > 0);
            if u64::from(lines.line(id).depth) > limits.depth || rows + more > limits.rows + u64::from(*siblings == 1) {
                continue;
            }
            *siblings -= 1;
            rows = rows + more - u64::from(*siblings == 0);
            hidden_below.insert(id, count(id));
            waiting.extend(below(id));
        }
        Chosen { measure: limits.measure, hidden_below }
    }

    fn node(&self, graph: &HeapGraph, lines: &TypeTree, id: LineId) -> Node {
        let line = lines.line(id);
        let (mut shown, hidden): (Vec<LineId>, Vec<LineId>) =
            lines.below(id).partition(|below| self.hidden_below.contains_key(below));
        let measure = |id: &LineId| match self.measure {
            Measure::Retained => lines.line(*id).held.bytes,
            Measure::Bytes => lines.line(*id).own.bytes,
            Measure::Count => lines.line(*id).held.objects,
        };
        shown.sort_by_key(|id| (Reverse(measure(id)), *id));
        // The depth is bounded, so this recurses a few dozen times at most.
        let mut children: Vec<Node> = shown.iter().map(|id| self.node(graph, lines, *id)).collect();
        if !hidden.is_empty() {
            let held = hidden.iter().fold(Totals::default(), |sum, id| {
                let held = lines.line(*id).held;
                Totals { objects: sum.objects + held.objects, bytes: sum.bytes.saturating_add(held.bytes) }
            });
            let label = others(lines, &hidden, !shown.is_empty());
            children.push(Node { label, values: values(held, held), children: Vec::new() });
        }
        Node { label: label(graph, lines, id), values: values(line.held, line.own), children }
    }
}

/// By line: its weight, which is no more than that of the line above it.
fn weights(lines: &TypeTree, measure: Measure) -> HashMap<LineId, u64> {
    let mut weights: HashMap<LineId, u64> = HashMap::new();
    for (id, line) in lines.lines().rev() {
        let own = match measure {
            Measure::Retained => line.held.bytes,
            Measure::Count => line.held.objects,
            Measure::Bytes => line.own.bytes,
        };
        let weight = *weights.entry(id).and_modify(|known| *known = own.max(*known)).or_insert(own);
        if let Some(above) = lines.above(id) {
            weights.entry(above).and_modify(|known| *known = weight.max(*known)).or_insert(weight);
        }
    }
    weights
}

fn values(held: Totals, own: Totals) -> Vec<Cell> {
    vec![held.bytes.into(), held.objects.into(), own.bytes.into(), own.objects.into()]
}

fn label(graph: &HeapGraph, lines: &TypeTree, id: LineId) -> String {
    let line = lines.line(id);
    match line.place {
        Place::AllRoots => "all that survives".to_owned(),
        Place::Kind(kind) => kind_label(kind).to_owned(),
        Place::Root(root) => graph.root(root).name.unwrap_or("?").to_owned(),
        Place::Several if lines.above(id) == Some(lines.top()) => "held by roots of several kinds".to_owned(),
        Place::Several => "held by several of them".to_owned(),
        Place::Type(id) => format!("{}{}", graph.type_info(id).name, if line.repeats { " *" } else { "" }),
        _ => "deeper".to_owned(),
    }
}

fn others(lines: &TypeTree, hidden: &[LineId], beside: bool) -> String {
    let are_types = hidden.iter().all(|id| matches!(lines.line(*id).place, Place::Type(_)));
    let what = match (are_types, hidden.len()) {
        (true, 1) => "type",
        (true, _) => "types",
        (false, 1) => "holder",
        (false, _) => "holders",
    };
    let number = count_words(hidden.len() as u64);
    if beside { format!("others: {number} {what}") } else { format!("on {number} {what}") }
}
