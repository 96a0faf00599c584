//! Direct callers are not missing.

use std::collections::BTreeMap;

use model::FrameKind;
use perf_sampler::Collect;
use testbed::Runtime;

use crate::support::{Subject, in_user_code, may_watch, stacks_of};

#[test]
fn a_leaf_has_its_caller() {
    if !may_watch() {
        return;
    }
    for runtime in Runtime::ALL {
        let subject = Subject::start("hot-method", runtime);
        let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 600);
        let (mut right, mut all) = (0, 0);
        let mut others = BTreeMap::<String, u32>::new();
        for (_, stack) in stacks_of(&profiles.on_cpu) {
            // The loop that calls it never returns: its code was replaced while it ran.
            if let [leaf, caller, by, ..] = in_user_code(&stack)
                && leaf.name == "Pricing.DiscountBook.FindBest"
            {
                all += 1;
                let callers = (caller.name.as_str(), by.name.as_str());
                right += u32::from(callers == ("Pricing.Till.ServeCustomers", "Pricing.Till.Run.(lambda 0)"));
                *others.entry(format!("{callers:?}")).or_default() += 1;
            }
        }
        assert!(all > 300 && right * 200 >= all * 199, "{runtime}: {right} of {all}: {others:?}");
    }
}

#[test]
fn a_stub_has_its_caller() {
    if !may_watch() {
        return;
    }
    // Much is written into objects here: the write barrier is hot.
    let subject = Subject::start("allocation-pressure", Runtime::Net9);
    let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 3000);
    let mut kinds = BTreeMap::<&str, u32>::new();
    let (mut right, mut all) = (0, 0);
    for (_, stack) in stacks_of(&profiles.on_cpu) {
        if let [stub, caller, ..] = in_user_code(&stack)
            && stub.kind == FrameKind::Stub
        {
            all += 1;
            right += u32::from(caller.kind == FrameKind::Managed);
            *kinds.entry(&stub.name).or_default() += 1;
        }
    }
    println!("{right} of {all}: {kinds:?}");
    assert!(all > 0 && right * 100 >= all * 95, "{right} of {all}: {kinds:?}");
    assert!(kinds.contains_key("[stub: write barrier]"), "{kinds:?}");
}

/// Small methods that keep no frame, called by one large method alone.
#[test]
fn a_frameless_leaf_has_its_caller() {
    if !may_watch() {
        return;
    }
    const ENGINE: &str = "System.Text.RegularExpressions.RegexInterpreter.";
    let subject = Subject::start("regex-backtracking", Runtime::Net9);
    let profiles = subject.profile(Collect::OnCpu, |progress| progress.samples >= 1500);
    let (mut right, mut all) = (0, 0);
    let mut others = BTreeMap::<String, u32>::new();
    for (_, stack) in stacks_of(&profiles.on_cpu) {
        if let [leaf, caller, ..] = in_user_code(&stack)
            && let Some("Backtrack" | "TrackPush" | "TrackPush2") = leaf.name.strip_prefix(ENGINE)
        {
            all += 1;
            right += u32::from(caller.name.strip_prefix(ENGINE) == Some("TryMatchAtCurrentPosition"));
            *others.entry(caller.name.clone()).or_default() += 1;
        }
    }
    let put_back = profiles.quality.callers_put_back;
    println!("{right} of {all}, {put_back} put back");
    assert!(put_back > 0 && all > 50 && right * 100 >= all * 99, "{right} of {all}: {others:?}");
}
