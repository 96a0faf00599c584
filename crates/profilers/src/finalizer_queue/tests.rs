//! The report as users see it, and what is called blocked, from fixed observations.

use std::time::Duration;

use model::{Pauses, Severity, WindowEnd};
use process_view::TaskState::Sleeping;

use super::SPEC;
use super::answer::answer;
use super::look::{Finalizer, Row, Seen, Spent};
use crate::Settings;
use crate::inside::specimen::thread;
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, ids, report};

fn spent() -> Spent {
    Spent {
        cost: agent_cost(Pauses { count: 4, total_ns: 380_000_000, longest_ns: 180_000_000 }, 62_000_000, 2),
        notes: Vec::new(),
        measured: Duration::from_secs(6),
        end: WindowEnd::Completed,
    }
}

fn finalizer(frames: &[&str]) -> Option<Finalizer> {
    Some(Finalizer::of(&thread(17, ".NET Finalizer", Sleeping, frames)))
}

const ENTER: &str = "System.Private.CoreLib!System.Threading.Monitor.Enter";
const FRAMES: [&str; 3] = [ENTER, "Shop.Gate.Take@Gate.cs:12", "Shop.Picture.Finalize@Picture.cs:40"];

fn row(name: &str, before: u64, now: u64) -> Row {
    Row { name: name.to_owned(), before, now, bytes: 24 * now, retained: Some(32_768 * now) }
}

fn seen(before: u64, now: u64) -> Seen {
    Seen {
        rows: vec![row("Shop.Picture", before, now), row("System.IO.FileStream", 2, 2)],
        waiting: (before + 2, now + 2),
        kept: Some(32_768 * now),
        before: finalizer(&FRAMES),
        now: finalizer(&FRAMES),
        unmoved: true,
        window: Duration::from_secs(5),
        collections: 2,
    }
}

fn asked(seen: &Seen, settings: &[&str]) -> Answer {
    answer(seen, spent(), &Settings::new(&SPEC, settings.iter().copied()).expect("settings"))
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, asked(&seen(1400, 2100), &[]));
    assert_eq!(ids(&report), ["blocked-finalizer"]);
    assert_eq!(report.findings[0].severity, Severity::Critical);
    assert_eq!(report.findings[0].culprit.as_ref().expect("a culprit").name, "Shop.Picture.Finalize");
    check(&report);
}

#[test]
fn a_thread_that_moves_is_behind_only_if_more_and_more_wait() {
    let moving = |before, now| Seen { unmoved: false, ..seen(before, now) };
    let found = asked(&moving(1400, 2100), &[]).findings;
    assert_eq!(found[0].id, "finalizer-behind");
    for few in [moving(6000, 1400), moving(10, 400)] {
        assert!(asked(&few, &[]).findings.is_empty());
    }
    let slow = asked(&moving(2100, 2090), &[]).findings;
    assert!(slow[0].evidence[1].seen.contains("it needs"), "{slow:?}");
    assert!(asked(&moving(1400, 2100), &["least=3000"]).findings.is_empty());
    let idle = Seen { before: finalizer(&[]), ..moving(1400, 2100) };
    assert!(asked(&idle, &[]).findings.is_empty(), "it had nothing to do at the first look");
}

#[test]
fn an_idle_thread_is_no_illness_and_is_said_to_be_idle() {
    let idle = Seen { before: finalizer(&[]), now: finalizer(&[]), unmoved: false, ..seen(0, 3) };
    let answer = asked(&idle, &[]);
    assert!(answer.findings.is_empty());
    assert!(answer.summary.contains("is idle"), "{}", answer.summary);
    let unknown = Seen { waiting: (0, 0), window: Duration::from_secs(5), ..Seen::default() };
    let answer = asked(&unknown, &[]);
    assert!(answer.summary.starts_with("No object waits"), "{}", answer.summary);
}

#[test]
fn looks_that_are_close_together_prove_nothing() {
    let close = Seen { window: Duration::from_millis(100), ..seen(1400, 2100) };
    let answer = asked(&close, &[]);
    assert!(answer.findings.is_empty());
    assert!(answer.notes.iter().any(|note| note.contains("--duration")));
}

#[test]
fn the_outermost_finalizer_of_the_program_is_named() {
    let base = "System.Private.CoreLib!System.IO.Stream.Finalize";
    let nested = finalizer(&[ENTER, "Shop.Log.Finalize", "Shop.Picture.Finalize", base]).expect("one");
    assert_eq!(nested.runs.expect("a finalizer").name, "Shop.Picture.Finalize");
    let framework = finalizer(&[ENTER, base]).expect("one");
    assert_eq!(framework.runs.expect("a finalizer").name, "System.IO.Stream.Finalize");
    assert!(finalizer(&[ENTER]).expect("one").runs.is_none());
}
