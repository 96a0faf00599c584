//! The report as users see it, and what is called a leak, from fixed observations.

use std::collections::HashSet;
use std::time::Duration;

use model::{Confidence, Pauses, WindowEnd};
use process_view::ProcessorTime;
use process_view::TaskState::Sleeping;

use super::SPEC;
use super::answer::answer;
use super::judge::{Looks, Ticks};
use crate::Settings;
use crate::about::About;
use crate::inside::Seen;
use crate::inside::specimen::{sight, thread};
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, ids, report};

const LIB: &str = "System.Private.CoreLib!System.Threading";
const TICKS: u64 = 100;
/// The moment of the second look, in ticks.
const NOW: u64 = 20_000_000;

fn about() -> About {
    About {
        cost: agent_cost(Pauses { count: 2, total_ns: 1_700_000, longest_ns: 900_000 }, 36_000, 2),
        notes: Vec::new(),
        measured: Duration::from_secs(10),
        end: WindowEnd::Completed,
    }
}

/// A thread that was started so many seconds ago and waits for an event since.
fn export(number: u32, seconds_ago: u64) -> Seen {
    let one = format!("{LIB}.WaitHandle.WaitOne");
    let frames = [&one, "Shop.Exporter.Upload@Exporter.cs:63", "Shop.Exporter.Run@Exporter.cs:20"];
    let name = format!("export-{number}");
    Seen {
        started: Some(NOW - seconds_ago * TICKS),
        processor: Some(ProcessorTime { ran_ns: 400_000, waited_ns: 0 }),
        ..thread(5000 + number, &name, Sleeping, &frames)
    }
}

/// One that takes work from a queue, and has done some.
fn consumer(number: u32, seconds_ago: u64) -> Seen {
    let take = "System.Collections.Concurrent!System.Collections.Concurrent.BlockingCollection`1.TryTakeWithNoTimeValidation";
    let wait = format!("{LIB}.SemaphoreSlim.Wait");
    let name = format!("mailer-{number}");
    Seen {
        started: Some(NOW - seconds_ago * TICKS),
        rests: Some(900),
        ..thread(6000 + number, &name, Sleeping, &[&wait, take, "Shop.Mailer.Work@Mailer.cs:9"])
    }
}

fn main_thread() -> Seen {
    thread(
        4242,
        "Shop.Api",
        Sleeping,
        &[&format!("{LIB}.Tasks.Task.Wait"), "Shop.Program.Main@Program.cs:12"],
    )
}

fn looks(before: Vec<Seen>, after: Vec<Seen>) -> Looks {
    let same: HashSet<u32> = before.iter().map(|thread| thread.inside).collect();
    Looks {
        before: sight(before),
        after: sight(after),
        same,
        main: 4242,
        window: Duration::from_secs(10),
        clock: Ticks { now: NOW, tick: Duration::from_secs(1) / 100 },
    }
}

fn asked(looks: &Looks) -> Answer {
    answer(looks, about(), &Settings::new(&SPEC, []).expect("settings"))
}

fn growing() -> Looks {
    let before: Vec<Seen> = (1..=12)
        .map(|number| export(number, 10 + u64::from(13 - number) * 2))
        .chain((1..=4).map(|number| consumer(number, 86_400)))
        .chain([main_thread()])
        .collect();
    let mut after = before.clone();
    after.extend((13..=17).map(|number| export(number, u64::from(18 - number) * 2 - 1)));
    looks(before, after)
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, asked(&growing()));
    assert_eq!(ids(&report), ["thread-leak"]);
    assert_eq!(report.findings[0].confidence, Confidence::High);
    check(&report);
}

#[test]
fn threads_in_code_that_was_compiled_anew_are_in_the_same_place() {
    let anew = |number: u32, seconds_ago: u64| {
        let wait = format!("{LIB}.WaitHandle.WaitOneNoCheck");
        let frames = [&wait, "Shop.Exporter.Upload@Exporter.cs:64", "Shop.Exporter.Run@Exporter.cs:20"];
        let like = thread(5000 + number, "export", Sleeping, &frames);
        Seen { frames: like.frames, why: like.why, ..export(number, seconds_ago) }
    };
    let before: Vec<Seen> = (1..=12).map(|number| export(number, 10 + u64::from(number))).collect();
    let mut after = before.clone();
    after.extend((13..=17).map(|number| anew(number, u64::from(18 - number) * 2 - 1)));
    assert_eq!(ids(&report(&SPEC, asked(&looks(before, after)))), ["thread-leak"]);
}

#[test]
fn consumers_that_wait_are_no_leak() {
    let consumers: Vec<Seen> =
        (1..=40).map(|number| consumer(number, 86_400 - u64::from(number))).chain([main_thread()]).collect();
    let answer = asked(&looks(consumers.clone(), consumers));
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    assert!(answer.summary.starts_with("40 of 41 threads did nothing"), "{}", answer.summary);
}

#[test]
fn workers_that_are_started_all_at_once_are_no_leak() {
    let before: Vec<Seen> = (1..=12).map(|number| export(number, 8_000)).collect();
    let mut after = before.clone();
    after.extend((13..=40).map(|number| export(number, 4)));
    let answer = asked(&looks(before, after));
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
}

#[test]
fn threads_that_come_and_go_are_no_leak() {
    let before: Vec<Seen> = (1..=20).map(|number| export(number, 10 + u64::from(number))).collect();
    let mut after: Vec<Seen> = before[8..].to_vec();
    after.extend((21..=28).map(|number| export(number, u64::from(29 - number))));
    let answer = asked(&looks(before, after));
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
}

#[test]
fn threads_that_piled_up_over_hours_are_a_leak_even_if_none_comes_now() {
    let piled: Vec<Seen> = (1..=30).map(|number| export(number, u64::from(number) * 120)).collect();
    let answer = asked(&looks(piled.clone(), piled));
    assert_eq!(answer.findings.len(), 1);
    assert_eq!(answer.findings[0].confidence, Confidence::Medium);
}

#[test]
fn a_thread_that_wakes_up_now_and_then_is_not_counted() {
    let before: Vec<Seen> = (1..=30).map(|number| export(number, u64::from(number) * 120)).collect();
    let mut after = before.clone();
    after.iter_mut().for_each(|thread| thread.rests = thread.rests.map(|rests| rests + 1));
    let answer = asked(&looks(before, after));
    assert!(answer.findings.is_empty());
    assert!(answer.summary.starts_with("No thread of the program"), "{}", answer.summary);
}

#[test]
fn a_moment_proves_nothing() {
    let answer = asked(&Looks { window: Duration::from_millis(100), ..growing() });
    assert!(answer.findings.is_empty());
}
