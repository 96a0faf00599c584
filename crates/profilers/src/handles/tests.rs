//! The report as users see it, and what is called a leak, from fixed observations.

use std::collections::HashMap;
use std::time::Duration;

use gc_memory::{Handle, HandleKind as Told};
use heap_graph::{Address, Generation, GraphBuilder, HeapGraph, RootKind};
use model::{Confidence, Cost, Frame, Pauses, WindowEnd};
use runtime_events::handle::HandleKind;

use super::answer::answer;
use super::population::{Population, Row};
use super::watch::{Changes, Counts, Maker};
use super::{SPEC, Seen};
use crate::Settings;
use crate::about::About;
use crate::heap::memory::Memory;
use crate::profiler::Answer;
use crate::specimen::{check, frame, frame_at, ids, report};

fn about() -> About {
    let method = "events of the runtime (EventPipe); nothing loaded into the process; heap events over the runtime's \
                  diagnostics socket, 1 forced collection";
    About {
        cost: Cost {
            method: method.to_owned(),
            pauses: Pauses { count: 1, total_ns: 140_000_000, longest_ns: 140_000_000 },
            bytes: 48_000_000,
            events: 31_000,
            ..Cost::default()
        },
        notes: Vec::new(),
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
    }
}

fn row(kind: HandleKind, type_name: &str, count: u64, holder: Option<(&str, u64)>) -> Row {
    Row {
        kind,
        type_name: type_name.to_owned(),
        count,
        bytes: 4120 * count,
        holder: holder.map(|(name, count)| (name.to_owned(), count)),
        kept_in: None,
        own: type_name.starts_with("Shop."),
        in_the_way: Some(count),
    }
}

fn maker(kind: HandleKind, place: Frame, made: u64, freed: u64) -> Maker {
    let alloc = frame("System.Runtime.InteropServices.GCHandle.Alloc", "System.Private.CoreLib");
    Maker { kind, frames: vec![alloc, place], counts: Counts { made, freed } }
}

fn own(name: &str, line: u32) -> Frame {
    frame_at(name, "Shop.Api", "src/Native.cs", line)
}

fn seen(rows: Vec<Row>, makers: Vec<Maker>, older: u64) -> Seen {
    Seen {
        population: Population { rows, all_kinds: true },
        changes: Changes { makers, older, ..Changes::default() },
        window: Duration::from_secs(5),
    }
}

fn asked(seen: &Seen, settings: &[&str]) -> Answer {
    answer(seen, about(), &Settings::new(&SPEC, settings.iter().copied()).expect("settings"))
}

fn leaking(made: u64, freed: u64, older: u64) -> Seen {
    let rows = vec![row(HandleKind::Strong, "Shop.Job", 4100, None)];
    seen(rows, vec![maker(HandleKind::Strong, own("Shop.Native.Submit", 31), made, freed)], older)
}

#[test]
fn the_report_looks_as_accepted() {
    let rows = vec![
        row(HandleKind::Strong, "Shop.Job", 4100, None),
        Row {
            kept_in: Some(("Shop.Connection".to_owned(), 2990)),
            ..row(HandleKind::Pinned, "System.Byte[]", 3000, Some(("Shop.Reader", 12)))
        },
        Row { bytes: 0, ..row(HandleKind::WeakShort, "Shop.Item", 200, None) },
        row(HandleKind::Pinned, "System.Object[]", 21, Some(("System.Threading.Thread", 2))),
    ];
    let makers = vec![
        maker(HandleKind::Strong, own("Shop.Native.Submit", 31), 1280, 0),
        maker(HandleKind::Pinned, own("Shop.Connection.Open", 77), 9000, 8990),
        maker(HandleKind::WeakShort, own("Shop.Cache.Add", 12), 40, 38),
    ];
    let report = report(&SPEC, asked(&seen(rows, makers, 12), &[]));
    assert_eq!(ids(&report), ["handle-leak", "pinning"]);
    check(&report);
}

#[test]
fn handles_that_are_freed_are_no_leak() {
    let of = |seen: &Seen, settings: &[&str]| asked(seen, settings).findings.len();
    assert_eq!(of(&leaking(1280, 0, 0), &[]), 1);
    assert_eq!(of(&leaking(1280, 1200, 0), &[]), 0, "few are left");
    assert_eq!(of(&leaking(1280, 700, 0), &[]), 0, "most are freed");
    assert_eq!(of(&leaking(1280, 0, 1280), &[]), 0, "as many older ones are freed");
    assert_eq!(of(&leaking(1280, 0, 0), &["least=2000"]), 0);
    let gone = Seen { population: Population::default(), ..leaking(1280, 0, 0) };
    assert_eq!(of(&gone, &[]), 0, "they are not there any more");
    let short = Seen { window: Duration::from_millis(100), ..leaking(1280, 0, 0) };
    assert_eq!(of(&short, &[]), 0);
    let weak = vec![maker(HandleKind::WeakShort, own("Shop.Cache.Add", 12), 5000, 0)];
    assert_eq!(of(&seen(Vec::new(), weak, 0), &[]), 0, "finalizers free them");
}

