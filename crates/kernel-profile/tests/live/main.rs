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
    println!(
        "{what}: complete {:.2} %, running {:.2}, blocked {:.2}, named {:.2} %, {quality:?}",
        quality.complete_percent(),
        quality.running_complete_percent(),
        quality.blocked_complete_percent(),
        quality.named_percent()
    );
    for profile in [&profiles.on_cpu, &profiles.off_cpu, &profiles.ready] {
        println!("  {}: {} samples", profile.title, profile.samples.len());
        let stacks =
            || profile.samples.iter().filter_map(|sample| sample.stack).map(|stack| frames(profile, stack));
        println!(
            "    outermost: {:?}",
            commonest(
                stacks().filter_map(|stack| stack
                    .last()
                    .map(|frame| format!("{:?} {}", frame.module, frame.name)))
            )
        );
        let mut shown = 0;
        for stack in stacks() {
            let broken = stack.last().is_none_or(|last| {
                !last.name.starts_with("__clone")
                    && !last.name.starts_with("start_thread")
                    && last.name != "_start"
            });
            let stubby = stack.iter().skip(1).any(|frame| frame.name == "[stub]");
            if (broken || stubby && shown < 2) && shown < 8 {
                shown += 1;
                println!(
                    "    BROKEN {broken} {:?}",
                    stack.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>()
                );
            }
        }
        println!(
            "    unnamed: {:?}",
            commonest(
                stacks()
                    .flatten()
                    .filter(|frame| frame.name.contains('?')
                        || frame.name.starts_with('[') && !frame.name.starts_with("[stub: "))
                    .map(|frame| frame.name.clone())
            )
        );
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
