//! What is one illness, and what are two.

use model::{Confidence, Culprit, CulpritKind, Finding, Frame, FrameKind, Severity};

use super::*;

fn verdict(id: &str, culprit: &str, cost: f64) -> Verdict {
    let finding = Finding::new(id, Severity::Warning, Confidence::High, format!("{id} of {culprit}"))
        .culprit(Culprit::new(CulpritKind::Method, culprit));
    Verdict { finding, cost }
}

fn ids(verdicts: &[Verdict]) -> Vec<&str> {
    verdicts.iter().map(|verdict| verdict.finding.id.as_str()).collect()
}

#[test]
fn starvation_by_a_blocking_call_is_one_finding() {
    let mut stuck = verdict("stuck-tasks", "A.GetAsync", 60.0);
    stuck.finding = stuck.finding.evidence("Chain", "A.GetAsync, awaited by a thread in A.Get:12");
    let found = vec![
        verdict("sync-over-async", "A.Get", 30.0),
        stuck,
        verdict("thread-pool-starvation", "A.Get", 90.0),
        verdict("thread-leak", "A.Get", 20.0),
    ];
    let merged = merge(found, &Kin::default());
    assert_eq!(ids(&merged), ["thread-pool-starvation"]);
    assert_eq!(merged[0].finding.evidence.len(), 3);
}

#[test]
fn starvation_and_threads_that_leak_elsewhere_are_two() {
    let found = vec![
        verdict("thread-pool-starvation", "A.Get", 90.0),
        verdict("thread-leak", "B.Upload", 20.0),
        verdict("stuck-tasks", "C.AwaitReplyAsync", 60.0),
    ];
    assert_eq!(ids(&merge(found, &Kin::default())).len(), 3);
}

#[test]
fn two_hot_places_stay_two() {
    let found = vec![verdict("hot-method", "A.Run", 50.0), verdict("regex-backtracking", "B.Match", 70.0)];
    let mut found = merge(found, &Kin::default());
    rank(&mut found);
    assert_eq!(ids(&found), ["regex-backtracking", "hot-method"]);
}

#[test]
fn what_computes_under_a_lock_is_the_lock_and_what_computes_elsewhere_is_not() {
    let found =
        |hot| vec![verdict("hot-method", hot, 50.0), verdict("lock-contention", "Stock.Reserve", 70.0)];
    let kin = Kin::with_stacks(&[
        &["Stock.Recount", "Stock.Reserve", "Orders.Take"],
        &["Report.Draw", "Report.Run"],
    ]);
    assert_eq!(ids(&merge(found("Stock.Recount"), &kin)), ["lock-contention"]);
    assert_eq!(ids(&merge(found("Report.Draw"), &kin)), ["hot-method", "lock-contention"]);
}

#[test]
fn a_deadlock_takes_those_who_wait_behind_it_and_no_other_lock() {
    let found =
        |place| vec![verdict("deadlock", "Acme.Transfer", 100.0), verdict("lock-contention", place, 70.0)];
    let kin = Kin::with_still(&["Acme.Transfer", "Acme.Balance"]);
    assert_eq!(ids(&merge(found("Acme.Balance"), &kin)), ["deadlock"]);
    assert_eq!(ids(&merge(found("Stock.Reserve"), &kin)), ["deadlock", "lock-contention"]);
}

#[test]
fn a_blocked_finalizer_takes_what_it_should_have_freed() {
    let leak = |name| Verdict {
        finding: Finding::new("memory-leak", Severity::Warning, Confidence::High, "more and more")
            .culprit(Culprit::new(CulpritKind::Type, name)),
        cost: 25.0,
    };
    let found = |name| vec![verdict("blocked-finalizer", "Acme.Picture.Finalize", 50.0), leak(name)];
    assert_eq!(ids(&merge(found("Acme.Picture"), &Kin::default())), ["blocked-finalizer"]);
    assert_eq!(
        ids(&merge(found("Acme.Orders.s_all"), &Kin::default())),
        ["blocked-finalizer", "memory-leak"]
    );
}

#[test]
fn a_finalizer_that_waits_for_a_lock_is_found_once() {
    let found = |waits: &str| {
        let mut blocked = verdict("blocked-finalizer", "Acme.Picture.Finalize", 50.0);
        blocked.finding = blocked.finding.evidence("Thread", "4711 waits for a lock");
        let mut held = verdict("blocked-forever", "Acme.Screen.Present", 80.0);
        held.finding = held.finding.evidence("Waiting", waits);
        vec![held, blocked]
    };
    assert_eq!(ids(&merge(found(".NET Finalizer (4711)"), &Kin::default())), ["blocked-finalizer"]);
    assert_eq!(ids(&merge(found("worker (4712)"), &Kin::default())).len(), 2);
}

#[test]
fn a_leak_beside_duplicate_strings_elsewhere_stays() {
    let found = |leak| {
        vec![verdict("memory-leak", leak, 25.0), verdict("duplicate-strings", "Acme.Cache.s_entries", 10.0)]
    };
    assert_eq!(ids(&merge(found("Acme.Cache.s_entries"), &Kin::default())), ["duplicate-strings"]);
    assert_eq!(ids(&merge(found("Acme.Orders.s_all"), &Kin::default())).len(), 2);
}

#[test]
fn who_asks_for_collections_explains_their_time_unless_others_take_as_much() {
    let found =
        || vec![verdict("induced-gc", "A.Trim", 20.0), verdict("allocation-pressure", "B.Compose", 20.0)];
    assert_eq!(ids(&merge(found(), &Kin::with_collections(30.0, 2.0, 2.0))), ["induced-gc"]);
    assert_eq!(ids(&merge(found(), &Kin::with_collections(30.0, 25.0, 25.0))).len(), 2);
}

#[test]
fn long_pauses_are_of_full_collections_and_pressure_of_young_ones() {
    let found = |longest: &str| {
        let mut long = verdict("long-gc-pauses", "A.Replace", 20.0);
        long.finding = long.finding.evidence("Longest", longest);
        vec![long, verdict("allocation-pressure", "A.Replace", 20.0)]
    };
    let little_young = Kin::with_collections(0.0, 40.0, 3.0);
    assert_eq!(ids(&merge(found("gen 2 blocking, small objects"), &little_young)), ["long-gc-pauses"]);
    let much_young = Kin::with_collections(0.0, 40.0, 38.0);
    assert_eq!(ids(&merge(found("gen 1 blocking, small objects"), &much_young)), ["allocation-pressure"]);
    assert_eq!(ids(&merge(found("gen 2 blocking, small objects"), &much_young)), ["long-gc-pauses"]);
    // Stops that are for no collection are no doing of the collector.
    assert_eq!(ids(&merge(found("debugger"), &much_young)).len(), 2);
    let mut two = found("gen 2 blocking, small objects");
    two.push(verdict("allocation-pressure", "B.Compose", 20.0));
    assert_eq!(ids(&merge(two, &much_young)), ["long-gc-pauses", "allocation-pressure"]);
}

impl Kin {
    fn with_stacks(stacks: &[&[&str]]) -> Kin {
        let mut kin = Kin::default();
        for stack in stacks {
            let frame = |name: &&str| Frame {
                kind: FrameKind::Managed,
                name: (*name).to_owned(),
                module: None,
                file: None,
                line: None,
            };
            kin.add_stack(&stack.iter().map(frame).collect::<Vec<_>>());
        }
        kin
    }
}
