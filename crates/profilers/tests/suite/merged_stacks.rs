//! `merged-stacks` on real programs.

use crate::support::{ids, look, look_until, rows};
use model::{Body, FrameKind, Report};
use testbed::{Runtime, Target, shared};

/// All labels of the tree.
fn labels(report: &Report) -> Vec<String> {
    let Some(Body::Tree(tree)) =
        report.sections.iter().find(|known| known.id == "tree").map(|known| &known.body)
    else {
        return Vec::new();
    };
    let mut open: Vec<&model::Node> = tree.roots.iter().collect();
    let mut labels = Vec::new();
    while let Some(node) = open.pop() {
        labels.push(node.label.clone());
        open.extend(&node.children);
    }
    labels
}

#[test]
fn every_thread_and_its_place_are_shown() {
    for runtime in Runtime::ALL {
        let target = shared().target("zombie-threads", runtime).start().expect("the patient starts");
        let report = look_until("merged-stacks", &target, 1.0, &["threads=show"], |report| {
            labels(report).iter().any(|label| label.starts_with("Telemetry.Exporter.Upload"))
        });
        println!("{runtime}: {}", reports::terminal::render(&report, &reports::TerminalStyle::default()));
        let labels = labels(&report);
        assert!(
            labels.iter().any(|label| label.contains("(ZombieThreads.cs:")),
            "{runtime}: file and line: {labels:?}"
        );
        assert!(rows(&report, "threads").len() >= 12, "{runtime}");
        // On 3.1 too, where the system does not know them.
        assert!(labels.iter().any(|label| label.contains("export-*")), "{runtime}: {labels:?}");
        assert!(report.cost.pauses.longest_ns > 0 && report.cost.bytes > 0, "{runtime}: {:?}", report.cost);
        assert!(ids(&report).is_empty());
        assert!(target.is_alive(), "{runtime}: {}", target.stderr_text());
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_shown_too(target: &Target) {
    let report = look("merged-stacks", target, 1.0, &["threads=show", "idle=show"]);
    println!("{}", reports::terminal::render(&report, &reports::TerminalStyle::default()));
    let labels = labels(&report);
    assert!(labels.iter().any(|label| label.contains("Main")), "{labels:?}");
    assert!(target.is_alive());
}

#[test]
fn a_starved_pool_does_not_matter() {
    let starved = testbed::patients().iter().find(|known| known.id == "pool-starvation");
    let Some(starved) = starved else { panic!("the patient") };
    for runtime in starved.runtimes.iter().copied() {
        let target = shared().target(starved.id, runtime).start().expect("the patient starts");
        let report = look_until("merged-stacks", &target, 1.0, &[], |report| {
            rows(report, "places").iter().any(|row| format!("{row:?}").contains("waits for a task"))
        });
        assert!(report.summary.contains("for a task"), "{runtime}: {}", report.summary);
    }
}

#[test]
fn native_frames_stand_below_managed_ones() {
    for runtime in Runtime::ALL {
        let target = shared().target("zombie-threads", runtime).start().expect("the patient starts");
        let report = look("merged-stacks", &target, 1.0, &["native=show", "idle=show"]);
        let Some(Body::Stacks(stacks)) =
            report.sections.iter().find(|known| known.id == "stacks").map(|known| &known.body)
        else {
            panic!("stacks")
        };
        let stuck = stacks
            .stacks
            .iter()
            .find(|stack| stack.frames.iter().any(|frame| frame.name == "Telemetry.Exporter.Upload"))
            .expect("the stuck threads");
        println!("{runtime}: {:#?}", stuck.frames.iter().map(|frame| &frame.name).collect::<Vec<_>>());
        let first_managed = stuck.frames.iter().position(|frame| frame.kind == FrameKind::Managed);
        let first_managed = first_managed.expect("managed frames");
        // Its own user may look on most machines, root on all.
        if !report.notes.iter().any(|note| note.starts_with("Native frames are not shown")) {
            let native = &stuck.frames[..first_managed];
            assert!(native.iter().any(|frame| matches!(frame.kind, FrameKind::Native | FrameKind::Runtime)));
        }
        assert!(target.is_alive());
    }
}

#[test]
fn busy_programs_are_shown_too() {
    let busy = [
        ("exception-storm", Runtime::Net9),
        ("forced-collections", Runtime::Net8),
        ("jit-storm", Runtime::Net31),
        ("healthy-computation", Runtime::Net9),
    ];
    for (patient, runtime) in busy {
        let target = shared().target(patient, runtime).start().expect("the patient starts");
        let report = look("merged-stacks", &target, 1.0, &["idle=show"]);
        assert!(
            labels(&report).iter().any(|label| label.starts_with("Patients.Program")),
            "{patient} on {runtime}"
        );
        assert!(target.is_alive(), "{patient} on {runtime}: {}", target.stderr_text());
    }
}

#[test]
fn a_wait_for_a_lock_is_told_whether_or_not_a_frame_says_so() {
    for runtime in Runtime::ALL {
        let target = shared().target("deadlock-ab-ba", runtime).start().expect("the patient starts");
        let report = look("merged-stacks", &target, 1.0, &[]);
        let labels = labels(&report);
        let told =
            labels.iter().filter(|label| label.starts_with("* waits for a lock (Monitor.Enter")).count();
        println!("{runtime}: {:?} {labels:?}", report.cost.pauses);
        assert!(told > 0, "{runtime}: {labels:?}");
        assert!(report.summary.contains("2 wait for a lock"), "{runtime}: {}", report.summary);
        assert!(target.is_alive(), "{runtime}: {}", target.stderr_text());
    }
}