#[test]
fn pins_that_lie_in_nobodys_way_are_no_illness() {
    let pinned = |in_the_way| {
        let rows = vec![Row { in_the_way, ..row(HandleKind::Pinned, "System.Byte[]", 3000, None) }];
        asked(&seen(rows, Vec::new(), 0), &[]).findings
    };
    assert_eq!(pinned(Some(3000))[0].confidence, Confidence::High);
    assert_eq!(pinned(None)[0].confidence, Confidence::Medium);
    assert!(pinned(Some(900)).is_empty());
}

fn graph() -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let buffer = builder.add_type("System.Byte[]", None);
    let owner = builder.add_type("Shop.Connection", None);
    builder.object(Address(0x1000), owner, 24, 2).expect("an object");
    builder.reference(Address(0x2000)).expect("a reference");
    builder.reference(Address(0x3000)).expect("a reference");
    for address in [0x2000, 0x3000, 0x9000] {
        builder.object(Address(address), buffer, 4120, 0).expect("an object");
        builder.root(RootKind::PinnedHandle, None, Address(address)).expect("a root");
    }
    builder.root(RootKind::StrongHandle, None, Address(0x1000)).expect("a root");
    builder.root(RootKind::Local, None, Address(0x2000)).expect("a root");
    builder.generation_range(Address(0x1000), Address(0x8000), Generation::Gen2);
    builder.generation_range(Address(0x8000), Address(0xA000), Generation::Pinned);
    builder.finish().expect("a graph")
}

#[test]
fn without_a_stack_the_type_is_named() {
    let named = |row: Row| {
        let found = asked(&seen(vec![row], Vec::new(), 0), &[]).findings;
        found[0].culprit.as_ref().map(|culprit| culprit.name.clone())
    };
    let pinned = row(HandleKind::Pinned, "System.Byte[]", 3000, Some(("Shop.Reader", 12)));
    assert_eq!(named(pinned.clone()).as_deref(), Some("Shop.Reader"));
    let kept = Row { kept_in: Some(("Shop.Connection".to_owned(), 2990)), ..pinned.clone() };
    assert_eq!(named(kept).as_deref(), Some("Shop.Connection"));
    assert_eq!(named(Row { holder: None, ..pinned }), None);
    assert_eq!(named(row(HandleKind::Pinned, "Shop.Page", 3000, None)).as_deref(), Some("Shop.Page"));
}

/// Memory that holds these words, and nothing else.
struct Words(HashMap<u64, u64>);

impl Memory for Words {
    fn longest(&self) -> usize {
        4096
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        for (at, byte) in (address..).zip(into) {
            let word = self.0.get(&(at & !7)).copied().unwrap_or(0);
            *byte = word.to_le_bytes()[usize::try_from(at & 7).expect("a byte")];
        }
        true
    }
}

#[test]
fn objects_that_contain_handles_are_found_and_weak_ones_are_counted() {
    let graph = graph();
    let mut found = Population::see(&graph, None);
    let handle = |kind, at, object| Handle { kind, at, object, dependent: 0 };
    let handles = [
        handle(Told::Pinned, 0x70_0000, 0x2000),
        handle(Told::Pinned, 0x70_0008, 0x3000),
        handle(Told::Strong, 0x70_0010, 0x1000),
        handle(Told::WeakShort, 0x70_0018, 0x1000),
        handle(Told::WeakShort, 0x70_0020, 0x9000),
    ];
    // The connection has one of the pinned handles, with the bit that marks them; its type is the first word.
    let mut memory = Words([(0x1000, 0x5550), (0x1008, 0x70_0001)].into());
    let owner = graph.types_named("Shop.Connection").next().expect("the type");
    found.add_others(&graph, &[(owner, 0x5550)].into(), &handles, &mut memory);
    found.find_keepers(&graph, None, &handles, &mut memory);
    let row = |kind, name: &str| {
        found.of(kind).find(|row| row.type_name == name).unwrap_or_else(|| panic!("{name}: {found:?}"))
    };
    assert_eq!(row(HandleKind::Pinned, "System.Byte[]").kept_in, Some(("Shop.Connection".to_owned(), 1)));
    assert_eq!(row(HandleKind::Strong, "Shop.Connection").kept_in, None);
    assert_eq!(row(HandleKind::WeakShort, "Shop.Connection").count, 1);
    assert_eq!(row(HandleKind::WeakShort, "?").count, 1);
    assert!(found.all_kinds);
}

#[test]
fn handles_are_counted_by_type_and_who_else_holds_their_objects() {
    let found = Population::see(&graph(), None);
    assert_eq!(found.rows.len(), 2, "{found:?}");
    let pinned = &found.rows[0];
    assert_eq!((pinned.kind, pinned.count, pinned.bytes), (HandleKind::Pinned, 3, 3 * 4120));
    assert_eq!(pinned.holder, Some(("Shop.Connection".to_owned(), 2)));
    assert_eq!(pinned.in_the_way, Some(2));
    assert_eq!((found.rows[1].type_name.as_str(), &found.rows[1].holder), ("Shop.Connection", &None));
    assert_eq!(found.count(HandleKind::Strong), 1);
}
