//! Which methods weigh most.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::Frame;

use crate::call_tree::CallTree;
use crate::profile::{FrameId, Profile};

/// A method and what it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodWeight {
    /// One of its frames, for its name; its other frames differ in the line only.
    pub frame: FrameId,
    /// What it did itself.
    pub own: u64,
    /// The same with all it called. What a method did that called itself counts once.
    pub total: u64,
}

/// What each method of a tree weighs, the ones that do most themselves first.
///
/// Frames that `fold` names are no methods: what they weigh counts as their caller's own.
pub fn top_methods(profile: &Profile, tree: &CallTree, fold: impl Fn(&Frame) -> bool) -> Vec<MethodWeight> {
    let (mut methods, method_of) = methods(profile, fold);
    let mut own: Vec<u64> = tree.nodes.iter().map(|node| node.own).collect();
    let method = |place: usize| {
        let frame = tree.nodes.get(place)?.frame;
        *method_of.get(frame.0 as usize)?
    };
    for place in (0..own.len()).rev() {
        let weight = own[place];
        match (method(place), tree.nodes[place].caller) {
            (Some(method), _) => methods[method].own = methods[method].own.saturating_add(weight),
            (None, Some(caller)) => own[caller as usize] = own[caller as usize].saturating_add(weight),
            (None, None) => {}
        }
    }
    for_each_outermost(tree, &method, methods.len(), |method, total| {
        methods[method].total = methods[method].total.saturating_add(total);
    });
    methods.retain(|method| method.total > 0);
    methods.sort_by_key(|method| std::cmp::Reverse((method.own, method.total)));
    methods
}

/// The methods without weights, and for each frame the place of its method.
fn methods(profile: &Profile, fold: impl Fn(&Frame) -> bool) -> (Vec<MethodWeight>, Vec<Option<usize>>) {
    let mut methods = Vec::new();
    let mut by_name = HashMap::<(&str, Option<&str>), usize, RandomState>::default();
    let method_of = (0..).zip(&profile.frames).map(|(number, frame)| {
        (!fold(frame)).then(|| {
            *by_name.entry((&frame.name, frame.module.as_deref())).or_insert_with(|| {
                methods.push(MethodWeight { frame: FrameId(number), own: 0, total: 0 });
                methods.len() - 1
            })
        })
    });
    let method_of = method_of.collect();
    (methods, method_of)
}

/// Calls `found` with every node whose method is not among its callers.
fn for_each_outermost(
    tree: &CallTree,
    method: &impl Fn(usize) -> Option<usize>,
    methods: usize,
    mut found: impl FnMut(usize, u64),
) {
    // First callee and next callee of the same caller; roots hang under one more node.
    let root = tree.nodes.len();
    let (mut first, mut next) = (vec![None; root + 1], vec![None; root]);
    for (place, node) in tree.nodes.iter().enumerate().rev() {
        let caller = node.caller.map_or(root, |caller| caller as usize);
        next[place] = first[caller].replace(place);
    }
    let mut active = vec![0_u32; methods];
    let mut path: Vec<usize> = Vec::new();
    let mut going = first[root];
    loop {
        while let Some(place) = going {
            if let Some(method) = method(place) {
                if active[method] == 0 {
                    found(method, tree.nodes[place].total);
                }
                active[method] += 1;
            }
            path.push(place);
            going = first[place];
        }
        let Some(place) = path.pop() else { return };
        if let Some(method) = method(place) {
            active[method] -= 1;
        }
        going = next[place];
    }
}
