//! The report as users see it, from fixed observations.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use model::{Cost, Pauses, WindowEnd};
use stacks::StackKey;

use super::SPEC;
use super::answer::answer;
use super::clocks::Used;
use super::collect::{Collected, ThreadCpu};
use super::weigh::Weighed;
use crate::Settings;
use crate::sampling::Calls;
use crate::sampling::examples::calls;
use crate::specimen::{check, ids, report};

const MS: u64 = 1_000_000;

fn used(name: &str, ms: u64) -> Used {
    Used { name: name.to_owned(), ran_ns: ms * MS, waited_ns: 0 }
}

fn collected(calls: Calls, stacks: &[(StackKey, u64)]) -> Collected {
    let stacks: HashMap<StackKey, u64> = stacks.iter().map(|(stack, ms)| (*stack, ms * MS)).collect();
    let seen: u64 = stacks.values().sum();
    let thread =
        ThreadCpu { used: used("pricing", seen / MS + 40), weighed: Weighed { stacks, unseen_ns: 0 } };
    let outside = [
        (4300, used(".NET Server GC", 250)),
        (4301, used(".NET EventPipe", 90)),
        (4302, used(".NET Tiered Com", 30)),
    ];
    Collected {
        calls,
        threads: BTreeMap::from([(4250, thread)]),
        outside: BTreeMap::from(outside),
        samples: 3_300,
        readings: 1_240,
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
        cost: Cost {
            method: "samples".to_owned(),
            pauses: Pauses { count: 3_300, total_ns: 350 * MS, longest_ns: 2 * MS },
            bytes: 1_200_000,
            events: 40_000,
            ..Cost::default()
        },
        notes: Vec::new(),
    }
}

fn settings() -> Settings {
    Settings::new(&SPEC, []).expect("defaults")
}

#[test]
fn the_report_looks_as_accepted() {
    let (calls, keys) = calls(&[
        &[
            "System.Text.RegularExpressions!System.Text.RegularExpressions.RegexInterpreter.Go",
            "System.Text.RegularExpressions!System.Text.RegularExpressions.Regex.IsMatch",
            "Shop.Discounts.FindBest",
            "Shop.Till.Serve",
        ],
        &["Shop.Discounts.FindBest", "Shop.Till.Serve"],
        &["Shop.Till.Total", "Shop.Till.Serve"],
    ]);
    let report = report(
        &SPEC,
        answer(&collected(calls, &[(keys[0], 3_000), (keys[1], 1_000), (keys[2], 120)]), &settings()),
    );
    assert_eq!(ids(&report), ["hot-method"]);
    assert_eq!(report.cost.target_cpu_ns, Some(90 * MS));
    check(&report);
}

/// A caller that keeps no frame of its own for a while is missing in many stacks, and seems to take less than what it calls.
#[test]
fn a_method_is_hot_though_many_of_its_stacks_lack_the_caller() {
    let (calls, keys) = calls(&[
        &["Tickets.Api.Booking.Burn", "Tickets.Api.BoxOffice.Run", "Kestrel!Kestrel.Connection.Execute"],
        &["Tickets.Api.Booking.Burn", "Kestrel!Kestrel.Connection.Execute"],
    ]);
    let report = report(&SPEC, answer(&collected(calls, &[(keys[0], 4_000), (keys[1], 600)]), &settings()));
    assert_eq!(ids(&report), ["hot-method"]);
    let culprit = report.findings[0].culprit.as_ref().expect("a culprit");
    assert_eq!(culprit.name, "Tickets.Api.Booking.Burn");
}

#[test]
fn work_that_is_spread_is_nobodys_fault() {
    let (calls, keys) = calls(&[
        &["Shop.Sieve", "Shop.Compute"],
        &["Shop.Multiply", "Shop.Compute"],
        &["Shop.Fill", "Shop.Compute"],
    ]);
    let collected = collected(calls, &[(keys[0], 2_000), (keys[1], 1_500), (keys[2], 1_000)]);
    let answer = answer(&collected, &settings());
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    assert!(answer.summary.starts_with("Most CPU: Shop.Sieve (4"), "{}", answer.summary);
}

#[test]
fn an_idle_process_is_not_short_of_processors() {
    let (calls, keys) = calls(&[&["Shop.Poll"]]);
    let answer = answer(&collected(calls, &[(keys[0], 1_900)]), &settings());
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
}

#[test]
fn a_process_that_was_killed_still_has_its_cpu_time() {
    let (calls, keys) = calls(&[&["System.Private.CoreLib!?"]]);
    let answer = answer(&collected(calls, &[(keys[0], 4_000)]), &settings());
    assert!(answer.summary.ends_with("the names of its methods did not come."), "{}", answer.summary);
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
}
