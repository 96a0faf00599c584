//! Stacks reach the start of their thread.

use perf_sampler::Collect;
use testbed::{Runtime, seed, shared};

use crate::quality::{assert_complete, figures};
use crate::support::{Subject, may_watch, stacks_of};

#[test]
fn stacks_of_patients_are_complete() {
    if !may_watch() {
        return;
    }
    let patients = [
        "web-two-routes",
        "jit-storm",
        "lock-contention",
        "allocation-pressure",
        "exception-storm",
        "pool-starvation",
    ];
    for (number, patient) in patients.into_iter().enumerate() {
        let runtime = Runtime::ALL[(number + seed()) % Runtime::ALL.len()];
        let subject = Subject::start(patient, runtime);
        let profiles = subject.profile(Collect::Both, |progress| progress.samples + progress.waits >= 800);
        assert_complete(&format!("{patient} on {runtime}"), &profiles);
    }
}

#[test]
fn stacks_of_a_loaded_web_server_are_complete() {
    if !may_watch() {
        return;
    }
    let subject = Subject::start("healthy-busy-aspnet", Runtime::Net9);
    let profiles =
        subject.profile(Collect::Both, |progress| progress.samples >= 2000 && progress.waits >= 2000);
    assert_complete("healthy-busy-aspnet on 9", &profiles);
    assert!(profiles.quality.blocked >= 100, "{}", figures("healthy-busy-aspnet", &profiles));
    // All threads begin in the same place, by whatever way it was found.
    let roots: std::collections::BTreeSet<&str> = stacks_of(&profiles.on_cpu)
        .filter_map(|(_, stack)| stack.last().map(|frame| frame.name.as_str()))
        .filter(|name| !name.starts_with('['))
        .collect();
    assert!(roots.len() <= 3, "{roots:?}");
}

#[test]
fn stacks_beyond_the_kernels_limit_are_said_to_be_cut() {
    if !may_watch() {
        return;
    }
    let subject = Subject::of(shared().target("healthy-computation", Runtime::Net9).arg("depth=2000"));
    let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 300);
    let text = figures("deep calls", &profiles);
    println!("{text}");
    let quality = &profiles.quality;
    assert!(quality.at_limit > 0, "{text}");
    let marked = stacks_of(&profiles.on_cpu)
        .filter(|(_, stack)| stack.last().is_some_and(|frame| frame.name.starts_with("[cut")))
        .count();
    assert_eq!(marked as u64, quality.at_limit, "{text}");
    // What is neither complete nor cut is rare.
    assert!((quality.complete + quality.at_limit) * 100 >= quality.stacks * 98, "{text}");
    let deepest = stacks_of(&profiles.on_cpu).map(|(_, stack)| stack.len()).max();
    assert!(deepest > Some(100), "{deepest:?}");
}
