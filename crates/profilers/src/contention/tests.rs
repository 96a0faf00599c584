//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Cost, Report, WindowEnd};

use super::SPEC;
use super::answer::answer;
use super::named::{AllWaited, Owners, Waited};
use super::watch::Sum;
use crate::Settings;
use crate::about::About;
use crate::shortage::Shortage;
use crate::specimen::{self, frame, frame_at, ids};

const CORE: &str = "/dotnet/System.Private.CoreLib.dll";
const SHOP: &str = "/app/Shop.Api.dll";

fn sum(count: u64, millis: u64) -> Sum {
    Sum { count, ns: millis * 1_000_000 }
}

fn sick() -> AllWaited {
    let reserve = || {
        vec![
            frame("System.Threading.Monitor.Enter", CORE),
            frame_at("Shop.Stock.Reserve", SHOP, "/src/Shop/Stock.cs", 66),
            frame("Shop.Orders.Take", SHOP),
        ]
    };
    AllWaited {
        locks: vec![
            Waited {
                all: sum(2_300, 21_850),
                longest_ns: 31_000_000,
                threads: 6,
                going_on: 4,
                waiters: vec![(reserve(), sum(2_300, 21_850))],
                owner_threads: vec![
                    ("order-3 (tid 4301)".into(), sum(420, 4_000)),
                    ("tid 4302".into(), sum(400, 3_900)),
                ],
                owners: vec![(reserve(), 7_900_000_000)],
                slowdown: 1.0,
            },
            Waited {
                all: sum(3, 1),
                longest_ns: 400_000,
                threads: 2,
                waiters: vec![(vec![frame("Shop.Log.Write", SHOP)], sum(3, 1))],
                ..Waited::default()
            },
        ],
        native: sum(2, 1),
        known_by: Owners::Taken,
        ..AllWaited::default()
    }
}

fn report(waited: &AllWaited) -> Report {
    let about = About {
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
        cost: Cost { method: "events".into(), bytes: 500_000, events: 4_600, ..Cost::default() },
        notes: Vec::new(),
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(waited, &about, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&sick());
    assert_eq!(ids(&report), ["lock-contention"]);
    assert_eq!(report.findings[0].culprit.as_ref().unwrap().line, Some(66));
    specimen::check(&report);
}

#[test]
fn short_waits_are_no_illness() {
    let mut healthy = sick();
    healthy.locks[0].all = sum(2_300, 900);
    assert!(report(&healthy).findings.is_empty());
}

#[test]
fn waits_of_threads_that_get_no_processor_are_not_the_locks_fault() {
    let mut starved = sick();
    starved.locks[0].all = sum(33, 4_000);
    assert_eq!(ids(&report(&starved)), ["lock-contention"]);
    starved.locks[0].slowdown = 4.0;
    starved.shortage = Shortage::fixed(1_000_000_000, 3_000_000_000);
    let report = report(&starved);
    assert!(report.findings.is_empty());
    assert!(report.notes[0].starts_with("the process is short of CPU: its threads took 4.0 times as long"));
}

#[test]
fn a_few_waits_are_an_illness_only_if_they_are_long() {
    let mut few = sick();
    few.locks[0].all = sum(3, 2_700);
    few.locks[0].longest_ns = 900_000_000;
    assert!(report(&few).findings.is_empty());
    few.locks[0].longest_ns = 2_000_000_000;
    assert_eq!(ids(&report(&few)), ["lock-contention"]);
}

#[test]
fn what_the_owner_does_is_said_when_it_was_sampled() {
    let mut sampled = sick();
    sampled.known_by = Owners::Sampled;
    sampled.locks[0].owners = vec![(vec![frame("Shop.Stock.Recount", SHOP)], 90), (vec![], 10)];
    let report = report(&sampled);
    let seen = report.findings[0].evidence.iter().find(|evidence| evidence.what == "Owner meanwhile");
    assert_eq!(seen.unwrap().seen, "in Shop.Stock.Recount (90 % of 100 samples)");
}

#[test]
fn no_wait_is_an_answer() {
    let report = report(&AllWaited::default());
    assert_eq!(report.summary, "No thread waited for a lock in 5 s.");
    assert!(report.sections.is_empty() && report.findings.is_empty() && report.notes.is_empty());
}
