//! The report as users see it, and what is called stuck, from fixed observations.

use std::time::Duration;

use model::{Confidence, Frame, Pauses, Severity, WindowEnd};
use task_graph::{Leaf, TypeId};

use super::SPEC;
use super::answer::answer;
use super::judge::{Branch, Chain, Seen};
use crate::Settings;
use crate::about::About;
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, frame, frame_at, ids, report};

fn about() -> About {
    About {
        cost: agent_cost(Pauses { count: 3, total_ns: 38_000_000, longest_ns: 21_000_000 }, 1_200_000, 4),
        notes: Vec::new(),
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
    }
}

fn words(name: &str) -> Frame {
    Frame { module: None, ..frame(name, "") }
}

fn own(name: &str, line: u32) -> Frame {
    frame_at(name, "Shop.Api", "src/Orders.cs", line)
}

fn framework(name: &str) -> Frame {
    frame(name, "System.Private.CoreLib")
}

fn chain(frames: Vec<Frame>, leaf: Leaf, before: usize, now: usize, still: usize) -> Chain {
    Chain { frames, leaf: Some(leaf), before, now, still, awaited: now, blocking: 0 }
}

fn orders(before: usize, now: usize, still: usize) -> Chain {
    let frames = vec![
        own("Shop.Orders.FulfilAsync", 12),
        own("Shop.Orders.ReserveAsync", 31),
        own("Shop.Warehouse.ReplyAsync", 78),
        words("a TaskCompletionSource"),
    ];
    chain(frames, Leaf::Completion, before, now, still)
}

fn reminders(count: usize) -> Chain {
    chain(vec![own("Shop.Reminders.RunAsync", 9), words("a timer")], Leaf::Timer, count, count, count)
}

fn tills(count: usize) -> Chain {
    let frames = vec![
        own("Shop.Checkout.PayAsync", 40),
        own("Shop.Till.ChargeAsync", 22),
        words("SemaphoreSlim.WaitAsync"),
    ];
    Chain { blocking: 2, ..chain(frames, Leaf::Semaphore, count, count, count) }
}

fn listener() -> Chain {
    let frames = vec![
        framework("Microsoft.Extensions.Hosting.Host.RunAsync"),
        own("Shop.Intake.AcceptAsync", 5),
        words("a socket"),
    ];
    chain(frames, Leaf::Socket, 1, 1, 1)
}

fn tree(chains: &[Chain]) -> Vec<Branch> {
    let mut branches = Vec::new();
    for chain in chains {
        for (depth, frame) in chain.frames.iter().enumerate() {
            let blocking = if depth == 0 { chain.blocking } else { 0 };
            branches.push(Branch { depth, frame: frame.clone(), count: chain.now, blocking });
        }
    }
    branches
}

fn seen(chains: Vec<Chain>) -> Seen {
    Seen {
        branches: tree(&chains),
        methods: (0, chains.iter().map(|chain| chain.now * chain.methods().len()).sum()),
        window: Duration::from_secs(5),
        understood: true,
        chains,
        ..Seen::default()
    }
}

fn asked(seen: &Seen, settings: &[&str]) -> Answer {
    answer(seen, about(), &Settings::new(&SPEC, settings.iter().copied()).expect("settings"))
}

#[test]
fn the_report_looks_as_accepted() {
    let mut seen = seen(vec![tills(20), orders(50, 53, 50), listener(), reminders(300)]);
    seen.semaphores = vec![(0, 1, 20)];
    seen.circles = vec![vec![own("Shop.Prices.OfAsync", 61), own("Shop.Prices.BaseAsync", 70)]];
    let report = report(&SPEC, asked(&seen, &[]));
    assert_eq!(ids(&report), ["await-circle", "stuck-tasks", "stuck-tasks"]);
    assert_eq!(report.findings[0].severity, Severity::Critical);
    check(&report);
}

#[test]
fn what_every_service_awaits_is_no_illness() {
    let many = |leaf, name| chain(vec![own("Shop.A.RunAsync", 1), words(name)], leaf, 500, 500, 500);
    let seen = seen(vec![
        many(Leaf::Timer, "a timer"),
        many(Leaf::Socket, "a socket"),
        many(Leaf::Channel, "a channel"),
        many(Leaf::Source(TypeId(1)), "Shop.Bell"),
        many(Leaf::Ended, "nothing more"),
        orders(1, 1, 1),
    ]);
    let answer = asked(&seen, &[]);
    assert!(answer.findings.is_empty(), "{:?}", answer.findings);
    assert!(answer.notes.iter().any(|note| note.contains("no illness by itself")));
}

#[test]
fn operations_that_come_and_go_are_not_stuck() {
    assert!(asked(&seen(vec![orders(50, 50, 3)]), &[]).findings.is_empty());
    let answer = asked(&seen(vec![orders(50, 50, 30)]), &[]);
    assert_eq!(answer.findings[0].confidence, Confidence::Medium);
    let answer = asked(&seen(vec![orders(50, 50, 50)]), &[]);
    assert_eq!(answer.findings[0].confidence, Confidence::High);
}

#[test]
fn chains_with_one_end_are_counted_together() {
    let from = |root: &str| Chain {
        frames: vec![own(root, 3), own("Shop.Warehouse.ReplyAsync", 78), words("a TaskCompletionSource")],
        ..orders(6, 6, 6)
    };
    let chains = vec![from("Shop.Web.BuyAsync"), from("Shop.Batch.RunAsync")];
    assert_eq!(asked(&seen(chains.clone()), &[]).findings.len(), 1);
    assert!(asked(&seen(chains), &["least=13"]).findings.is_empty());
}

#[test]
fn looks_that_are_close_together_prove_nothing() {
    let mut seen = seen(vec![orders(50, 50, 50)]);
    seen.window = Duration::from_millis(100);
    let answer = asked(&seen, &[]);
    assert!(answer.findings.is_empty());
    assert!(answer.notes.iter().any(|note| note.contains("--duration")));
}

#[test]
fn nothing_pending_and_nothing_understood_are_said() {
    let answer = asked(&Seen::default(), &[]);
    assert_eq!(answer.summary, "No async method is pending.");
    assert!(answer.notes.iter().any(|note| note.contains("fields of Task")));
}
