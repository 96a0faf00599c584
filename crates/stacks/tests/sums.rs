//! What profiles add up to, whatever they hold.

use model::{Frame, FrameKind};
use nettrace::CodeAddress;
use proptest::prelude::*;
use stacks::{
    CallTree, Profile, ProfileThread, Sample, StackTable, ThreadSamples, ThreadSlot, Weight, top_methods,
};

const THREADS: u32 = 3;

/// A method has ten addresses, so that different addresses are one frame.
fn frame(address: CodeAddress) -> Frame {
    let name = format!("Method{}", address.0 / 10);
    Frame { kind: FrameKind::Managed, name, module: None, file: None, line: None }
}

/// A profile of samples, each a stack (innermost first), a thread and a weight.
fn profile(rows: &[(Vec<u64>, u32, u64)]) -> Profile {
    let mut table = StackTable::new();
    let mut samples = Vec::new();
    let mut at_ns = 0;
    for (stack, thread, weight) in rows {
        let stack = table.intern(stack.iter().map(|at| CodeAddress(*at)));
        samples.push(Sample { at_ns, weight: *weight, thread: ThreadSlot(*thread), stack });
        at_ns += weight;
    }
    let (frames, nodes) = table.into_named(frame);
    let threads = (0..THREADS).map(|id| ProfileThread { id: u64::from(id), name: None }).collect();
    let title = "test".to_owned();
    Profile {
        title,
        weight: Weight::Nanoseconds,
        started: None,
        duration_ns: at_ns,
        process: None,
        frames,
        nodes,
        threads,
        samples,
    }
}

fn rows() -> impl Strategy<Value = Vec<(Vec<u64>, u32, u64)>> {
    let row = (prop::collection::vec(0_u64..60, 0..8), 0..THREADS, 0_u64..1000);
    prop::collection::vec(row, 0..60)
}

/// Frames and weights of a tree, as lines, in an order of their own.
fn folded(profile: &Profile, tree: &CallTree) -> Vec<String> {
    let mut lines: Vec<String> = (0..)
        .zip(&tree.nodes)
        .filter(|(_, node)| node.own > 0)
        .map(|(place, node)| {
            let names: Vec<&str> =
                tree.path(place).map(|frame| profile.frames[frame.0 as usize].name.as_str()).collect();
            format!("{} {}", names.join("<"), node.own)
        })
        .collect();
    lines.sort();
    lines
}

proptest! {
    #[test]
    fn threads_add_up_to_the_whole(rows in rows()) {
        let profile = profile(&rows);
        let by_thread = ThreadSamples::new(&profile);
        let whole = CallTree::new(&profile, &profile.samples);
        prop_assert_eq!(whole.total(), profile.total());
        let parts: Vec<CallTree> =
            (0..THREADS).map(|slot| CallTree::new(&profile, by_thread.of(ThreadSlot(slot)))).collect();
        prop_assert_eq!(parts.iter().map(CallTree::total).sum::<u64>(), profile.total());
        let own = |tree: &CallTree, name: &str| -> u64 {
            top_methods(&profile, tree, |_| false)
                .iter()
                .filter(|method| profile.frames[method.frame.0 as usize].name == name)
                .map(|method| method.own)
                .sum()
        };
        for frame in &profile.frames {
            let of_parts: u64 = parts.iter().map(|tree| own(tree, &frame.name)).sum();
            prop_assert_eq!(own(&whole, &frame.name), of_parts);
        }
    }

    #[test]
    fn a_tidy_profile_says_the_same(rows in rows()) {
        let before = profile(&rows);
        let mut after = before.clone();
        after.tidy();
        prop_assert!(after.samples.len() <= before.samples.len());
        prop_assert!(after.nodes.len() <= before.nodes.len());
        prop_assert_eq!(after.total(), before.total());
        let tree = |profile: &Profile| folded(profile, &CallTree::new(profile, &profile.samples));
        prop_assert_eq!(tree(&before), tree(&after));
    }

    #[test]
    fn totals_count_a_method_once_for_each_sample(rows in rows()) {
        let profile = profile(&rows);
        let tree = CallTree::new(&profile, &profile.samples);
        for method in top_methods(&profile, &tree, |_| false) {
            let name = &profile.frames[method.frame.0 as usize].name;
            let with_it = profile.samples.iter().filter(|sample| {
                sample.stack.is_some_and(|stack| {
                    profile.stack(stack).any(|frame| &profile.frames[frame.0 as usize].name == name)
                })
            });
            prop_assert_eq!(method.total, with_it.map(|sample| sample.weight).sum::<u64>(), "{}", name);
            prop_assert!(method.own <= method.total);
        }
    }
}

#[test]
fn a_folded_frame_counts_as_its_callers_own() {
    let profile = profile(&[(vec![20, 10, 0], 0, 5), (vec![10, 0], 0, 7), (vec![20], 1, 2)]);
    let tree = CallTree::new(&profile, &profile.samples);
    let top = top_methods(&profile, &tree, |frame| frame.name == "Method2");
    let rows: Vec<(&str, u64, u64)> = top
        .iter()
        .map(|method| (profile.frames[method.frame.0 as usize].name.as_str(), method.own, method.total))
        .collect();
    assert_eq!(rows, [("Method1", 12, 12), ("Method0", 0, 12)]);
}

#[test]
fn neighbours_on_one_stack_become_one_sample() {
    // The two of thread 0 follow each other in time; thread 1 comes between them in the list, not in their time.
    let mut profile = profile(&[(vec![11], 0, 5), (vec![12], 0, 7), (vec![30], 1, 2), (vec![13], 0, 4)]);
    profile.tidy();
    let samples: Vec<(u64, u64, u32)> =
        profile.samples.iter().map(|sample| (sample.at_ns, sample.weight, sample.thread.0)).collect();
    assert_eq!(samples, [(0, 12, 0), (12, 2, 1), (14, 4, 0)]);
    assert_eq!(profile.threads.len(), 2, "the third thread has no sample");
}
