//! Who holds objects, in words: paths from roots, merged where they look the same.

use heap_graph::{HeapGraph, PathShape, Root, RootKind, ShapeStep};
use model::{Culprit, CulpritKind};
use symbols::is_framework_module;

/// Steps of a path that are shown; of longer ones the middle is left out.
const MOST_STEPS: usize = 7;

/// A root in words: `static Shop.Cache.items`, `pinned handle`.
pub(crate) fn root_words(root: &Root<'_>) -> String {
    match (root.kind, root.name) {
        (RootKind::StaticField, Some(name)) => format!("static {name}"),
        (kind, Some(name)) => format!("{} {name}", kind.label()),
        (kind, None) => kind.label().to_owned(),
    }
}

/// A path in words, without the objects that it leads to: `static Shop.Cache.items > Dictionary<...> > Shop.Order`.
pub(crate) fn path_words(graph: &HeapGraph, shape: &PathShape) -> String {
    let mut words = vec![root_words(&graph.root(shape.root))];
    let steps = shape.steps.split_last().map_or(&[][..], |(_, before)| before);
    let step = |step: &ShapeStep| {
        let name = short(&graph.type_info(step.type_id).name);
        let repeats = if step.repeats { " (repeated)" } else { "" };
        format!("{name}{repeats}")
    };
    if steps.len() <= MOST_STEPS {
        words.extend(steps.iter().map(step));
    } else {
        let half = MOST_STEPS / 2;
        words.extend(steps[..half].iter().map(step));
        words.push(format!("({} more)", steps.len() - 2 * half));
        words.extend(steps[steps.len() - half..].iter().map(step));
    }
    if let Some(field) = shape.steps.last().and_then(|last| last.field) {
        words.push(format!("field {}", graph.field_name(field)));
    }
    words.join(" > ")
}

/// The fields and types of a path, by their full names.
pub(crate) fn path_names(graph: &HeapGraph, shape: &PathShape) -> Vec<String> {
    let steps = shape.steps.split_last().map_or(&[][..], |(_, before)| before);
    let types = steps.iter().map(|step| graph.type_info(step.type_id).name.to_string());
    graph.root(shape.root).name.map(str::to_owned).into_iter().chain(types).collect()
}

/// Whom to name for what a path leads to: the static field that it starts at, else the nearest type on it that is not
/// .NET's own.
pub(crate) fn culprit(graph: &HeapGraph, shape: &PathShape) -> Option<Culprit> {
    let root = graph.root(shape.root);
    if let (RootKind::StaticField | RootKind::ThreadStaticField, Some(name)) = (root.kind, root.name) {
        return Some(Culprit::new(CulpritKind::Field, name));
    }
    let holders = shape.steps.split_last().map_or(&[][..], |(_, before)| before);
    let own = holders.iter().rev().map(|step| graph.type_info(step.type_id)).find(|info| {
        info.module.as_deref().is_none_or(|module| !is_framework_module(module))
            && !info.name.starts_with("System.")
    });
    own.map(|info| Culprit::new(CulpritKind::Type, &*info.name))
}

/// A type's name without namespaces of .NET's collections, which only make a path longer.
fn short(name: &str) -> String {
    name.replace("System.Collections.Generic.", "").replace("System.Collections.Concurrent.", "")
}

#[cfg(test)]
mod tests {
    use heap_graph::{Address, GraphBuilder, ShortestPaths, shapes_to_type};

    use super::*;

    fn graph(root: RootKind, name: Option<&str>, length: u64) -> HeapGraph {
        let mut builder = GraphBuilder::new();
        let list = builder
            .add_type("System.Collections.Generic.List<Shop.Order>", Some("System.Private.CoreLib.dll"));
        let order = builder.add_type("Shop.Order", Some("Shop.dll"));
        let text = builder.add_type("System.String", Some("System.Private.CoreLib.dll"));
        builder.object(Address(0x1000), list, 32, 1).expect("an object");
        builder.reference(Address(0x2000)).expect("a reference");
        for link in 0..length {
            builder.object(Address(0x2000 + 0x100 * link), order, 24, 1).expect("an object");
            let next = if link + 1 == length { 0x8000 } else { 0x2100 + 0x100 * link };
            builder.reference(Address(next)).expect("a reference");
        }
        builder.object(Address(0x8000), text, 40, 0).expect("an object");
        builder.root(root, name, Address(0x1000)).expect("a root");
        builder.finish().expect("a graph")
    }

    fn words(graph: &HeapGraph) -> (String, Option<Culprit>) {
        let text = graph.types_named("System.String").next().expect("the type");
        let shapes = shapes_to_type(graph, &ShortestPaths::of(graph), text, 1);
        (path_words(graph, &shapes.shapes[0]), culprit(graph, &shapes.shapes[0]))
    }

    #[test]
    fn a_path_names_its_root_and_the_types_on_it() {
        let (path, culprit) = words(&graph(RootKind::StaticField, Some("Shop.Cache.orders"), 1));
        assert_eq!(path, "static Shop.Cache.orders > List<Shop.Order> > Shop.Order");
        assert_eq!(culprit, Some(Culprit::new(CulpritKind::Field, "Shop.Cache.orders")));
    }

    #[test]
    fn without_a_static_field_the_nearest_type_of_the_program_is_named() {
        let (path, culprit) = words(&graph(RootKind::StrongHandle, None, 3));
        assert_eq!(path, "strong handle > List<Shop.Order> > Shop.Order (repeated)");
        assert_eq!(culprit, Some(Culprit::new(CulpritKind::Type, "Shop.Order")));
    }
}
