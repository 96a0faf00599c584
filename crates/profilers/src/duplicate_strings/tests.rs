//! The report as users see it, and how equal strings are found, from fixed observations.

use std::collections::HashMap;
use std::time::Duration;

use heap_graph::{Address, GraphBuilder, HeapGraph, NodeId, ShortestPaths};
use model::{Cost, Culprit, CulpritKind, Pauses, Redaction, Severity, WindowEnd};

use super::answer::answer;
use super::strings::{Equal, Found, Reader, size_of};
use super::{Duplicate, Held, SPEC, Seen};
use crate::about::About;
use crate::control::{Control, Stop};
use crate::heap::memory::{Inside, Memory, Outside};
use crate::profiler::{Answer, Run};
use crate::specimen::{check, ids, report};
use crate::{Settings, heap, inside};

const CLASS: u64 = 0x7000;
const MEGABYTE: u64 = 1_000_000;

fn about() -> About {
    let pauses = Pauses { count: 1, total_ns: 210_000_000, longest_ns: 210_000_000 };
    let method = "heap events over the runtime's diagnostics socket, 1 forced collection".to_owned();
    About {
        cost: Cost { method, pauses, bytes: 61 * MEGABYTE, events: 1_250_000, ..Cost::default() },
        notes: Vec::new(),
        measured: Duration::from_millis(900),
        end: WindowEnd::Completed,
    }
}

fn held(path: &str, copies: u64) -> Held {
    Held {
        path: path.to_owned(),
        names: vec!["Shop.Cache.items".to_owned()],
        copies,
        culprit: Some(Culprit::new(CulpritKind::Field, "Shop.Cache.items")),
    }
}

fn duplicate(text: Option<&str>, letters: u32, copies: u64, ways: Vec<Held>, others: u64) -> Duplicate {
    let wasted = (copies - 1) * size_of(letters);
    Duplicate { text: text.map(str::to_owned), letters, copies, wasted, held: ways, others }
}

fn seen(wasted: u64) -> Seen {
    let cache = "static Shop.Cache.items > Dictionary<string, Shop.Order> > Shop.Order";
    Seen {
        strings: 260_000,
        read: 259_400,
        different: 81_200,
        string_bytes: 12 * MEGABYTE,
        heap_bytes: 40 * MEGABYTE,
        wasted,
        lasting: wasted,
        repeated: 311,
        worst: vec![
            duplicate(Some("Free and Hanseatic City of Hamburg"), 34, 60_000, vec![held(cache, 60_000)], 0),
            duplicate(
                Some("Germany"),
                7,
                60_200,
                vec![held(cache, 60_000), held("strong handle > object[]", 120)],
                80,
            ),
            duplicate(Some(""), 0, 900, vec![held(cache, 900)], 0),
            duplicate(None, 90, 12, vec![held("local variable", 12)], 0),
        ],
        held: vec![held(cache, 121_000), held("strong handle > object[]", 300)],
        by_agent: false,
    }
}

fn asked(seen: &Seen, settings: &[&str]) -> Answer {
    answer(seen, about(), &Settings::new(&SPEC, settings.iter().copied()).expect("settings"))
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, asked(&seen(7_400_000), &[]));
    assert_eq!(ids(&report), ["duplicate-strings"]);
    assert_eq!(report.findings[0].severity, Severity::Info);
    check(&report);
}

#[test]
fn some_copies_are_no_illness() {
    assert!(asked(&seen(3_900_000), &[]).findings.is_empty());
    assert!(asked(&seen(4_000_000), &["share=11"]).findings.is_empty());
    assert_eq!(asked(&seen(12 * MEGABYTE), &[]).findings[0].severity, Severity::Warning);
    let passing = asked(&Seen { lasting: 2 * MEGABYTE, ..seen(12 * MEGABYTE) }, &[]);
    assert_eq!(passing.findings[0].severity, Severity::Info, "held by running methods");
    assert_eq!(asked(&Seen::default(), &[]).summary, "There are no strings on the heap.");
}

#[test]
fn strings_that_could_not_be_read_count_as_those_that_were() {
    let severity = |strings, read| {
        let seen = Seen { strings, read, ..seen(7_400_000) };
        asked(&seen, &[]).findings[0].severity
    };
    assert_eq!(severity(260_000, 259_400), Severity::Info, "18 % of the heap");
    assert_eq!(severity(260_000, 130_000), Severity::Warning, "and as much again that was not read");
    assert_eq!(severity(260_000, 10_000), Severity::Info, "so few tell nothing of the rest");
}

#[test]
fn texts_are_hidden_on_wish() {
    let settings = Settings::new(&SPEC, []).expect("settings").with_redaction(Redaction::On);
    let report = report(&SPEC, answer(&seen(7_400_000), about(), &settings));
    let text = shown(&report);
    assert!(!text.contains("Hamburg") && !text.contains("Germany"), "{text}");
}

fn shown(report: &model::Report) -> String {
    reports::terminal::render(report, &reports::TerminalStyle::default())
}

/// Memory that holds what is put there.
#[derive(Default)]
struct Pages {
    bytes: HashMap<u64, u8>,
    longest: usize,
}

impl Pages {
    fn put(&mut self, address: u64, class: u64, text: &str) {
        let letters: Vec<u16> = text.encode_utf16().collect();
        let mut bytes = class.to_le_bytes().to_vec();
        bytes.extend(u32::try_from(letters.len()).expect("a length").to_le_bytes());
        bytes.extend(letters.iter().flat_map(|letter| letter.to_le_bytes()));
        bytes.resize(
            usize::try_from(size_of(u32::try_from(letters.len()).expect("a length"))).expect("a size"),
            0,
        );
        self.bytes.extend((address..).zip(bytes));
    }
}

