//! Profiles of real .NET programs.

mod support;

use std::collections::BTreeMap;

use kernel_profile::Profiles;
use perf_sampler::Collect;
use stacks::Profile;
use support::{Subject, frames, may_watch};
use testbed::Runtime;

/// The commonest of something.
fn commonest(of: impl Iterator<Item = String>) -> Vec<(usize, String)> {
    let mut counts = BTreeMap::<String, usize>::new();
    of.for_each(|one| *counts.entry(one).or_default() += 1);
    let mut counts: Vec<_> = counts.into_iter().map(|(what, count)| (count, what)).collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts.truncate(12);
    counts
}

fn tell(what: &str, profiles: &Profiles) {
    let quality = &profiles.quality;
    println!("{what}: {:.2} % complete, {:.2} % named, {quality:?}", quality.complete_percent(), quality.named_percent());
    for profile in [&profiles.on_cpu, &profiles.off_cpu, &profiles.ready] {
        println!("  {}: {} samples", profile.title, profile.samples.len());
        let stacks = || profile.samples.iter().filter_map(|sample| sample.stack).map(|stack| frames(profile, stack));
        println!("    outermost: {:?}", commonest(stacks().filter_map(|stack| stack.last().map(|frame| format!("{:?} {}", frame.module, frame.name)))));
        println!("    unnamed: {:?}", commonest(stacks().flatten().filter(|frame| frame.name.contains('?') || frame.name.starts_with('[') || frame.name.contains("+0x")).map(|frame| frame.name.clone())));
    }
}

#[test]
fn survey() {
    if !may_watch() {
        return;
    }
    let wanted = std::env::var("SURVEY").unwrap_or_default();
    for (patient, runtime) in [
        ("hot-method", Runtime::Net9),
        ("healthy-busy-aspnet", Runtime::Net9),
        ("web-two-routes", Runtime::Net8),
        ("web-two-routes", Runtime::Net31),
        ("jit-storm", Runtime::Net9),
        ("jit-storm", Runtime::Net8),
        ("healthy-plugin-host", Runtime::Net9),
        ("stranger", Runtime::Net10),
        ("regex-backtracking", Runtime::Net9),
        ("allocation-pressure", Runtime::Net8),
        ("lock-contention", Runtime::Net9),
    ] {
        let name = format!("{patient} {runtime}");
        if !name.contains(&wanted) {
            continue;
        }
        let subject = Subject::start(patient, runtime);
        let profiles = subject.profile(Collect::Both, |progress| progress.since.elapsed().as_secs() >= 3);
        tell(&name, &profiles);
    }
}

#[expect(dead_code, reason = "kept for the survey")]
fn unused(_: &Profile) {}
