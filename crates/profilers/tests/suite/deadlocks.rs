//! `deadlocks` on real programs.

use crate::support::{ids, look, look_until, look_until_found, rows};
use model::{Confidence, Finding, Report};
use testbed::{Runtime, Target, shared};

/// Between the looks: long enough for whoever is not stuck to move, on a machine with much else to do.
const APART: f64 = 2.0;

fn print(report: &Report) {
    println!("{}", reports::terminal::render(report, &reports::TerminalStyle::default()));
}

fn found<'a>(report: &'a Report, id: &str) -> &'a Finding {
    report.findings.iter().find(|finding| finding.id == id).expect("the finding")
}

fn evidence(finding: &Finding) -> String {
    finding.evidence.iter().map(|evidence| format!("{}: {}\n", evidence.what, evidence.seen)).collect()
}

/// Each runtime of a patient, with what is found in it and the culprit that must be named.
fn on_every_runtime(patient: &str, check: impl Fn(Runtime, &Target, &Report, &Finding)) {
    let patient = testbed::patients().iter().find(|known| known.id == patient).expect("the patient");
    for runtime in patient.runtimes.iter().copied() {
        let target = shared().target(patient.id, runtime).start().expect("the patient starts");
        let illness = patient.findings[0];
        let report = look_until_found("deadlocks", &target, APART, &[], illness);
        print(&report);
        let finding = found(&report, illness);
        let culprit = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert!(culprit.is_some_and(|name| patient.culprits.contains(&name)), "{runtime}: {finding:?}");
        assert!(report.cost.pauses.count >= 3 && report.cost.bytes > 0, "{runtime}: {:?}", report.cost);
        check(runtime, &target, &report, finding);
        assert!(target.is_alive(), "{runtime}: {}", target.stderr_text());
    }
}

#[test]
fn a_ring_of_two_is_shown_with_its_locks() {
    on_every_runtime("deadlock-ab-ba", |runtime, _, report, finding| {
        assert_eq!(finding.confidence, Confidence::High, "{runtime}");
        let evidence = evidence(finding);
        assert!(
            evidence.contains("holds A and waits for B, held by")
                && evidence.contains("Lock A: Bank.Account"),
            "{runtime}: {evidence}"
        );
        // 3.1 does not give the names of threads to the system.
        if runtime != Runtime::Net31 {
            assert!(
                evidence.contains("standing-order") && evidence.contains("teller"),
                "{runtime}: {evidence}"
            );
        }
        assert!(
            finding.culprit.as_ref().is_some_and(|culprit| culprit.line.is_some()),
            "{runtime}: {finding:?}"
        );
        assert_eq!(rows(report, "waits").len(), 2, "{runtime}");
    });
}

#[test]
fn a_ring_of_three_is_one_ring() {
    on_every_runtime("deadlock-three-party", |runtime, _, report, finding| {
        let evidence = evidence(finding);
        assert!(evidence.contains("holds C") && evidence.contains("System.Object"), "{runtime}: {evidence}");
        assert_eq!(ids(report), ["deadlock"], "{runtime}");
        assert!(evidence.contains("field Logistics.Depot._gate"), "{runtime}: {evidence}");
    });
}

#[test]
fn objects_of_the_type_lock_are_seen_too() {
    on_every_runtime("deadlock-lock-type", |runtime, _, _, finding| {
        let evidence = evidence(finding);
        assert!(evidence.contains("System.Threading.Lock"), "{runtime}: {evidence}");
        assert!(evidence.contains("field Trading.OrderBook._gate"), "{runtime}: {evidence}");
    });
}

#[test]
fn a_lock_of_a_thread_that_has_ended_is_shown() {
    on_every_runtime("orphaned-lock", |runtime, _, report, finding| {
        let evidence = evidence(finding);
        assert!(evidence.contains("has ended"), "{runtime}: {evidence}");
        assert_eq!(ids(report), ["orphaned-lock"], "{runtime}");
    });
}

#[test]
fn a_holder_that_waits_for_something_else_is_shown() {
    on_every_runtime("lock-held-in-wait", |runtime, _, report, finding| {
        let evidence = evidence(finding);
        assert!(evidence.contains("ManualResetEventSlim.Wait"), "{runtime}: {evidence}");
        assert!(evidence.contains("without a time limit"), "{runtime}: {evidence}");
        assert!(evidence.contains("field Printing.Spooler.s_queue"), "{runtime}: {evidence}");
        assert_eq!(ids(report), ["lock-held-in-wait"], "{runtime}");
    });
}

#[test]
fn a_finalizer_that_waits_for_a_lock_is_seen() {
    let target = shared().target("blocked-finalizer", Runtime::Net9).start().expect("the patient starts");
    let report = look_until_found("deadlocks", &target, APART, &[], "lock-held-in-wait");
    print(&report);
    let culprit = found(&report, "lock-held-in-wait").culprit.as_ref();
    assert!(culprit.is_some_and(|culprit| culprit.name == "Media.Device.Present"), "{culprit:?}");
}

#[test]
fn a_pool_whose_threads_all_block_on_tasks_is_seen() {
    for runtime in Runtime::ALL {
        let target = shared().target("pool-starvation", runtime).start().expect("the patient starts");
        let report = look_until_found("deadlocks", &target, APART, &[], "sync-over-async");
        print(&report);
        let finding = found(&report, "sync-over-async");
        let culprit = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert_eq!(culprit, Some("Catalog.PriceService.GetPrice"), "{runtime}");
    }
}

#[test]
fn contention_is_never_called_a_deadlock() {
    let [one, other] = testbed::two_of(&Runtime::ALL)[..] else { panic!("there are four") };
    for (patient, runtime) in [
        ("lock-contention", one),
        ("lock-contention-lock-type", if one == Runtime::Net31 { Runtime::Net9 } else { Runtime::Net10 }),
        ("healthy-short-locks", other),
    ] {
        let target = shared().target(patient, runtime).start().expect("the target starts");
        for _ in 0..4 {
            let report = look("deadlocks", &target, 1.0, &[]);
            assert!(report.findings.is_empty(), "{patient} on {runtime}: {:?}", report.findings);
        }
        assert!(target.is_alive(), "{patient} on {runtime}: {}", target.stderr_text());
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_has_no_deadlock(target: &Target) {
    let report = look("deadlocks", target, APART, &[]);
    print(&report);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(report.summary.starts_with("No deadlock"), "{}", report.summary);
    assert!(target.is_alive());
}

#[test]
fn fields_are_not_searched_when_nobody_wants_them() {
    let target = shared().target("deadlock-three-party", Runtime::Net9).start().expect("the patient starts");
    let report = look_until("deadlocks", &target, APART, &["owners=skip"], |report| !ids(report).is_empty());
    assert!(!evidence(found(&report, "deadlock")).contains("field"), "{report:?}");
}
