//! `stuck-tasks` on real programs.

use crate::support::{finds_the_illness, look, look_until, look_until_found, rows};
use model::{Body, Cell, Confidence, Report};
use testbed::{Runtime, Target, shared};

const EVERY: [Runtime; 4] = Runtime::ALL;

fn show(report: &Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

/// The labels of the tree of awaits, each with its depth.
fn labels(report: &Report) -> Vec<(usize, String)> {
    fn walk(nodes: &[model::Node], depth: usize, found: &mut Vec<(usize, String)>) {
        for node in nodes {
            found.push((depth, node.label.clone()));
            walk(&node.children, depth + 1, found);
        }
    }
    let mut found = Vec::new();
    for section in &report.sections {
        if let Body::Tree(tree) = &section.body {
            walk(&tree.roots, 0, &mut found);
        }
    }
    found
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        _ => "",
    }
}

#[test]
fn replies_that_never_come_are_found() {
    finds_the_illness("stuck-tasks", "stuck-tasks", 1.5, &[]);
}

#[test]
fn a_semaphore_that_is_never_released_is_found() {
    finds_the_illness("stuck-tasks", "stuck-semaphore", 1.5, &[]);
}

#[test]
fn tasks_that_await_each_other_are_found() {
    finds_the_illness("stuck-tasks", "await-circle", 1.5, &[]);
}

/// What a healthy service awaits is told apart, and is no illness.
#[test]
fn kinds_of_waits_are_told_apart() {
    for runtime in EVERY {
        let target = shared().target("healthy-async-waits", runtime).start().expect("the control starts");
        let report = look_until("stuck-tasks", &target, 1.5, &["top=100"], has_all_kinds);
        println!("{runtime}\n{}", show(&report));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
    }
}

fn has_all_kinds(report: &Report) -> bool {
    let found: Vec<(&str, &str)> =
        rows(report, "places").iter().map(|row| (text(&row[4]), text(&row[3]))).collect();
    let kinds = [
        ("Depot.Service.RemindAsync", "a timer"),
        ("Depot.Service.AcceptAsync", "a socket"),
        ("Depot.Service.WorkAsync", "a channel"),
        ("Depot.Service.ListenAsync", "SemaphoreSlim.WaitAsync"),
        ("Depot.Service.AnswerAsync", "Depot.Bell"),
        ("Depot.Service.NumbersAsync", "a timer"),
        ("Depot.Service.EndAsync", "a TaskCompletionSource"),
    ];
    let is_told = |(method, wait): &(&str, &str)| {
        found.iter().any(|(at, what)| at.starts_with(method) && what.starts_with(wait))
    };
    // Several wait for one task, which keeps them in a list.
    let labels = labels(report);
    let any = labels.iter().skip_while(|(_, label)| label != "Task.WhenAny").take(4);
    let all = ["Task.WhenAll", "Depot.Service.WatchAsync"];
    kinds.iter().all(is_told)
        && any.into_iter().any(|(_, label)| label == "a TaskCompletionSource")
        && all.iter().all(|part| labels.iter().any(|(_, label)| label.contains(part)))
}

#[test]
fn the_whole_chain_is_told_with_its_lines() {
    for runtime in EVERY {
        let target =
            shared().target("stuck-tasks", runtime).arg("count=12").start().expect("the patient starts");
        let report = look_until_found("stuck-tasks", &target, 1.5, &[], "stuck-tasks");
        println!("{runtime}\n{}", show(&report));
        let finding = &report.findings[0];
        assert_eq!(finding.confidence, Confidence::High, "{finding:?}");
        let culprit = finding.culprit.as_ref().expect("a culprit");
        assert!(culprit.file.as_deref().is_some_and(|file| file.ends_with("StuckTasks.cs")), "{culprit:?}");
        assert!(culprit.line.is_some(), "{culprit:?}");
        let labels = labels(&report);
        let wanted =
            ["FulfilAsync", "ReserveAsync", "ConfirmStockAsync", "AwaitReplyAsync", "a TaskCompletionSource"];
        for (depth, part) in wanted.into_iter().enumerate() {
            assert!(
                labels.iter().any(|(at, label)| *at == depth && label.contains(part)),
                "{part}: {labels:?}"
            );
        }
    }
}

/// Objects move while they are looked at.
#[test]
fn collections_in_between_hide_nothing() {
    for runtime in EVERY {
        let target =
            shared().target("stuck-tasks", runtime).arg("churn=40").start().expect("the patient starts");
        let report = look_until_found("stuck-tasks", &target, 1.5, &[], "stuck-tasks");
        println!("{runtime}\n{}", show(&report));
        assert!(target.is_alive());
    }
}

/// A collection finds them as a walk does.
#[test]
fn dead_operations_are_swept_on_wish() {
    let target = shared().target("stuck-tasks", Runtime::Net9).start().expect("the patient starts");
    let report = look_until_found("stuck-tasks", &target, 1.5, &["dead=sweep"], "stuck-tasks");
    println!("{}", show(&report));
    assert!(report.notes.iter().any(|note| note.contains("full collection")), "{:?}", report.notes);
}

/// Millions of objects that are none of ours.
#[test]
fn a_large_heap_is_walked_and_not_harmed() {
    for runtime in [Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        let target = shared().target("long-gc-pauses", runtime).start().expect("the patient starts");
        let report = look("stuck-tasks", &target, 1.0, &[]);
        println!("{runtime}\n{}", show(&report));
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_awaits_its_input_and_is_healthy(target: &Target) {
    let report = look("stuck-tasks", target, 1.5, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(!rows(&report, "places").is_empty());
    assert!(target.is_alive());
}
