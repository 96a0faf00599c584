//! What the rules say of signs and closer looks together.

use std::time::Duration;

use facts::{
    Caller, Confidence, Culprit, CulpritKind, Descriptors, Fact, Frame, FrameKind, LockWait, LookFacts,
    PauseCause, Severity, Stack,
};

use super::*;
use crate::Signs;
use crate::signs::{Course, RuntimeSigns, System};

fn look(id: &str, found: Vec<Observation>, facts: LookFacts) -> Look {
    Look { id: id.to_owned(), found, facts, cut_short: false }
}

fn found(id: &str, found: Vec<Observation>) -> Look {
    look(id, found, LookFacts::default())
}

fn finding(id: &str, culprit: &str) -> Observation {
    let culprit = Culprit::new(CulpritKind::Method, culprit);
    Observation::new(id, Severity::Warning, Confidence::High).culprit(culprit)
}

fn frame(name: &str) -> Frame {
    Frame {
        kind: FrameKind::Managed,
        name: name.to_owned(),
        module: Some("/app/Acme.dll".to_owned()),
        file: None,
        line: None,
    }
}

fn running(all: &[&[&str]]) -> LookFacts {
    let frames = |names: &&[&str]| names.iter().map(|name| frame(name)).collect();
    let stack = |names| Stack { weight: 1_000, threads: Vec::new(), frames: frames(names) };
    LookFacts { running: all.iter().map(stack).collect(), ..LookFacts::default() }
}

fn called(method: &str) -> Fact {
    Fact::MostlyCalls { method: method.to_owned(), percent: 90.0 }
}

/// All verdicts as `id culprit severity`.
fn said(signs: &Signs, looks: &[Look]) -> Vec<String> {
    let case = Case { signs: signs.clone(), looks: looks.to_vec(), ..Case::default() };
    let words = |verdict: &Verdict| {
        let finding = &verdict.finding;
        let culprit = finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str());
        format!("{} {culprit} {:?}", finding.id, finding.severity)
    };
    crate::judge(&case).iter().map(words).collect()
}

fn hot(culprit: &str, all: &[&[&str]]) -> Look {
    look("cpu", vec![finding("hot-method", culprit)], running(all))
}

#[test]
fn a_helper_of_one_async_method_is_a_part_of_it() {
    let path: &[&str] =
        &["Acme.Model.Walk", "Acme.Model.SimulateAsync [async]", "Acme.Till.QuoteAsync [async]"];
    let seen = [hot("Acme.Model.Walk", &[path])];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Model.SimulateAsync Warning"]);
    // Others call it, too.
    let seen = [hot("Acme.Model.Walk", &[path, &["Acme.Model.Walk", "Acme.Model.Check"]])];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Model.Walk Warning"]);
    // A method of another type is one that people know.
    let other: &[&str] = &["Acme.Prices.Compute", "Acme.Model.SimulateAsync [async]"];
    let seen = [hot("Acme.Prices.Compute", &[other])];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Prices.Compute Warning"]);
}

#[test]
fn a_server_with_much_to_answer_is_not_ill() {
    let answering = |innermost: &'static str| {
        let path: &[&str] = &[innermost, "Acme.Server.ServeAsync [async]", "Acme.Server.ReadAsync [async]"];
        [hot("Acme.Server.ServeAsync", &[path])]
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
    let seen = [hot(
        "Acme.Server.ServeAsync",
        &[&[sending, "Acme.Server.ServeAsync"], &["Acme.Server.ServeAsync"], &["Acme.Server.ServeAsync"]],
    )];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Server.ServeAsync Warning"]);
}

#[test]
fn who_awaits_the_hot_method_is_said_with_it() {
    let path: &[&str] =
        &["Acme.Checkout.Burn", "Acme.Server.Run.(lambda)", "Acme.Server.AnswerAsync [async]"];
    let awaited = |method: &str| {
        let api = Caller { method: Some("Acme.Api".to_owned()), percent: 100.0 };
        finding("async-hot-path", method).fact(Fact::AwaitedBy { method: None, callers: vec![api] })
    };
    let on_behalf = awaited("Acme.Server.AnswerAsync");
    let seen = [hot("Acme.Checkout.Burn", &[path]), found("async-hot-paths", vec![on_behalf])];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Checkout.Burn Warning"]);
    // The same of an async method that does the work itself, however the looks name its line.
    let mut hot = finding("hot-method", "Acme.Server.RunAsync");
    hot.culprit = hot.culprit.map(|culprit| Culprit { line: Some(9), ..culprit });
    let seen = [
        found("cpu-unprivileged", vec![hot]),
        found("async-hot-paths", vec![awaited("Acme.Server.RunAsync")]),
    ];
    let verdicts = hot_method::judge(&Case { looks: seen.to_vec(), ..Case::default() });
    assert_eq!(verdicts.len(), 1);
    let [Fact::AwaitedBy { method: Some(method), callers }] = &verdicts[0].finding.facts[..] else {
        panic!("{verdicts:?}")
    };
    assert_eq!((method.as_str(), callers.len()), ("Acme.Server.RunAsync", 1));
}

