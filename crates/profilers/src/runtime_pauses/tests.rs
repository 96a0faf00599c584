//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Cost, Report, WindowEnd};

use super::answer::answer;
use super::{SPEC, Stop, Stopped, Why};
use crate::Settings;
use crate::about::About;
use crate::collections::Style;
use crate::shortage::Shortage;
use crate::specimen::{self, ids};

fn stop(at_ms: u64, micros: u64, why: Why) -> Stop {
    let (detail, by) = match why {
        Why::Collection(..) => (Some("allocation"), Some("Shop.Search.Index.Replace:70")),
        _ => (None, Some("thread .NET EventPipe")),
    };
    Stop {
        begin_ns: at_ms * 1_000_000,
        stopping_ns: 40_000,
        total_ns: micros * 1_000,
        why,
        detail,
        by: by.map(str::to_owned),
    }
}

const YOUNG: Why = Why::Collection(Some(0), Style::Blocking);
const FULL: Why = Why::Collection(Some(2), Style::Blocking);

fn stopped(stops: Vec<Stop>) -> Stopped {
    Stopped { stops, unkept: 0, shortage: Shortage::default() }
}

fn report(stopped: &Stopped) -> Report {
    let about = About {
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
        cost: Cost { method: "events".into(), bytes: 90_000, events: 800, ..Cost::default() },
        notes: Vec::new(),
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(stopped, &about, &settings))
}

fn sick() -> Stopped {
    let mut stops: Vec<Stop> = (0..40).map(|n| stop(n * 200, 2_000 + n % 5 * 900, YOUNG)).collect();
    stops.push(stop(3_300, 240_000, FULL));
    stops.push(stop(7_300, 310_000, FULL));
    stops.push(Stop {
        detail: None,
        by: None,
        ..stop(8_000, 700, Why::Collection(Some(2), Style::Background))
    });
    stops.extend((0..700).map(|n| stop(n * 14, 800 + n % 7 * 60, Why::Unspecified)));
    let by = Some("thread apm".to_owned());
    stops.push(Stop { by, ..stop(5_000, 2_400, Why::Profiler) });
    stopped(stops)
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&sick());
    assert_eq!(ids(&report), ["long-runtime-pauses", "stopped-by-tools"]);
    specimen::check(&report);
}

#[test]
fn one_long_pause_is_no_habit_unless_it_is_very_long() {
    let one = |micros| stopped(vec![stop(100, micros, FULL)]);
    assert!(report(&one(900_000)).findings.is_empty());
    assert_eq!(ids(&report(&one(1_000_000))), ["long-runtime-pauses"]);
}

#[test]
fn a_tool_that_looks_now_and_then_is_welcome() {
    let looks = |count, micros| stopped((0..count).map(|n| stop(n, micros, Why::Profiler)).collect());
    assert!(report(&looks(15, 90_000)).findings.is_empty());
    assert!(report(&looks(400, 1_000)).findings.is_empty());
    assert_eq!(ids(&report(&looks(600, 1_000))), ["stopped-by-tools"]);
}

#[test]
fn pauses_of_a_process_that_gets_no_processor_are_not_its_fault() {
    let starved = Stopped { shortage: Shortage::fixed(1_000_000_000, 9_000_000_000), ..sick() };
    assert!(report(&starved).findings.is_empty());
}

#[test]
fn no_stop_is_an_answer() {
    let report = report(&stopped(Vec::new()));
    assert_eq!(report.summary, "All threads ran through 10 s without a stop.");
    assert!(report.sections.is_empty() && report.findings.is_empty());
}
