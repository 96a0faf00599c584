//! The report as users see it, from fixed observations.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{Cost, Pauses, Severity, WindowEnd};

use super::SPEC;
use super::answer::answer;
use super::collect::{Collected, Told};
use crate::Settings;
use crate::sampling::examples::calls;
use crate::sampling::{Kinds, Mode};
use crate::specimen::{check, ids, report};

const LIB: &str = "System.Private.CoreLib!System.Threading";
const SECOND: u64 = 1_000_000_000;

fn points(values: &[f64]) -> Vec<(u64, f64)> {
    (1..).map(|second| second * SECOND).zip(values.iter().copied()).collect()
}

/// Two pool threads, blocked or running.
fn collected(told: Told, mode: Mode) -> Collected {
    let dispatch = format!("{LIB}.ThreadPoolWorkQueue.Dispatch");
    let wait = format!("{LIB}.ManualResetEventSlim.Wait");
    let task = format!("{LIB}.Tasks.Task.Wait");
    let (calls, keys) = calls(&[
        &[&wait, &task, "Shop.Prices.Get", "Shop.Orders.Add", &dispatch],
        &["Shop.Prices.Parse", "Shop.Orders.Add", &dispatch],
    ]);
    let stack = if mode == Mode::Managed { keys[1] } else { keys[0] };
    Collected {
        told,
        calls,
        kinds: Kinds::Tell,
        samples: BTreeMap::from([((7, Some(stack), mode), 300), ((8, Some(stack), mode), 300)]),
        rounds: 300,
        looks: 3,
        measured: Duration::from_secs(6),
        end: WindowEnd::Completed,
        cost: Cost {
            method: "events".to_owned(),
            pauses: Pauses { count: 300, total_ns: 20_000_000, longest_ns: 300_000 },
            bytes: 400_000,
            events: 9_000,
            ..Cost::default()
        },
        notes: Vec::new(),
    }
}

fn starving() -> Told {
    Told {
        workers: vec![(SECOND / 2, 4), (SECOND, 5), (3 * SECOND, 7)],
        threads: points(&[4.0, 5.0, 5.0, 6.0, 7.0]),
        queue: points(&[100.0, 180.0, 270.0, 350.0, 440.0]),
        done: points(&[1.0, 0.0, 0.0, 1.0, 0.0]),
        reasons: BTreeMap::from([("starvation", 3)]),
        starved: 3,
        limits: Some((2, 200)),
    }
}

fn settings() -> Settings {
    Settings::new(&SPEC, []).expect("defaults")
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, answer(&collected(starving(), Mode::Outside), &settings()));
    assert_eq!(ids(&report), ["thread-pool-starvation", "sync-over-async"]);
    assert_eq!(report.findings[0].severity, Severity::Critical);
    check(&report);
}

#[test]
fn a_busy_pool_does_not_starve() {
    // The same numbers, but the threads run: the machine is too small, not the pool.
    let answer = answer(&collected(starving(), Mode::Managed), &settings());
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
}

#[test]
fn work_that_waits_for_a_moment_is_no_starvation() {
    // One item always waits, but two thousand are done in a second: each waits for half a millisecond.
    let told = Told {
        queue: points(&[1.0, 1.0, 1.0]),
        done: points(&[2000.0, 2000.0, 2000.0]),
        starved: 0,
        reasons: BTreeMap::new(),
        ..starving()
    };
    let answer = answer(&collected(told, Mode::Outside), &settings());
    assert!(
        answer.findings.iter().all(|finding| finding.id != "thread-pool-starvation"),
        "{:?}",
        answer.findings
    );
}

#[test]
fn a_queue_that_is_worked_off_is_a_warning_at_most() {
    let told = Told { queue: points(&[90.0, 40.0, 0.0]), ..starving() };
    let answer = answer(&collected(told, Mode::Outside), &settings());
    assert_eq!(answer.findings[0].severity, Severity::Warning);
    let told = Told { queue: points(&[0.0, 0.0, 0.0]), ..starving() };
    let answer = super::answer::answer(&collected(told, Mode::Outside), &settings());
    assert!(answer.findings.iter().all(|finding| finding.id == "sync-over-async"), "{:?}", answer.findings);
}
