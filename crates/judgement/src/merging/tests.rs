//! What is one illness, and what are two.

use facts::{Confidence, Culprit, CulpritKind, Fact, Frame, FrameKind, Observation, PauseCause, Severity};

use super::*;
use crate::Ground;

fn verdict(id: &str, culprit: &str, cost: f64) -> Verdict {
    let finding = Observation::new(id, Severity::Warning, Confidence::High)
        .culprit(Culprit::new(CulpritKind::Method, culprit));
    Verdict::new(finding, cost, Ground::Signs)
}

fn ids(verdicts: &[Verdict]) -> Vec<&str> {
    verdicts.iter().map(|verdict| verdict.finding.id.as_str()).collect()
}

#[test]
fn starvation_by_a_blocking_call_is_one_finding() {
    let mut stuck = verdict("stuck-tasks", "A.GetAsync", 60.0);
    stuck = stuck.fact(Fact::names(["A.GetAsync", "A.Get"]));
    let found = vec![
        verdict("sync-over-async", "A.Get", 30.0),
        stuck,
        verdict("thread-pool-starvation", "A.Get", 90.0),
        verdict("thread-leak", "A.Get", 20.0),
    ];
    let merged = merge(found, &Relations::default());
    assert_eq!(ids(&merged), ["thread-pool-starvation"]);
    assert_eq!(merged[0].symptoms.len(), 3);
}

#[test]
fn starvation_and_threads_that_leak_elsewhere_are_two() {
    let found = vec![
        verdict("thread-pool-starvation", "A.Get", 90.0),
        verdict("thread-leak", "B.Upload", 20.0),
        verdict("stuck-tasks", "C.AwaitReplyAsync", 60.0),
    ];
    assert_eq!(ids(&merge(found, &Relations::default())).len(), 3);
}

#[test]
fn two_hot_places_stay_two() {
    let found = vec![verdict("hot-method", "A.Run", 50.0), verdict("regex-backtracking", "B.Match", 70.0)];
    let mut found = merge(found, &Relations::default());
    rank(&mut found);
    assert_eq!(ids(&found), ["regex-backtracking", "hot-method"]);
}

#[test]
fn what_computes_under_a_lock_is_the_lock_and_what_computes_elsewhere_is_not() {
    let found =
        |hot| vec![verdict("hot-method", hot, 50.0), verdict("lock-contention", "Stock.Reserve", 70.0)];
    let relations = Relations::with_stacks(&[
        &["Stock.Recount", "Stock.Reserve", "Orders.Take"],
        &["Report.Draw", "Report.Run"],
    ]);
    assert_eq!(ids(&merge(found("Stock.Recount"), &relations)), ["lock-contention"]);
    assert_eq!(ids(&merge(found("Report.Draw"), &relations)), ["hot-method", "lock-contention"]);
}

#[test]
fn a_deadlock_takes_those_who_wait_behind_it_and_no_other_lock() {
    let found =
        |place| vec![verdict("deadlock", "Acme.Transfer", 100.0), verdict("lock-contention", place, 70.0)];
    let relations = Relations::with_still(&["Acme.Transfer", "Acme.Balance"]);
    assert_eq!(ids(&merge(found("Acme.Balance"), &relations)), ["deadlock"]);
    assert_eq!(ids(&merge(found("Stock.Reserve"), &relations)), ["deadlock", "lock-contention"]);
}

#[test]
fn a_blocked_finalizer_takes_what_it_should_have_freed() {
    let leak = |name| {
        let culprit = Culprit::new(CulpritKind::Type, name);
        verdict("memory-leak", name, 25.0).culprit(culprit)
    };
    let found = |name| vec![verdict("blocked-finalizer", "Acme.Picture.Finalize", 50.0), leak(name)];
    assert_eq!(ids(&merge(found("Acme.Picture"), &Relations::default())), ["blocked-finalizer"]);
    assert_eq!(
        ids(&merge(found("Acme.Orders.s_all"), &Relations::default())),
        ["blocked-finalizer", "memory-leak"]
    );
}

#[test]
fn a_finalizer_that_waits_for_a_lock_is_found_once() {
    let found = |waiting: u32| {
        let mut blocked = verdict("blocked-finalizer", "Acme.Picture.Finalize", 50.0);
        blocked = blocked.fact(Fact::threads([4711]));
        let mut held = verdict("blocked-forever", "Acme.Screen.Present", 80.0);
        held = held.fact(Fact::threads([4708, waiting]));
        vec![held, blocked]
    };
    assert_eq!(ids(&merge(found(4711), &Relations::default())), ["blocked-finalizer"]);
    assert_eq!(ids(&merge(found(4712), &Relations::default())).len(), 2);
}

#[test]
fn a_leak_beside_duplicate_strings_elsewhere_stays() {
    let found = |leak| {
        vec![verdict("memory-leak", leak, 25.0), verdict("duplicate-strings", "Acme.Cache.s_entries", 10.0)]
    };
    assert_eq!(ids(&merge(found("Acme.Cache.s_entries"), &Relations::default())), ["duplicate-strings"]);
    assert_eq!(ids(&merge(found("Acme.Orders.s_all"), &Relations::default())).len(), 2);
}

#[test]
fn who_asks_for_collections_explains_their_time_unless_others_take_as_much() {
    let found =
        || vec![verdict("induced-gc", "A.Trim", 20.0), verdict("allocation-pressure", "B.Compose", 20.0)];
    assert_eq!(ids(&merge(found(), &Relations::with_collections(30.0, 2.0, 2.0))), ["induced-gc"]);
    assert_eq!(ids(&merge(found(), &Relations::with_collections(30.0, 25.0, 25.0))).len(), 2);
}

#[test]
fn long_pauses_are_of_full_collections_and_pressure_of_young_ones() {
    let found = |cause: PauseCause| {
        let mut long = verdict("long-gc-pauses", "A.Replace", 20.0);
        long = long.fact(Fact::LongestPause { cause, ns: 120_000_000 });
        vec![long, verdict("allocation-pressure", "A.Replace", 20.0)]
    };
    let collection = |generation| PauseCause::Collection { generation: Some(generation), blocking: true };
    let little_young = Relations::with_collections(0.0, 40.0, 3.0);
    assert_eq!(ids(&merge(found(collection(2)), &little_young)), ["long-gc-pauses"]);
    let much_young = Relations::with_collections(0.0, 40.0, 38.0);
    assert_eq!(ids(&merge(found(collection(1)), &much_young)), ["allocation-pressure"]);
    assert_eq!(ids(&merge(found(collection(2)), &much_young)), ["long-gc-pauses"]);
    // Stops that are for no collection are no doing of the collector.
    assert_eq!(ids(&merge(found(PauseCause::Other), &much_young)).len(), 2);
    let mut two = found(collection(2));
    two.push(verdict("allocation-pressure", "B.Compose", 20.0));
    assert_eq!(ids(&merge(two, &much_young)), ["long-gc-pauses", "allocation-pressure"]);
}

impl Relations {
    fn with_stacks(stacks: &[&[&str]]) -> Relations {
        let mut relations = Relations::default();
        for stack in stacks {
            let frame = |name: &&str| Frame {
                kind: FrameKind::Managed,
                name: (*name).to_owned(),
                module: None,
                file: None,
                line: None,
            };
            relations.add_stack(&stack.iter().map(frame).collect::<Vec<_>>());
        }
        relations
    }
}
