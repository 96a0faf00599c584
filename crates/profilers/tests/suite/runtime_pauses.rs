//! `runtime-pauses` on real programs.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{look, look_until, look_until_found, number, rows};
use model::{Cell, Report};
use testbed::{Runtime, Target};

fn has_row(report: &Report, wanted: impl Fn(&str) -> bool) -> bool {
    let table = report.sections.iter().any(|section| section.id == "reasons");
    table && rows(report, "reasons").iter().any(|row| matches!(&row[0], Cell::Text(name) if wanted(name)))
}

/// Forced collections are of generation 2 and block.
#[test]
fn collections_are_told_with_their_generation() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("forced-collections", runtime).start().unwrap();
        let report = look_until("runtime-pauses", &target, 2.0, &["top=100000"], |report| {
            has_row(report, |name| name == "gen 2 blocking GC")
        });
        let counted: f64 = rows(&report, "reasons")
            .iter()
            .filter(|row| row[0] != Cell::from("all"))
            .map(|row| match row[1] {
                #[expect(clippy::cast_precision_loss, reason = "a small count")]
                Cell::Number(count) => count as f64,
                _ => panic!("{row:?}"),
            })
            .sum();
        let all = number(&report, "reasons", "all", "pauses").unwrap_or(counted);
        assert!((counted - all).abs() < 0.5, "{runtime}: {report:?}");
        for row in rows(&report, "longest") {
            let [Cell::Number(_), Cell::Number(pause), Cell::Number(stopping), ..] = row.as_slice() else {
                panic!("{row:?}")
            };
            assert!(pause >= stopping, "{runtime}: {row:?}");
        }
        let by = |row: &Vec<Cell>| {
            row[5] == Cell::from("Reports.MemoryJanitor.Trim")
                || matches!(&row[5], Cell::Text(by) if by.starts_with("Reports.MemoryJanitor.Trim:"))
        };
        assert!(rows(&report, "longest").iter().any(by), "{runtime}: {report:?}");
    }
}

#[test]
fn long_pauses_are_found() {
    let target = testbed::shared().target("long-gc-pauses", Runtime::Net9).start().unwrap();
    look_until_found("runtime-pauses", &target, 5.0, &[], "long-runtime-pauses");
}

/// Stops of one kind are seen while another profiler is at work.
fn are_seen_beside(other: &str, kind: &str, wanted: impl Fn(&Report) -> bool + std::panic::RefUnwindSafe) {
    for runtime in testbed::two_of(&Runtime::ALL) {
        let target =
            testbed::shared().target("healthy-computation", runtime).start().expect("the target starts");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    look(other, &target, 4.0, &[]);
                }
            });
            let report = std::panic::catch_unwind(|| {
                look_until("runtime-pauses", &target, 2.0, &[], |report| {
                    number(report, "reasons", kind, "pauses") >= Some(3.0) && wanted(report)
                })
            });
            stop.store(true, Ordering::Relaxed);
            if let Err(failure) = report {
                std::panic::resume_unwind(failure);
            }
        });
        assert!(target.is_alive(), "{runtime}");
    }
}

/// The runtime's own sampler, started by another session, stops all threads and gives no reason.
#[test]
fn stops_by_the_runtimes_sampler_are_no_collections() {
    are_seen_beside("thread-time", "no reason given", |_| true);
}

#[test]
fn stops_by_a_profiler_in_the_process_are_told_with_its_thread() {
    are_seen_beside("async-hot-paths", "profiler", |report| {
        rows(report, "longest").iter().any(|row| row[5] == Cell::from("thread drdotnet-agent"))
    });
}

/// On a target that other questions share.
pub fn a_strangers_program_tells_its_stops_too(target: &Target) {
    let report = look("runtime-pauses", target, 2.0, &[]);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(target.is_alive());
}
