//! The text of perf script, read back by a reader of the real one.

use std::collections::BTreeMap;

use crate::support::{Row, hostile, profile, random_rows};
use inferno::collapse::Collapse;
use inferno::collapse::perf::Folder;
use profile_formats::{Grouping, by_id};
use proptest::prelude::*;
use stacks::{Profile, Weight};

fn text(id: &str, profile: &Profile, grouping: Grouping) -> String {
    let mut bytes = Vec::new();
    by_id(id).expect("it is there").write(profile, grouping, &mut bytes).expect("memory");
    String::from_utf8(bytes).expect("text")
}

/// Weights by stack, from folded lines.
fn weights(folded: &str, is_with_thread: bool) -> BTreeMap<String, u64> {
    let mut weights = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight");
        let stack = if is_with_thread { stack.split_once(';').expect("a thread").1 } else { stack };
        *weights.entry(stack.to_owned()).or_default() += weight.parse::<u64>().expect("a number");
    }
    weights
}

fn collapsed(script: &str) -> BTreeMap<String, u64> {
    let mut folded = Vec::new();
    Folder::default().collapse(script.as_bytes(), &mut folded).expect("it can be read");
    weights(&String::from_utf8(folded).expect("text"), true)
}

#[test]
fn a_small_profile_looks_as_it_did() {
    let script = text("perf-script", &hostile(Weight::Nanoseconds), Grouping::PerThread);
    golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/time-threads.perf.txt"), &script);
    assert!(!script.contains('\u{1b}') && !script.contains('\u{202e}'));
}

#[test]
fn a_long_sample_is_as_many_events_as_it_lasts() {
    let rows: Vec<Row> = vec![(vec![1], 0, 10_101_010), (vec![2], 0, 1_000_000_000), (vec![3], 1, 999)];
    let profile = profile(Weight::Nanoseconds, &rows);
    let script = text("perf-script", &profile, Grouping::PerThread);
    let events = script.lines().filter(|line| line.ends_with(" thread-time:")).count();
    assert_eq!(events, 1 + 100 + 1);
    assert_eq!(collapsed(&script), weights(&text("folded", &profile, Grouping::Merged), false));
    let times: Vec<f64> = script
        .lines()
        .filter(|line| line.ends_with(':'))
        .map(|line| {
            line.split(": ").next().and_then(|head| head.rsplit(' ').next()).unwrap().parse().unwrap()
        })
        .collect();
    assert!(times.is_sorted(), "as perf prints them");
}

#[test]
fn names_in_parentheses_are_frames_too() {
    for (name, module) in [("(idle)", None), ("", Some("("))] {
        let mut profile = profile(Weight::Count, &[(vec![1, 2], 0, 7), (vec![1], 0, 5)]);
        profile.frames[0].name = name.to_owned();
        profile.frames[0].module = module.map(str::to_owned);
        let script = text("perf-script", &profile, Grouping::PerThread);
        assert_eq!(collapsed(&script).values().sum::<u64>(), 12, "{script}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn folding_it_gives_the_folded_format(rows in random_rows(), is_time in any::<bool>()) {
        // A stack that is not known is called differently in the two, and a weight of nothing is not an event.
        let rows: Vec<Row> = rows.into_iter().filter(|(stack, _, weight)| !stack.is_empty() && *weight > 0).collect();
        let weight = if is_time { Weight::Nanoseconds } else { Weight::Count };
        let profile = profile(weight, &rows);
        let script = text("perf-script", &profile, Grouping::PerThread);
        prop_assert_eq!(collapsed(&script), weights(&text("folded", &profile, Grouping::Merged), false));
    }

    // The reader itself panics on some names that are not ASCII.
    #[test]
    fn any_names_leave_every_event_readable(
        name in "[\\x00-\\x7f]{0,30}",
        thread in "[\\x00-\\x7f]{0,20}",
        module in prop::option::of("[\\x00-\\x7f]{0,12}"),
    ) {
        let mut profile = profile(Weight::Count, &[(vec![1, 2], 0, 7), (vec![2], 0, 5)]);
        profile.threads[0].name = Some(thread);
        profile.frames[0].name = name;
        profile.frames[0].module = module;
        let script = text("perf-script", &profile, Grouping::PerThread);
        prop_assert_eq!(script.lines().filter(|line| line.starts_with('\t')).count(), 3);
        let total: u64 = collapsed(&script).values().sum();
        prop_assert_eq!(total, 12, "{}", script);
    }
}
