//! The fast analyses against slow ones that are plainly right.

use crate::support::{Plan, plans};
use heap_graph::{Dominators, Holder, RootKind, ShortestPaths, retained_by_all_of_type};
use proptest::prelude::*;

/// The objects that the roots reach when some are taken away.
fn reached(
    plan: &Plan,
    gone: impl Fn(usize) -> bool,
    root_gone: impl Fn(&RootKind, &Option<String>) -> bool,
) -> Vec<bool> {
    let mut seen = vec![false; plan.objects.len()];
    let mut open: Vec<usize> = plan
        .roots
        .iter()
        .filter(|(kind, name, _)| !root_gone(kind, name))
        .map(|&(.., object)| object)
        .collect();
    while let Some(object) = open.pop() {
        if !gone(object) && !std::mem::replace(&mut seen[object], true) {
            open.extend(&plan.objects[object].2);
        }
    }
    seen
}

/// Sums of the sizes of objects in `all` and not in `left`.
fn lost_bytes(plan: &Plan, all: &[bool], left: &[bool]) -> u64 {
    let lost = (0..all.len()).filter(|&object| all[object] && !left[object]);
    lost.map(|object| plan.objects[object].1).sum()
}

fn depths(plan: &Plan) -> Vec<Option<usize>> {
    let mut depth = vec![None; plan.objects.len()];
    let mut level: Vec<usize> = plan.roots.iter().map(|&(.., object)| object).collect();
    for at in 0.. {
        level.retain(|&object| depth[object].is_none());
        if level.is_empty() {
            break;
        }
        level.iter().for_each(|&object| depth[object] = Some(at));
        level = level.iter().flat_map(|&object| plan.objects[object].2.clone()).collect();
    }
    depth
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn retained_is_what_goes_when_the_object_goes(plan in plans(24)) {
        let graph = plan.build();
        let dominators = Dominators::of(&graph);
        let all = reached(&plan, |_| false, |_, _| false);
        for node in graph.nodes() {
            prop_assert_eq!(dominators.is_reachable(node), all[node.index()]);
            let left = reached(&plan, |object| object == node.index(), |_, _| false);
            prop_assert_eq!(dominators.retained(node), lost_bytes(&plan, &all, &left), "object {}", node.index());
        }
        for (id, root) in graph.roots() {
            let left = reached(&plan, |_| false, |kind, name| *kind == root.kind && name.as_deref() == root.name);
            prop_assert_eq!(dominators.retained_by_root(id), lost_bytes(&plan, &all, &left));
        }
        for kind in RootKind::ALL {
            let left = reached(&plan, |_| false, |other, _| *other == kind);
            prop_assert_eq!(dominators.retained_by_kind(kind), lost_bytes(&plan, &all, &left));
        }
    }

    #[test]
    fn the_immediate_dominator_is_the_nearest(plan in plans(16)) {
        let graph = plan.build();
        let dominators = Dominators::of(&graph);
        let all = reached(&plan, |_| false, |_, _| false);
        let count = plan.objects.len();
        // dominates[a][b]: without a, b is not reached.
        let dominates: Vec<Vec<bool>> = (0..count)
            .map(|a| reached(&plan, |object| object == a, |_, _| false).iter().zip(&all).map(|(l, a)| *a && !l).collect())
            .collect();
        for node in graph.nodes().filter(|node| all[node.index()]) {
            let here = node.index();
            let above: Vec<usize> = (0..count).filter(|&a| a != here && dominates[a][here]).collect();
            let nearest = above.iter().copied().find(|&a| above.iter().all(|&b| b == a || dominates[b][a]));
            match dominators.dominator(node) {
                Some(Holder::Node(found)) => prop_assert_eq!(Some(found.index()), nearest),
                Some(_) => prop_assert_eq!(None, nearest),
                None => prop_assert!(false, "object {} has no dominator", here),
            }
        }
    }

    #[test]
    fn retained_by_type_counts_nested_objects_once(plan in plans(16)) {
        let graph = plan.build();
        let dominators = Dominators::of(&graph);
        let all = reached(&plan, |_| false, |_, _| false);
        for (id, _) in graph.types() {
            let topmost = graph.nodes().filter(|&node| graph.type_of(node) == id && dominators.is_reachable(node)).filter(|&node| {
                let mut at = node;
                while let Some(Holder::Node(above)) = dominators.dominator(at) {
                    if graph.type_of(above) == id {
                        return false;
                    }
                    at = above;
                }
                true
            });
            let sum: u64 = topmost.map(|node| dominators.retained(node)).sum();
            prop_assert_eq!(dominators.retained_by_type(id), sum);
            let left = reached(&plan, |object| plan.objects[object].0 == id.index(), |_, _| false);
            prop_assert_eq!(retained_by_all_of_type(&graph, id), lost_bytes(&plan, &all, &left));
            prop_assert!(sum <= retained_by_all_of_type(&graph, id));
        }
    }

    #[test]
    fn paths_are_real_and_shortest(plan in plans(24)) {
        let graph = plan.build();
        let paths = ShortestPaths::of(&graph);
        for (node, depth) in graph.nodes().zip(depths(&plan)) {
            let Some((root, steps)) = paths.path(node) else {
                prop_assert_eq!(depth, None);
                continue;
            };
            prop_assert_eq!(depth, Some(steps.len() - 1));
            prop_assert_eq!(steps.last().map(|step| step.node), Some(node));
            prop_assert!(graph.root(root).targets().any(|target| target == steps[0].node));
            for pair in steps.windows(2) {
                prop_assert!(graph.references(pair[0].node).any(|target| target == pair[1].node));
            }
        }
    }
}
