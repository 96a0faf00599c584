//! `finalizer-queue` on real programs.

use crate::support::{finds_the_illness, look, look_until, rows};
use model::{Cell, Report};
use testbed::{Runtime, Target, shared};

const EVERY: [Runtime; 4] = Runtime::ALL;

fn show(report: &Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

#[test]
fn a_finalizer_that_waits_for_ever_is_found() {
    finds_the_illness("finalizer-queue", "blocked-finalizer", 1.5, &[]);
}

#[test]
fn finalizers_that_are_too_slow_are_found() {
    finds_the_illness("finalizer-queue", "slow-finalizer", 1.5, &[]);
}

/// What waits is counted by type, and what it keeps alive is told.
#[test]
fn what_waits_is_told_by_type() {
    for runtime in EVERY {
        let target = shared().target("blocked-finalizer", runtime).start().expect("the patient starts");
        let has_surfaces = |report: &Report| {
            rows(report, "queue").iter().any(|row| {
                let numbers: Vec<u64> = row.iter().filter_map(number).collect();
                row[0] == Cell::from("Media.Surface")
                    // Each has 32 KB of pixels, which the heap may have swept with others of its kind.
                    && matches!(numbers[..], [now, before, _, kept] if now > before && kept >= now * 32 * 1024)
            })
        };
        let report = look_until("finalizer-queue", &target, 1.5, &["kept=yes"], has_surfaces);
        println!("{runtime}\n{}", show(&report));
        let finding = &report.findings[0];
        assert!(finding.evidence.iter().any(|it| it.seen.contains("waits for a lock")), "{finding:?}");
    }
}

/// Read from outside, the queue is that of the process: no collection of ours fills it.
#[test]
fn nothing_is_collected_unless_it_is_asked_for() {
    for runtime in EVERY {
        let target = shared().target("blocked-finalizer", runtime).start().expect("the patient starts");
        let has_surfaces = |report: &Report| {
            rows(report, "queue")
                .iter()
                .any(|row| row[0] == Cell::from("Media.Surface") && row[4] == Cell::Missing)
        };
        let report = look_until("finalizer-queue", &target, 1.5, &[], has_surfaces);
        println!("{runtime}\n{}", show(&report));
        assert!(!report.notes.iter().any(|note| note.contains("forced")), "{:?}", report.notes);
    }
}

fn number(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    }
}

/// On a target that other questions share.
pub fn a_strangers_finalizers_run(target: &Target) {
    let report = look("finalizer-queue", target, 1.5, &[]);
    println!("{}", show(&report));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
