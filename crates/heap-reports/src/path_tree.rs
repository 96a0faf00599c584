//! Paths drawn as trees: the root at the top, below it the types that lead to the objects.

use heap_graph::{PathShape, PathShapes, RootId, ShapeStep};
use model::{Body, Cell, Column, Node, Section, Tree, Unit};

use crate::look::Look;
use crate::roots::label;

/// Longer paths are cut in the middle.
const LONGEST: usize = 14;

/// A path in one line: `static Shop.OrderHistory.s_orders > List<Shop.Order> > Shop.Order[]`.
#[must_use]
pub fn line(look: &Look, root: RootId, steps: &[ShapeStep]) -> String {
    let mut parts = vec![label(&look.graph.root(root))];
    parts.extend(shown(steps).into_iter().map(|step| match step {
        Shown::Step(step) => step_name(look, step),
        Shown::Cut(count) => format!("({count} more)"),
    }));
    parts.join(" > ")
}

/// The shapes as a section.
pub(crate) fn section(look: &Look, id: &str, title: &str, shapes: &PathShapes) -> Section {
    let mut tree = Tree {
        columns: vec![
            Column::new("objects", "Objects", Unit::Count),
            Column::new("bytes", "Bytes", Unit::Bytes),
        ],
        roots: shapes.shapes.iter().map(|shape| chain(look, shape)).collect(),
    };
    let mut add = |objects: u64, bytes: u64, words: &str| {
        if objects > 0 {
            let values = vec![objects.into(), bytes.into()];
            tree.roots.push(Node { label: words.to_owned(), values, children: Vec::new() });
        }
    };
    add(shapes.others.objects, shapes.others.bytes, "in other ways");
    add(shapes.garbage.objects, shapes.garbage.bytes, "not reached from any root");
    Section::new(id, title, Body::Tree(tree))
}

fn chain(look: &Look, shape: &PathShape) -> Node {
    let mut below: Option<Node> = None;
    for step in shown(&shape.steps).into_iter().rev() {
        let label = match step {
            Shown::Step(step) => step_name(look, step),
            Shown::Cut(count) => format!("... {count} more steps ..."),
        };
        let values = vec![Cell::Missing, Cell::Missing];
        below = Some(Node { label, values, children: below.into_iter().collect() });
    }
    Node {
        label: label(&look.graph.root(shape.root)),
        values: vec![shape.objects.into(), shape.bytes.into()],
        children: below.into_iter().collect(),
    }
}

enum Shown<'a> {
    Step(&'a ShapeStep),
    Cut(usize),
}

fn shown(steps: &[ShapeStep]) -> Vec<Shown<'_>> {
    if steps.len() <= LONGEST {
        return steps.iter().map(Shown::Step).collect();
    }
    let half = LONGEST / 2;
    let cut = steps.len() - 2 * half;
    let first = steps[..half].iter().map(Shown::Step);
    first.chain([Shown::Cut(cut)]).chain(steps[steps.len() - half..].iter().map(Shown::Step)).collect()
}

fn step_name(look: &Look, step: &ShapeStep) -> String {
    let name = &look.graph.type_info(step.type_id).name;
    let field = step.field.map_or(String::new(), |field| format!("{}: ", look.graph.field_name(field)));
    format!("{field}{name}{}", if step.repeats { " *" } else { "" })
}
