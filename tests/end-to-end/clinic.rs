//! The clinic in small: every illness is named with its culprit on one of the runtimes, pairs of them too, and every healthy program is
//! left alone. `cargo xtask clinic` examines everybody everywhere, and judges by the same code.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clinic::{Group, Row, Throughput, Visit, Ward, chosen};
use testbed::{Runtime, shared};

use crate::support::BINARY;

/// Examined at once, of those that rest.
const BEDS: usize = 3;
/// How often an illness is looked for before it counts as not found.
const TRIES: usize = 3;

/// One ward at a time: a busy patient is to be alone, as far as other tests let it.
static OPEN: Mutex<()> = Mutex::new(());

fn all_are_as_they_should_be(wanted: impl Fn(&Visit) -> bool) {
    let _only = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let visits: Vec<Visit> = chosen().into_iter().filter(wanted).collect();
    assert!(!visits.is_empty());
    let ward = Ward {
        testbed: shared(),
        binary: Path::new(BINARY),
        beds: BEDS,
        throughput: Throughput::Unknown,
        tries: TRIES,
    };
    let rows = ward.rows(&visits, &|row| println!("{}", row.line())).expect("all can be examined");
    let wrong: Vec<String> = rows.iter().filter(|row| !row.is_met()).map(Row::line).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn illnesses_on(runtime: Runtime) {
    all_are_as_they_should_be(|visit| visit.group() == Group::Ill && visit.runtime == runtime);
}

#[test]
fn illnesses_are_named_with_their_culprits_on_3_1() {
    illnesses_on(Runtime::Net31);
}

#[test]
fn illnesses_are_named_with_their_culprits_on_8() {
    illnesses_on(Runtime::Net8);
}

#[test]
fn illnesses_are_named_with_their_culprits_on_9() {
    illnesses_on(Runtime::Net9);
}

#[test]
fn both_illnesses_of_a_pair_are_named() {
    all_are_as_they_should_be(|visit| visit.group() == Group::Pair);
}

#[test]
fn healthy_programs_and_the_stranger_are_left_alone() {
    all_are_as_they_should_be(|visit| visit.group() == Group::Healthy);
}
