//! How much memory the agent takes, whatever the target looks like.

use std::fs;

use agent_wire::DEEPEST_STACK;
use process_view::Process;
use testbed::{Runtime, Target};

use crate::support::Guest;

/// What docs/clr-profiling.md states: for stacks, and for all questions of a visit together.
const STATED: u64 = 8 << 20;
const STATED_FOR_ALL: u64 = 24 << 20;

fn resident(target: &Target) -> u64 {
    Process::new(model::ProcessId(target.pid())).status().expect("it lives").resident_bytes.expect("memory")
}

/// The most since [`forget_peak`].
pub fn peak(target: &Target) -> u64 {
    Process::new(model::ProcessId(target.pid())).peak_memory().expect("memory")
}

pub fn forget_peak(target: &Target) {
    fs::write(format!("/proc/{}/clear_refs", target.pid()), "5").expect("the kernel forgets the peak");
}

/// Two thousand threads of 200 calls each are more frames than are kept.
#[test]
fn memory_in_the_target_has_a_bound() {
    std::thread::scope(|scope| {
        for runtime in Runtime::ALL {
            scope.spawn(move || is_bounded(runtime));
        }
    });
}

fn is_bounded(runtime: Runtime) {
    let guest = Guest::crowd(runtime, 2000, 200);
    // What the runtime itself loads to walk stacks and to read names is there after the first answers.
    let mut attached = guest.attach().expect("the agent comes");
    guest.ask_everything(&mut attached).expect("answers");
    assert!(attached.leave().expect("it leaves").confirmed);
    let before = resident(&guest.target);
    forget_peak(&guest.target);
    let mut attached = guest.attach().expect("the agent comes");
    for _ in 0..5 {
        let answer = attached.stacks().expect("stacks");
        assert!(answer.stacks.len() >= 2000, "{}", answer.stacks.len());
        assert!(answer.stacks.iter().any(|stack| stack.cut), "more than is kept, and it is said");
        assert!(answer.stacks.iter().all(|stack| stack.frames.len() <= DEEPEST_STACK));
    }
    assert!(attached.leave().expect("it leaves").confirmed);
    let most = peak(&guest.target);
    forget_peak(&guest.target);
    let mut attached = guest.attach().expect("the agent comes");
    for _ in 0..5 {
        guest.ask_everything(&mut attached).expect("answers");
    }
    let all = peak(&guest.target);
    assert!(attached.leave().expect("it leaves").confirmed);
    let after = resident(&guest.target);
    println!(
        "{runtime}: {before} bytes, {} more for stacks, {} more for all questions, {after} after it",
        most.saturating_sub(before),
        all.saturating_sub(before)
    );
    assert!(most <= before + STATED, "{runtime}: {} bytes more", most - before);
    assert!(all <= before + STATED_FOR_ALL, "{runtime}: {} bytes more", all - before);
    // It works meanwhile, and grows by itself.
    assert!(after <= before + (4 << 20), "{runtime}: {} bytes more stay", after - before);
}

#[test]
fn a_very_deep_stack_is_cut_and_said_to_be() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let guest = Guest::crowd(runtime, 1, 3000);
        let mut attached = guest.attach().expect("the agent comes");
        let answer = attached.stacks().expect("stacks");
        let deepest = answer.stacks.iter().max_by_key(|stack| stack.frames.len()).expect("a stack");
        assert_eq!((deepest.frames.len(), deepest.cut), (DEEPEST_STACK, true));
        assert_eq!(answer.stacks.iter().filter(|stack| stack.cut).count(), 1, "only this one");
        assert!(attached.leave().expect("it leaves").confirmed);
    }
}
