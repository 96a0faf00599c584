//! The heap of a program that knows its own heap: right to the byte, on every runtime that runs it.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{Known, check, found, museum, taken, taken_by_events};
use event_session::Going;
use heap_collector::{Error, Stage, Watch, Wish, take};
use testbed::{Runtime, shared};

const OURS: [Runtime; 4] = Runtime::ALL;

#[test]
fn counts_bytes_retained_sizes_and_paths_are_the_known_ones() {
    for runtime in OURS {
        let (target, process) = museum(runtime, &["ready=6"]);
        // By each way, and again: a look leaves nothing behind that the next one would count.
        for take in [taken, taken_by_events, taken, taken_by_events] {
            let heap = take(&process);
            assert_eq!(heap.unnamed_types, 0, "{runtime}, {:?}", heap.way);
            check(&Known::of(heap.graph), &target);
        }
        assert!(target.is_alive(), "{runtime}");
    }
}

#[test]
fn both_ways_agree_on_a_program_that_is_not_ours() {
    let target = shared().stranger().start().expect("the stranger");
    let process = found(&target);
    // The first session makes the runtime describe its events to itself, which fills a part of the heap.
    taken_by_events(&process);
    let (ours, theirs) = (taken(&process), taken_by_events(&process));
    assert_ne!(ours.way, theirs.way);
    let (ours, theirs) = (Known::of(ours.graph).census(), Known::of(theirs.graph).census());
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let count = |census: &BTreeMap<String, u64>, name: &str| census.get(name).copied().unwrap_or(0);
    let different: Vec<String> = names
        .iter()
        .filter(|name| {
            let (a, b) = (count(&ours, name), count(&theirs, name));
            // It goes on meanwhile.
            a.abs_diff(b) > 50 + a.max(b) / 50
        })
        .map(|name| format!("{name}: {} and {}", count(&ours, name), count(&theirs, name)))
        .collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(names.len() > 500, "{}", names.len());
}

#[test]
fn a_heap_that_changes_meanwhile_is_right_where_it_does_not() {
    for runtime in OURS {
        let (target, process) = museum(runtime, &["churn=300", "cells=200000"]);
        let inside: usize = target.value_of("visitors").expect("a number").parse().expect("a number");
        for _ in 0..3 {
            let heap = taken(&process);
            let lost = heap.graph.losses();
            assert_eq!((lost.dangling_references, lost.dangling_roots), (0, 0), "{runtime}");
            let known = Known::of(heap.graph);
            check(&known, &target);
            let arrays = known.members("Museum.Visitor[]");
            assert_eq!(arrays.len(), 1, "{runtime}");
            assert_eq!(known.graph.references(arrays[0]).len(), inside, "{runtime}");
            let visitors = known.members("Museum.Visitor").len();
            assert!((inside..=2 * inside + 1).contains(&visitors), "{runtime}: {visitors}");
        }
        assert!(target.is_alive(), "{runtime}");
    }
}

#[test]
fn a_list_of_a_million_links_is_walked_to_its_end() {
    let (target, process) = museum(Runtime::Net9, &["links=1000000"]);
    let known = Known::of(taken(&process).graph);
    check(&known, &target);
    let links = known.members("Museum.Link");
    let longest = links.iter().copied().min_by_key(|&node| known.dominators.retained(node)).expect("a link");
    let (_, steps) = known.paths.path(longest).expect("a path");
    assert_eq!(steps.len(), 1_000_000);
}

#[test]
fn a_type_with_a_very_long_name_and_very_many_types_are_told() {
    let (target, process) = museum(Runtime::Net9, &["types=100000", "name=100"]);
    let walked = taken(&process);
    // The agent names no more than its memory allows, and says so.
    let is_said = walked.missing.iter().any(|words| words.contains("have no names"));
    assert!(walked.unnamed_types == 0 || is_said, "{} unnamed: {:?}", walked.unnamed_types, walked.missing);
    assert!(walked.unnamed_types < 10_000, "{}", walked.unnamed_types);
    let objects = Known::of(walked.graph).census().values().sum::<u64>();
    let heap = taken_by_events(&process);
    assert_eq!(heap.unnamed_types, 0);
    let known = Known::of(heap.graph);
    check(&known, &target);
    let told = known.census().values().sum::<u64>();
    // The first session makes the runtime describe its events to itself, in some thousand objects.
    assert!(told.abs_diff(objects) < told / 10, "{objects} by a walk, {told} by events");
    let of_pairs = |name: &str| name.starts_with("Museum.Pair<Museum.Pair<") && !name.ends_with("[]");
    let pairs = known.graph.types().filter(|(_, info)| of_pairs(&info.name)).count();
    assert!(pairs >= 100_000, "{pairs}");
    // An event has no room for more than 32 K characters; the runtime cuts the rest off.
    let longest = known.graph.types().map(|(_, info)| info.name.len()).max().expect("a type");
    assert!(longest >= 25_000, "{longest}");
}

#[test]
fn a_long_list_is_told_with_all_its_references() {
    for runtime in OURS {
        let (target, process) = museum(runtime, &["elements=1500000"]);
        let known = Known::of(taken(&process).graph);
        check(&known, &target);
        let array = known.members("Museum.Element[]")[0];
        assert_eq!(known.graph.references(array).len(), 1_500_000, "{runtime}");
    }
}

/// Kills the program in the middle of its heap.
struct Killing<'t> {
    target: &'t testbed::Target,
    killed: bool,
}

impl Watch for Killing<'_> {
    fn look(&mut self, stage: &Stage) -> Going {
        if stage.objects > 0 && stage.objects < 500_000 && !self.killed {
            self.killed = true;
            self.target.kill().expect("a signal");
        }
        std::thread::sleep(stage.slice / 10);
        Going::On
    }
}

#[test]
fn a_program_that_is_killed_in_the_middle_has_no_heap() {
    for runtime in OURS {
        let (target, process) = museum(runtime, &["cells=1500000"]);
        let mut watch = Killing { target: &target, killed: false };
        let wish = Wish { allow_pause: true, ..Wish::default() };
        match take(&process, &wish, &mut watch) {
            Err(Error::TargetExited | Error::Ipc(_)) => {}
            // So quick that nobody could look in between.
            Ok(_) if !watch.killed => {}
            other => panic!("{runtime}: {:?}", other.map(|heap| heap.graph.node_count())),
        }
    }
}