#[test]
fn work_under_a_lock_that_others_wait_for_is_the_lock() {
    let contention = |waited_ns: u64| {
        let place = Some(frame("Acme.Seats.Take"));
        let lock = LockWait { waited_ns, percent: waited_ns as f64 / 3e9 * 100.0, place };
        look("contention", Vec::new(), LookFacts { lock: Some(lock), ..LookFacts::default() })
    };
    let path: &[&str] = &["Acme.Seats.Rank", "Acme.Seats.Take", "Acme.Till.Sell"];
    let seen = [hot("Acme.Seats.Rank", &[path]), contention(1_800_000_000)];
    assert_eq!(said(&Signs::default(), &seen), ["lock-contention Acme.Seats.Take Warning"]);
    let seen = [hot("Acme.Seats.Rank", &[path]), contention(300_000_000)];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Seats.Rank Warning"]);
    // What computes elsewhere does not hold the lock.
    let seen = [hot("Acme.Report.Draw", &[&["Acme.Report.Draw"]]), contention(1_800_000_000)];
    assert_eq!(said(&Signs::default(), &seen), ["hot-method Acme.Report.Draw Warning"]);
}

#[test]
fn starvation_is_doubted_where_processors_are_missing() {
    let seen = [found("thread-pool", vec![finding("thread-pool-starvation", "Acme.Get")])];
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
fn http_calls_alone() -> [Look; 2] {
    let calls = Fact::CallsTo { place: "rates:80".to_owned(), begun: 40 };
    [
        found("openers", Vec::new()),
        found("http-calls", vec![finding("http-caller", "Acme.Rates.GetAsync").fact(calls)]),
    ]
}

#[test]
fn who_opened_what_is_still_open_is_to_blame() {
    let signs = opening(10, 30);
    let opened = Fact::Opened { count: 18, of: 20 };
    let seen = [found("openers", vec![finding("descriptor-opener", "Acme.Rates.Ask").fact(opened)])];
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
    assert_eq!(said(&signs(150), &[]), ["descriptor-leak nobody Warning"]);
    assert!(said(&signs(20), &[]).is_empty());
}

#[test]
fn of_two_looks_the_more_severe_one_counts() {
    let at = |line, severity| {
        let mut leak = finding("timer-leak", "Acme.Session.Start");
        leak.severity = severity;
        leak.culprit = leak.culprit.map(|culprit| Culprit { line: Some(line), ..culprit });
        leak
    };
    let seen = |first, second| {
        let other = found("memory-leaks", vec![at(12, second)]);
        said(&Signs::default(), &[found("timers", vec![at(9, first)]), other])
    };
    assert_eq!(seen(Severity::Info, Severity::Warning), ["timer-leak Acme.Session.Start Warning"]);
    assert_eq!(seen(Severity::Critical, Severity::Warning), ["timer-leak Acme.Session.Start Critical"]);
    // One look knows why it names two places.
    let one = vec![at(9, Severity::Warning), at(12, Severity::Warning)];
    assert_eq!(said(&Signs::default(), &[found("timers", one)]).len(), 2);
}

#[test]
fn holes_are_guessed_only_where_nobody_saw_the_objects() {
    let without_objects = || found("heap-composition", vec![finding("loh-fragmentation", "Acme.Scan.Read")]);
    let with_objects =
        || look("heap-composition", Vec::new(), LookFacts { saw_objects: true, ..LookFacts::default() });
    let seen = [without_objects()];
    assert_eq!(said(&Signs::default(), &seen), ["loh-fragmentation Acme.Scan.Read Warning"]);
    assert!(said(&Signs::default(), &[without_objects(), with_objects()]).is_empty());
    let mut seen = [without_objects(), with_objects()];
    seen[1].cut_short = true;
    assert_eq!(said(&Signs::default(), &seen).len(), 1);
}

#[test]
fn making_an_expression_is_not_backtracking() {
    let seen = |callee: &str| {
        let hot = finding("hot-method", "Acme.Mail.Check").fact(called(callee));
        said(&Signs::default(), &[found("cpu", vec![hot])])
    };
    let regex = |method: &str| seen(&format!("System.Text.RegularExpressions.{method}"));
    assert_eq!(regex("Regex.IsMatch"), ["regex-backtracking Acme.Mail.Check Warning"]);
    assert_eq!(regex("Regex..ctor"), ["hot-method Acme.Mail.Check Warning"]);
    assert_eq!(regex("RegexCache.GetOrAdd"), ["hot-method Acme.Mail.Check Warning"]);
}

#[test]
fn a_stop_by_a_tool_is_no_young_collection() {
    let seen = |cause: PauseCause| {
        let longest = Fact::LongestPause { cause, ns: 200_000_000 };
        let long = finding("long-runtime-pauses", "Acme.Run").fact(longest);
        let mut runtime = RuntimeSigns::default();
        (runtime.window, runtime.young_ns) = (Duration::from_secs(4), 1_000_000_000);
        let signs = Signs { runtime: Some(runtime), ..Signs::default() };
        said(&signs, &[found("runtime-pauses", vec![long])])
    };
    let young = PauseCause::Collection { generation: Some(1), blocking: true };
    assert_eq!(seen(young), ["allocation-pressure Acme.Run Warning"]);
    assert_eq!(seen(PauseCause::Other), ["long-gc-pauses Acme.Run Warning"]);
}

#[test]
fn one_look_knows_whom_to_blame_where_another_does_not() {
    let holes = Observation::new("pinning", Severity::Warning, Confidence::Medium);
    let blamed = [
        found("heap-composition", vec![holes.clone()]),
        found("handles", vec![finding("pinning", "Acme.Buffers.Pin")]),
    ];
    assert_eq!(said(&Signs::default(), &blamed), ["pinning Acme.Buffers.Pin Warning"]);
    let unblamed = [found("heap-composition", vec![holes])];
    assert_eq!(said(&Signs::default(), &unblamed).len(), 1);
}
