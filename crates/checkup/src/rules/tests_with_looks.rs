//! What the rules say of signs and closer looks together.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Cost, Culprit, CulpritKind, Frame, FrameKind, ProfilerInfo,
    REPORT_SCHEMA, Report, Section, Severity, Stack, Stacks, Table, Timestamp, Unit, Window, WindowEnd,
};

use super::tests::somebody;
use super::*;
use crate::signs::{Course, Descriptors, System};
use crate::steps::Taken;

fn report(findings: Vec<Finding>, sections: Vec<Section>) -> Report {
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: String::new(),
        profiler: ProfilerInfo {
            id: String::new(),
            name: String::new(),
            question: String::new(),
            parameters: BTreeMap::new(),
        },
        target: somebody().target(),
        window: Window {
            started_at: Timestamp::now(),
            requested_ns: 3_000_000_000,
            measured_ns: 3_000_000_000,
            end: WindowEnd::Completed,
        },
        summary: String::new(),
        findings,
        sections,
        notes: Vec::new(),
        cost: Cost::default(),
    }
}

fn looks(reports: Vec<(&'static str, Report)>) -> Looks {
    let taken = reports.into_iter().map(|(id, report)| Taken {
        id,
        why: String::new(),
        report,
        took: Duration::ZERO,
        cut_short: false,
    });
    Looks { taken: taken.collect(), ..Looks::default() }
}

fn finding(id: &str, culprit: &str) -> Finding {
    Finding::new(id, Severity::Warning, Confidence::High, format!("{id} of {culprit}"))
        .culprit(Culprit::new(CulpritKind::Method, culprit))
}

fn stacks(id: &str, all: &[&[&str]]) -> Section {
    let frame = |name: &&str| Frame {
        kind: FrameKind::Managed,
        name: (*name).to_owned(),
        module: Some("/app/Acme.dll".to_owned()),
        file: None,
        line: None,
    };
    let stack = |names: &&[&str]| Stack {
        weight: 1_000,
        threads: Vec::new(),
        frames: names.iter().map(frame).collect(),
    };
    let stacks = all.iter().map(stack).collect();
    Section::new(id, id, Body::Stacks(Stacks { unit: Unit::Nanoseconds, stacks }))
}

/// All verdicts as `id culprit severity`.
fn said(signs: &Signs, looks: &Looks) -> Vec<String> {
    let process = somebody();
    let case = Case { signs, looks, process: &process, redaction: Redaction::Off };
    let found = RULES.iter().flat_map(|rule| (rule.judge)(&case)).collect();
    let merged = crate::merging::merge(found, &crate::kin::Kin::of(looks, signs.told()));
    let words = |verdict: &Verdict| {
        let finding = &verdict.finding;
        let culprit = finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str());
        format!("{} {culprit} {:?}", finding.id, finding.severity)
    };
    merged.iter().map(words).collect()
}

fn hot(culprit: &str, all: &[&[&str]]) -> (&'static str, Report) {
    ("cpu", report(vec![finding("hot-method", culprit)], vec![stacks("paths", all)]))
}

