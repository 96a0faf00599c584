//! The report as users see it, from fixed observations.

use std::time::Duration;

use model::{Cost, Report, WindowEnd};
use runtime_events::gc::GcReason;

use super::SPEC;
use super::answer::answer;
use super::watch::{Allocated, Picked, Picks};
use crate::Settings;
use crate::about::About;
use crate::collections::{GcPause, Style};
use crate::specimen::{self, frame, frame_at, ids};

const CORE: &str = "/dotnet/System.Private.CoreLib.dll";
const SHOP: &str = "/app/Shop.Api.dll";

fn picked(count: u64) -> Picked {
    let mut sum = Picked::default();
    for _ in 0..count {
        sum.add(&Picked::one(104_000.0, 0.0));
    }
    sum
}

fn pauses(count: u64, millis: u64, reason: GcReason) -> Vec<GcPause> {
    let pause = |n| GcPause {
        begin_ns: n * 40_000_000,
        stopping_ns: 20_000,
        total_ns: millis * 1_000_000,
        generation: Some(1),
        style: Style::Blocking,
        reason: Some(reason),
        trigger: None,
    };
    (0..count).map(pause).collect()
}

fn sick() -> Allocated {
    let compose = || frame_at("Shop.Pages.Builder.Compose", SHOP, "/src/Shop/Builder.cs", 66);
    Allocated {
        picked: vec![
            (
                "Shop.Pages.Element".into(),
                vec![compose(), frame("Shop.Pages.Renderer.Render", SHOP)],
                picked(12_000),
            ),
            ("System.String".into(), vec![frame("System.String.Ctor", CORE), compose()], picked(7_000)),
            ("System.Byte[]".into(), vec![frame("System.Text.Encoding.GetBytes", CORE)], picked(9)),
        ],
        picks: Picks::Ticks,
        pauses: pauses(120, 14, GcReason::AllocSmall),
        begun: [3, 112, 5],
        survived_bytes: 1_900_000_000,
        ..Allocated::default()
    }
}

fn report(allocated: &Allocated) -> Report {
    let about = About {
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
        cost: Cost { method: "events".into(), bytes: 2_600_000, events: 20_000, ..Cost::default() },
        notes: Vec::new(),
    };
    let settings = Settings::new(&SPEC, []).expect("defaults");
    specimen::report(&SPEC, answer(allocated, &about, &settings))
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&sick());
    assert_eq!(ids(&report), ["allocation-pressure"]);
    assert_eq!(report.findings[0].culprit.as_ref().unwrap().name, "Shop.Pages.Builder.Compose");
    specimen::check(&report);
}

#[test]
fn much_that_dies_young_is_no_illness() {
    let healthy = Allocated { pauses: pauses(120, 1, GcReason::AllocSmall), ..sick() };
    assert!(report(&healthy).findings.is_empty());
}

#[test]
fn the_part_of_a_pause_behind_the_window_does_not_count() {
    let mut late = sick();
    late.pauses = pauses(125, 1, GcReason::AllocSmall);
    late.pauses.last_mut().unwrap().total_ns = 60_000_000_000;
    assert!(report(&late).findings.is_empty());
}

#[test]
fn forced_collections_are_not_the_price_of_allocations() {
    let forced = Allocated { pauses: pauses(120, 14, GcReason::Induced), ..sick() };
    assert!(report(&forced).findings.is_empty());
}

#[test]
fn next_to_nothing_is_an_answer() {
    let report = report(&Allocated::default());
    assert!(report.summary.starts_with("Next to nothing was allocated in 5 s"), "{}", report.summary);
    assert!(report.sections.is_empty() && report.findings.is_empty() && report.notes.is_empty());
}
