//! The report as users see it, from fixed observations.

use std::collections::HashMap;
use std::time::Duration;

use model::{Cost, Report, Severity, WindowEnd};
use runtime_events::gc::GcReason;
use stacks::StackKey;

use super::answer::answer;
use super::{Paused, SPEC};
use crate::Settings;
use crate::about::About;
use crate::collections::{GcPause, Style};
use crate::shortage::Shortage;
use crate::specimen::{self, frame, frame_at, ids};

const CORE: &str = "/dotnet/System.Private.CoreLib.dll";
const SHOP: &str = "/app/Shop.Api.dll";
const REPLACE: StackKey = StackKey(1);
const COLLECT: StackKey = StackKey(2);

fn pause(at_ms: u64, millis: u64, generation: u32, reason: GcReason, trigger: Option<StackKey>) -> GcPause {
    GcPause {
        begin_ns: at_ms * 1_000_000,
        stopping_ns: 40_000,
        total_ns: millis * 1_000_000,
        generation: Some(generation),
        style: Style::Blocking,
        reason: Some(reason),
        trigger,
    }
}

fn paused(pauses: Vec<GcPause>) -> Paused {
    let stacks = HashMap::from([
        (
            REPLACE,
            vec![
                frame_at("Shop.Search.Index.Replace", SHOP, "/src/Shop/Index.cs", 70),
                frame("Shop.Search.Index.Update", SHOP),
            ],
        ),
        (
            COLLECT,
            vec![
                frame("System.GC.Collect", CORE),
                frame_at("Shop.Janitor.Trim", SHOP, "/src/Shop/Janitor.cs", 47),
                frame("Shop.Janitor.Loop", SHOP),
            ],
        ),
    ]);
    Paused { pauses, stacks, other_stops: 3, unkept: 0, shortage: Shortage::default() }
}

fn sick() -> Paused {
    let mut pauses: Vec<GcPause> =
        (0..40).map(|n| pause(n * 200, 2 + n % 5, 0, GcReason::AllocSmall, Some(REPLACE))).collect();
    pauses.push(pause(3_300, 240, 2, GcReason::AllocSmall, Some(REPLACE)));
    pauses.push(pause(7_300, 310, 2, GcReason::AllocSmall, Some(REPLACE)));
    pauses.push(GcPause { style: Style::Background, ..pause(8_000, 1, 2, GcReason::AllocSmall, None) });
    for n in 0..4 {
        pauses.push(pause(100 + n * 2_000, 60, 2, GcReason::Induced, Some(COLLECT)));
    }
    paused(pauses)
}

fn report(paused: &Paused) -> Report {
    let about = About {
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
        cost: Cost { method: "events".into(), bytes: 90_000, events: 800, ..Cost::default() },
        notes: Vec::new(),
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(paused, &about, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&sick());
    assert_eq!(ids(&report), ["induced-gc", "long-gc-pauses"]);
    specimen::check(&report);
}

#[test]
fn one_long_pause_is_no_habit_unless_it_is_very_long() {
    let one = |millis| paused(vec![pause(100, millis, 2, GcReason::AllocSmall, Some(REPLACE))]);
    assert!(report(&one(900)).findings.is_empty());
    assert_eq!(ids(&report(&one(1_000))), ["long-gc-pauses"]);
}

#[test]
fn pauses_of_a_collector_that_gets_no_processor_are_not_its_fault() {
    let mut starved = sick();
    starved.pauses.retain(|pause| !pause.is_induced());
    starved.shortage = Shortage::fixed(1_000_000_000, 3_000_000_000);
    assert!(report(&starved).findings.is_empty());
}

#[test]
fn one_forced_collection_is_no_habit_and_a_tools_is_not_the_programs() {
    let forced = |count: u64, trigger| {
        paused((0..count).map(|n| pause(n * 100, 5, 2, GcReason::Induced, trigger)).collect())
    };
    assert!(report(&forced(1, Some(COLLECT))).findings.is_empty());
    assert!(report(&forced(9, None)).findings.is_empty());
    assert_eq!(ids(&report(&forced(2, Some(COLLECT)))), ["induced-gc"]);
}

#[test]
fn young_forced_collections_that_cost_nothing_are_worth_knowing_and_no_more() {
    let forced = |generation, millis| {
        let pauses = (0..10).map(|n| pause(n * 100, millis, generation, GcReason::Induced, Some(COLLECT)));
        let report = report(&paused(pauses.collect()));
        report.findings.iter().map(|finding| finding.severity).collect::<Vec<_>>()
    };
    assert_eq!(forced(0, 1), [Severity::Info]);
    assert_eq!(forced(0, 30), [Severity::Warning], "3 % of the time");
    assert_eq!(forced(2, 1), [Severity::Warning]);
}

#[test]
fn no_collection_is_an_answer() {
    let report = report(&paused(Vec::new()));
    assert_eq!(report.summary, "No garbage collection in 10 s.");
    assert!(report.sections.is_empty() && report.findings.is_empty());
}