#[test]
fn a_helper_of_one_async_method_is_a_part_of_it() {
    let path: &[&str] =
        &["Acme.Model.Walk", "Acme.Model.SimulateAsync [async]", "Acme.Till.QuoteAsync [async]"];
    let seen = looks(vec![hot("Acme.Model.Walk", &[path])]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Model.SimulateAsync Warning"]);
    // Others call it, too.
    let seen = looks(vec![hot("Acme.Model.Walk", &[path, &["Acme.Model.Walk", "Acme.Model.Check"]])]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Model.Walk Warning"]);
    // A method of another type is one that people know.
    let other: &[&str] = &["Acme.Prices.Compute", "Acme.Model.SimulateAsync [async]"];
    let seen = looks(vec![hot("Acme.Prices.Compute", &[other])]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Prices.Compute Warning"]);
}

#[test]
fn a_server_with_much_to_answer_is_not_ill() {
    let answering = |innermost: &'static str| {
        let path: &[&str] = &[innermost, "Acme.Server.ServeAsync [async]", "Acme.Server.ReadAsync [async]"];
        looks(vec![hot("Acme.Server.ServeAsync", &[path])])
    };
    let said_of = |innermost| said(&Signs::default(), &answering(innermost));
    let sending = "System.Net.Sockets.NetworkStream.WriteAsync";
    assert_eq!(said_of(sending), ["hot-method Acme.Server.ReadAsync Info"]);
    assert_eq!(hot_method::async_above(&answering(sending)), None, "nobody needs to know who awaits it");
    // One that does not see that its connection has ended, and one that thinks.
    assert_eq!(
        said_of("System.Net.Sockets.NetworkStream.ReadAsync"),
        ["hot-method Acme.Server.ReadAsync Warning"]
    );
    assert_eq!(said_of("System.Text.Writer.Write"), ["hot-method Acme.Server.ReadAsync Warning"]);
    // A little of it is sending.
    let seen = looks(vec![hot(
        "Acme.Server.ServeAsync",
        &[&[sending, "Acme.Server.ServeAsync"], &["Acme.Server.ServeAsync"], &["Acme.Server.ServeAsync"]],
    )]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Server.ServeAsync Warning"]);
}

#[test]
fn who_awaits_the_hot_method_is_said_with_it() {
    let path: &[&str] =
        &["Acme.Checkout.Burn", "Acme.Server.Run.(lambda)", "Acme.Server.AnswerAsync [async]"];
    let on_behalf =
        finding("async-hot-path", "Acme.Server.AnswerAsync").evidence("Awaited by", "Acme.Api 100 %");
    let seen = looks(vec![
        hot("Acme.Checkout.Burn", &[path]),
        ("async-hot-paths", report(vec![on_behalf], Vec::new())),
    ]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Checkout.Burn Warning"]);
    // The same of an async method that does the work itself, however the looks name its line.
    let found = || finding("async-hot-path", "Acme.Server.RunAsync").evidence("Awaited by", "Acme.Api 100 %");
    let mut hot = finding("hot-method", "Acme.Server.RunAsync");
    hot.culprit = hot.culprit.map(|culprit| Culprit { line: Some(9), ..culprit });
    let seen = looks(vec![
        ("cpu-unprivileged", report(vec![hot], Vec::new())),
        ("async-hot-paths", report(vec![found()], Vec::new())),
    ]);
    let (signs, process) = (Signs::default(), somebody());
    let case = Case { signs: &signs, looks: &seen, process: &process, redaction: Redaction::Off };
    let verdicts = hot_method::judge(&case);
    assert_eq!(verdicts.len(), 1);
    assert_eq!(verdicts[0].finding.evidence[0].what, "Acme.Server.RunAsync is awaited by");
}

#[test]
fn work_under_a_lock_that_others_wait_for_is_the_lock() {
    let contention = |waited_ns: u64| {
        let mut table = Table::new([
            Column::new("waited-in", "Waited in", Unit::Text),
            Column::new("total", "Total", Unit::Nanoseconds),
        ]);
        table.push([Cell::from("Acme.Seats.Take:9"), Cell::from(waited_ns)]);
        let locks = Section::new("locks", "Locks", Body::Table(table));
        ("contention", report(Vec::new(), vec![locks, stacks("waiters", &[&["Acme.Seats.Take"]])]))
    };
    let path: &[&str] = &["Acme.Seats.Rank", "Acme.Seats.Take", "Acme.Till.Sell"];
    let seen = looks(vec![hot("Acme.Seats.Rank", &[path]), contention(1_800_000_000)]);
    assert_eq!(said(&Signs::default(), &seen), ["lock-contention Acme.Seats.Take Warning"]);
    let seen = looks(vec![hot("Acme.Seats.Rank", &[path]), contention(300_000_000)]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Seats.Rank Warning"]);
    // What computes elsewhere does not hold the lock.
    let seen = looks(vec![hot("Acme.Report.Draw", &[&["Acme.Report.Draw"]]), contention(1_800_000_000)]);
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Report.Draw Warning"]);
}

#[test]
fn starvation_is_doubted_where_processors_are_missing() {
    let seen =
        looks(vec![("thread-pool", report(vec![finding("thread-pool-starvation", "Acme.Get")], Vec::new()))]);
    assert_eq!(said(&Signs::default(), &seen), ["thread-pool-starvation Acme.Get Warning"]);
    let system = System {
        window: Duration::from_secs(4),
        ran_ns: 1_000_000_000,
        ready_ns: 12_000_000_000,
        ..System::default()
    };
    let signs = Signs { system: Some(system), ..Signs::default() };
    assert_eq!(said(&signs, &seen), ["thread-pool-starvation Acme.Get Info"]);
}

/// More and more descriptors, of ten files and ten sockets at first.
fn opening(files: u64, sockets: u64) -> Signs {
    let open = Descriptors { total: 40, files, sockets, limit: Some(1024), ..Descriptors::default() };
    let system = System {
        open: Course(vec![20, 25, 30, 35, 40]),
        descriptors: Some(open),
        at_first: (10, 10),
        ..System::default()
    };
    Signs { system: Some(system), ..Signs::default() }
}

/// Nobody was seen opening anything, but somebody makes HTTP calls.
fn http_calls_alone() -> Looks {
    looks(vec![
        ("openers", report(Vec::new(), Vec::new())),
        ("http-calls", report(vec![finding(crate::looks::HTTP_CALLER, "Acme.Rates.GetAsync")], Vec::new())),
    ])
}

#[test]
fn who_opened_what_is_still_open_is_to_blame() {
    let signs = opening(10, 30);
    let seen =
        looks(vec![("openers", report(vec![finding("descriptor-opener", "Acme.Rates.Ask")], Vec::new()))]);
    assert_eq!(said(&signs, &seen), ["descriptor-leak Acme.Rates.Ask Warning"]);
    // The framework opens connections for HTTP calls: who calls is to blame.
    let seen = http_calls_alone();
    assert_eq!(said(&signs, &seen), ["descriptor-leak Acme.Rates.GetAsync Warning"]);
}

#[test]
fn who_makes_http_calls_is_not_to_blame_for_files() {
    let signs = opening(30, 10);
    let seen = http_calls_alone();
    assert_eq!(said(&signs, &seen), ["descriptor-leak nobody Warning"]);
}

#[test]
fn sockets_that_only_the_other_side_closed_are_a_leak() {
    let open = Descriptors { total: 200, sockets: 180, limit: Some(1024), ..Descriptors::default() };
    let system = System { open: Course(vec![200, 200, 200]), descriptors: Some(open), ..System::default() };
    let signs = |half_closed| Signs { system: Some(system.clone()), half_closed, ..Signs::default() };
    assert_eq!(said(&signs(150), &Looks::default()), ["descriptor-leak nobody Warning"]);
    assert!(said(&signs(20), &Looks::default()).is_empty());
}

#[test]
fn of_two_looks_the_more_severe_one_counts() {
    let at = |line, severity| {
        let mut found = finding("timer-leak", "Acme.Session.Start");
        found.severity = severity;
        found.culprit = found.culprit.map(|culprit| Culprit { line: Some(line), ..culprit });
        found
    };
    let seen = |first, second| {
        let other = ("memory-leaks", report(vec![at(12, second)], Vec::new()));
        said(&Signs::default(), &looks(vec![("timers", report(vec![at(9, first)], Vec::new())), other]))
    };
    assert_eq!(seen(Severity::Info, Severity::Warning), ["timer-leak Acme.Session.Start Warning"]);
    assert_eq!(seen(Severity::Critical, Severity::Warning), ["timer-leak Acme.Session.Start Critical"]);
    // One look knows why it names two places.
    let one = report(vec![at(9, Severity::Warning), at(12, Severity::Warning)], Vec::new());
    assert_eq!(said(&Signs::default(), &looks(vec![("timers", one)])).len(), 2);
}

#[test]
fn holes_are_guessed_only_where_nobody_saw_the_objects() {
    let without_objects = || {
        let mut guess = report(vec![finding("loh-fragmentation", "Acme.Scan.Read")], Vec::new());
        guess.profiler.parameters.insert("graph".to_owned(), "no".to_owned());
        ("heap-composition", guess)
    };
    let with_objects = || ("heap-composition", report(Vec::new(), Vec::new()));
    let seen = looks(vec![without_objects()]);
    assert_eq!(said(&Signs::default(), &seen), ["loh-fragmentation Acme.Scan.Read Warning"]);
    assert!(said(&Signs::default(), &looks(vec![without_objects(), with_objects()])).is_empty());
    let mut seen = looks(vec![without_objects(), with_objects()]);
    seen.taken[1].cut_short = true;
    assert_eq!(said(&Signs::default(), &seen).len(), 1);
}

#[test]
fn making_an_expression_is_not_backtracking() {
    let seen = |callee: &str| {
        let hot = finding("hot-method", "Acme.Mail.Check").evidence("It is mostly in", callee);
        said(&Signs::default(), &looks(vec![("cpu", report(vec![hot], Vec::new()))]))
    };
    let regex = |method: &str| seen(&format!("System.Text.RegularExpressions.{method}"));
    assert_eq!(regex("Regex.IsMatch"), ["regex-backtracking Acme.Mail.Check Warning"]);
    assert_eq!(regex("Regex..ctor"), ["hot-method Acme.Mail.Check Warning"]);
    assert_eq!(regex("RegexCache.GetOrAdd"), ["hot-method Acme.Mail.Check Warning"]);
}

#[test]
fn a_stop_by_a_tool_is_no_young_collection() {
    let seen = |longest: &str| {
        let long = finding("long-runtime-pauses", "Acme.Run").evidence("Longest", longest);
        let mut told = crate::signs::RuntimeSigns::default();
        (told.window, told.young_ns) = (Duration::from_secs(4), 1_000_000_000);
        let signs = Signs { runtime: Some(told), ..Signs::default() };
        said(&signs, &looks(vec![("runtime-pauses", report(vec![long], Vec::new()))]))
    };
    assert_eq!(seen("gen 1 blocking GC"), ["allocation-pressure Acme.Run Warning"]);
    assert_eq!(seen("debugger"), ["long-gc-pauses Acme.Run Warning"]);
}

#[test]
fn one_look_knows_whom_to_blame_where_another_does_not() {
    let holes =
        Finding::new("pinning", Severity::Warning, Confidence::Medium, "Holes between pinned objects");
    let blamed = looks(vec![
        ("heap-composition", report(vec![holes.clone()], Vec::new())),
        ("handles", report(vec![finding("pinning", "Acme.Buffers.Pin")], Vec::new())),
    ]);
    assert_eq!(said(&Signs::default(), &blamed), ["pinning Acme.Buffers.Pin Warning"]);
    let unblamed = looks(vec![("heap-composition", report(vec![holes], Vec::new()))]);
    assert_eq!(said(&Signs::default(), &unblamed).len(), 1);
}