impl Memory for Pages {
    fn longest(&self) -> usize {
        self.longest
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let mut whole = true;
        for (at, byte) in (address..).zip(into) {
            // Between objects lies something; beyond the last of them nothing.
            match self.bytes.get(&at) {
                Some(found) => *byte = *found,
                None => whole &= at < 0x9000,
            }
        }
        whole
    }
}

/// Strings at these addresses, as a graph has them.
fn graph(strings: &[(u64, &str)]) -> (HeapGraph, Vec<NodeId>) {
    let mut builder = GraphBuilder::new();
    let id = builder.add_type("System.String", None);
    for (address, text) in strings {
        let letters = u32::try_from(text.encode_utf16().count()).expect("a length");
        builder.object(Address(*address), id, size_of(letters), 0).expect("an object");
    }
    let graph = builder.finish().expect("a graph");
    let nodes = graph.nodes().collect();
    (graph, nodes)
}

fn find(longest: usize, strings: &[(u64, &str)], change: impl FnOnce(&mut Pages)) -> Found {
    let (graph, nodes) = graph(strings);
    let mut memory = Pages { longest, ..Pages::default() };
    for (address, text) in strings {
        memory.put(*address, CLASS, text);
    }
    change(&mut memory);
    Reader::new(&graph, &mut memory, Some(CLASS)).find(nodes, 10)
}

const STRINGS: [(u64, &str); 6] = [
    (0x1000, "Hamburg"),
    (0x1100, "Lyon"),
    (0x1200, "Hamburg"),
    (0x4000, "Hamburg"),
    (0x5000, "Lyon"),
    (0x5100, "Porto"),
];

#[test]
fn equal_strings_are_found_however_they_are_read() {
    for longest in [40, 48, 0x300, 1 << 20] {
        let found = find(longest, &STRINGS, |_| ());
        assert_eq!((found.strings, found.read, found.different), (6, 6, 3), "{longest}");
        let texts: Vec<_> = found.equal.iter().map(|equal| (equal.text.clone(), equal.copies())).collect();
        let expected = [("Hamburg", 3), ("Lyon", 2)].map(|(text, copies)| (Some(text.to_owned()), copies));
        assert_eq!(texts, expected, "{longest}");
        assert_eq!(found.wasted(), 2 * 40 + 32);
    }
}

#[test]
fn what_moved_is_not_taken_for_a_string() {
    let found = find(1 << 20, &STRINGS, |memory| {
        memory.put(0x1200, 0x9990, "Hamburg");
        memory.put(0x4000, CLASS, "Hamburg and more");
        memory.put(0x5000, CLASS, "Kiel");
    });
    assert_eq!((found.read, found.equal.len()), (4, 0));
}

#[test]
fn a_part_that_is_gone_hides_only_itself() {
    let mut strings = STRINGS.to_vec();
    strings.extend([(0x9000, "Hamburg"), (0x9100, "Hamburg")]);
    let found = find(1 << 20, &strings, |memory| memory.bytes.retain(|at, _| *at < 0x9100));
    assert_eq!(found.read, 7);
    assert_eq!(found.equal[0].copies(), 4);
}

#[test]
fn sizes_are_those_of_the_heap() {
    assert_eq!([0, 1, 2, 5, 6].map(size_of), [24, 24, 32, 32, 40]);
    let nodes = graph(&STRINGS).1;
    assert_eq!(Equal::specimen(nodes, 7, "Hamburg").wasted(), 5 * 40);
}

/// A user who waits.
struct Patient;

impl Control for Patient {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        Stop::TimeOver
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

/// Where this user may not read the process's memory, the agent does.
#[test]
fn an_agent_reads_the_same_strings() {
    let patient = testbed::shared().target("unbounded-cache-duplicate-strings", testbed::Runtime::Net9);
    let target = patient.arg("cap=16").start().expect("the patient starts");
    let options = discovery::Options { timeout: Duration::from_secs(30) };
    let process = discovery::find(model::ProcessId(target.pid()), &options).expect("the target");
    let settings = Settings::new(&SPEC, []).expect("settings");
    let run = Run::new(&process, &settings, SPEC.duration, &Patient);
    let (taken, _) = heap::take(&run).expect("a heap");
    let strings = super::strings_of(&taken, &ShortestPaths::of(&taken.graph));
    let mut outside = Outside::open(process.pid).expect("its memory");
    let found = Reader::new(&taken.graph, &mut outside, None).find(strings.clone(), 3);
    let visited = inside::visit(&run, SPEC.id, |guest| {
        let mut memory = Inside { guest, failed: None };
        let found = Reader::new(&taken.graph, &mut memory, None).find(strings, 3);
        memory.failed.map_or(Ok(found), Err)
    });
    let told = visited.expect("an agent").value;
    let texts = |found: &Found| -> Vec<(Option<String>, u64)> {
        found.equal.iter().take(3).map(|equal| (equal.text.clone(), equal.copies())).collect()
    };
    assert!(found.read > 100_000, "{}", found.read);
    assert_eq!(texts(&found), texts(&told));
    assert_eq!(texts(&found)[0].0.as_deref(), Some("Freie und Hansestadt Hamburg"));
}
