//! Reports on heaps made by hand, as people see them.

use std::path::Path;

use heap_graph::{Address, Generation, GraphBuilder, HeapGraph, RootKind};
use heap_reports::{
    Look, NoMatch, NoType, Origin, choose_types, growth, heap, overview, paths, suspects, types,
};
use model::{Cost, ProcessId, Report, Severity, Target};
use reports::{TerminalStyle, terminal};

/// A shop that keeps every order: `static Shop.OrderHistory.s_orders > List > Order[] > Order > Byte[]`.
fn shop(orders: u64) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let list =
        builder.add_type("System.Collections.Generic.List<Shop.Order>", Some("System.Private.CoreLib.dll"));
    let array = builder.add_type("Shop.Order[]", Some("Shop.dll"));
    let order = builder.add_type("Shop.Order", Some("Shop.dll"));
    let bytes = builder.add_type("System.Byte[]", Some("System.Private.CoreLib.dll"));
    let text = builder.add_type("System.String", Some("System.Private.CoreLib.dll"));
    let table = builder.add_type("System.Object[]", Some("System.Private.CoreLib.dll"));
    let count = u32::try_from(orders).expect("a small heap");
    builder.object(Address(0x1000), list, 32, 1).expect("a small heap");
    builder.reference(Address(0x2000)).expect("a small heap");
    builder.object(Address(0x2000), array, 24 + 8 * orders, count).expect("a small heap");
    let place = |at: u64| Address(0x1_0000_0000 + at * 4096);
    (0..orders).for_each(|at| builder.reference(place(at)).expect("a small heap"));
    for at in 0..orders {
        builder.object(place(at), order, 40, 1).expect("a small heap");
        builder.reference(Address(place(at).0 + 64)).expect("a small heap");
        builder.object(Address(place(at).0 + 64), bytes, 2072, 0).expect("a small heap");
    }
    builder.object(Address(0x9_0000_0000), text, 60, 0).expect("a small heap");
    builder.object(Address(0x9_0000_1000), text, 60, 0).expect("a small heap");
    // The runtime's own table of static fields, which would share everything.
    builder.object(Address(0x9_0000_2000), table, 64, 1).expect("a small heap");
    builder.reference(Address(0x1000)).expect("a small heap");
    builder
        .root(RootKind::StaticField, Some("Shop.OrderHistory.s_orders"), Address(0x1000))
        .expect("a small heap");
    builder.root(RootKind::PinnedHandle, None, Address(0x9_0000_2000)).expect("a small heap");
    builder.root(RootKind::Local, None, Address(0x9_0000_0000)).expect("a small heap");
    builder.finish().expect("a small heap")
}

/// A queue whose links each hold the next.
fn chain(links: u64) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let queue = builder.add_type("Jobs.Queue", None);
    let job = builder.add_type("Jobs.Job", None);
    let place = |at: u64| Address(0x10_0000 + at * 128);
    builder.object(Address(0x1000), queue, 24, 1).expect("a small heap");
    builder.reference(place(0)).expect("a small heap");
    for at in 0..links {
        builder.object(place(at), job, 1000, u32::from(at + 1 < links)).expect("a small heap");
        if at + 1 < links {
            builder.reference(place(at + 1)).expect("a small heap");
        }
    }
    builder.root(RootKind::StaticField, Some("Jobs.Runner.s_queue"), Address(0x1000)).expect("a small heap");
    builder.finish().expect("a small heap")
}

fn origin() -> Origin {
    Origin {
        target: Target {
            pid: ProcessId(4242),
            name: "Shop.Api".to_owned(),
            runtime_version: Some("9.0.7".to_owned()),
            architecture: Some("x64".to_owned()),
            started_at: None,
            command_line: None,
        },
        taken_at: "2026-11-15T05:12:00Z".parse().expect("a small heap"),
        cost: Cost { method: "read from a file; nothing sent to the process".to_owned(), ..Cost::default() },
        notes: Vec::new(),
        tool_version: "0.1.0".to_owned(),
    }
}

#[track_caller]
fn check(name: &str, report: &Report) {
    let text = terminal::render(report, &TerminalStyle::default());
    golden::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), &text);
}

#[test]
fn a_heap_is_told_by_type_and_root_with_its_suspect() {
    let look = Look::of(shop(10_000));
    let report = heap(&look, &origin(), 20);
    assert_eq!(report.findings.len(), 1);
    check("heap.txt", &report);
}

#[test]
fn growth_is_told_with_who_holds_it() {
    let (before, after) = (Look::of(shop(10_000)), Look::of(shop(12_000)));
    let report = growth(&before, &after, &origin(), 20);
    assert_eq!(report.findings.len(), 1, "the bytes of an order are no finding of their own");
    assert_eq!(report.findings[0].severity, Severity::Warning);
    check("growth.txt", &report);
}

#[test]
fn a_heap_that_shrank_or_stayed_is_no_finding() {
    let (small, large) = (Look::of(shop(10_000)), Look::of(shop(12_000)));
    let shrunk = growth(&large, &small, &origin(), 20);
    assert!(shrunk.findings.is_empty());
    assert!(shrunk.summary.contains("shrank by 4.24 MB"), "{}", shrunk.summary);
    let same = growth(&small, &small, &origin(), 20);
    assert!(same.findings.is_empty());
    assert!(same.summary.contains("is as large as it was"), "{}", same.summary);
}

#[test]
fn paths_lead_from_the_field_to_the_objects() {
    let look = Look::of(shop(10_000));
    let types = choose_types(&look, "Order").unwrap();
    check("paths.txt", &paths(&look, &origin(), &types, 10));
}

#[test]
fn types_are_found_by_name_end_and_part() {
    let look = Look::of(shop(10));
    let name =
        |typed: &str| choose_types(&look, typed).map(|ids| look.graph.type_info(ids[0]).name.to_string());
    assert_eq!(name("Shop.Order").unwrap(), "Shop.Order");
    assert_eq!(name("Order").unwrap(), "Shop.Order");
    assert_eq!(name("order").unwrap(), "Shop.Order");
    assert_eq!(name("Order[]").unwrap(), "Shop.Order[]");
    assert_eq!(name("list<").unwrap(), "System.Collections.Generic.List<Shop.Order>");
    assert_eq!(
        name("Shop.Ordr"),
        Err(NoType::Unknown(vec!["Shop.Order".to_owned(), "Shop.Order[]".to_owned()]))
    );
    let Err(NoType::Several(names, count)) = name("Shop") else { panic!("several have it") };
    assert_eq!((names[0].as_str(), count), ("Shop.Order", 3));
    assert_eq!(name("Zebra"), Err(NoType::Unknown(Vec::new())));
}

#[test]
fn a_long_list_is_one_suspect_and_counts_all_its_links() {
    let look = Look::of(chain(100_000));
    let found = suspects(&look, 5);
    assert_eq!(found.len(), 1, "{found:?}");
    let (held, totals) = found[0].holds.unwrap();
    assert_eq!(&*look.graph.type_info(held).name, "Jobs.Job");
    assert_eq!(totals.objects, 100_000);
}

#[test]
fn a_small_heap_has_no_suspects() {
    assert!(suspects(&Look::of(shop(100)), 5).is_empty());
    assert!(suspects(&Look::of(GraphBuilder::new().finish().unwrap()), 5).is_empty());
}

#[test]
fn sizes_over_two_and_four_gigabytes_stay_right_through_a_file() {
    let mut builder = GraphBuilder::new();
    let bytes = builder.add_type("System.Byte[]", None);
    let holder = builder.add_type("Big.Holder", None);
    let sizes = [3_u64 << 30, 9 << 30, (2 << 30) - 1, 1 << 31];
    builder.object(Address(8), holder, 24, 4).unwrap();
    (0..4).for_each(|at| builder.reference(Address(0x1_0000 + at * 64)).unwrap());
    for (at, &size) in (0..).zip(&sizes) {
        builder.object(Address(0x1_0000 + at * 64), bytes, size, 0).unwrap();
    }
    builder.root(RootKind::StaticField, Some("Big.Holder.all"), Address(8)).unwrap();
    let graph = builder.finish().unwrap();
    let mut file = Vec::new();
    heap_graph::gcdump::write(&graph, &heap_graph::gcdump::DumpInfo::default(), &mut file).unwrap();
    let (again, _) = heap_graph::gcdump::read(&file[..]).unwrap();
    let look = Look::of(again);
    assert_eq!(look.live_bytes(), 24 + sizes.iter().sum::<u64>());
    assert_eq!(look.types[0].retained, look.live_bytes());
    let report = heap(&look, &origin(), 5);
    assert!(report.summary.contains("17.2 GB"), "{}", report.summary);
}

#[test]
fn generations_are_told_with_their_holes() {
    let mut builder = GraphBuilder::new();
    let order = builder.add_type("Shop.Order", None);
    let places = [(0x1000, 100), (0x1400, 200), (0x2000, 300), (0x9000, 50), (0xA000, 60)];
    for (place, size) in places {
        builder.object(Address(place), order, size, 0).unwrap();
    }
    for (place, _) in &places[..4] {
        builder.root(RootKind::StrongHandle, None, Address(*place)).unwrap();
    }
    builder.generation_range(Address(0x1000), Address(0x1800), Generation::Gen0);
    builder.generation_range(Address(0x2000), Address(0x2200), Generation::Large);
    builder.generation_range(Address(0x3000), Address(0x3800), Generation::Gen2);
    let look = Look::of(builder.finish().unwrap());
    let report = overview(&look, &origin(), 5, Vec::new(), "");
    let model::Body::Table(table) = &report.sections[0].body else { panic!("no table") };
    let rows: Vec<_> = table.rows.iter().map(|row| (&row[0], &row[3], &row[4])).collect();
    let bytes = |number: u64| model::Cell::Number(number);
    let (missing, none) = (model::Cell::Missing, model::Cell::Missing);
    assert_eq!(rows[0], (&bytes(300), &bytes(0x800 - 300), &"generation 0".into()));
    assert_eq!(rows[1], (&bytes(300), &bytes(0x200 - 300), &"large objects".into()));
    assert_eq!(rows[2], (&bytes(50), &missing, &"alive, of no generation that is known".into()));
    assert_eq!(rows[3], (&bytes(60), &none, &"held by no root that is known".into()));
    assert_eq!(rows.len(), 4, "a generation without objects is not told");
}

#[test]
fn types_are_listed_by_a_part_of_their_names() {
    let look = Look::of(shop(100));
    let report = types(&look, &origin(), "ORDER", 1).unwrap();
    let model::Body::Table(table) = &report.sections[0].body else { panic!("no table") };
    assert_eq!((table.rows.len(), table.omitted_rows), (1, 2));
    assert!(
        report.summary.starts_with("3 types with 'ORDER' in their names have 102 live objects"),
        "{}",
        report.summary
    );
    assert_eq!(types(&look, &origin(), "Shop.Ordr", 1).unwrap_err().0[0], "Shop.Order");
    assert_eq!(types(&look, &origin(), "Zebra", 1).unwrap_err(), NoMatch(Vec::new()));
    let all = types(&look, &origin(), "", 100).unwrap().summary;
    assert!(all.contains("100 % of what is alive"), "{all}");
}

#[test]
fn a_list_of_a_million_links_is_told_in_every_report() {
    let look = Look::of(chain(1_000_000));
    let report = overview(&look, &origin(), 20, Vec::new(), "");
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    let jobs = choose_types(&look, "Job").unwrap();
    assert!(paths(&look, &origin(), &jobs, 10).summary.starts_with("1,000,000 Jobs.Job with 1 GB"));
    assert!(growth(&look, &look, &origin(), 20).findings.is_empty());
    assert_eq!(suspects(&look, 5)[0].holds.unwrap().1.objects, 1_000_000);
}

/// An array of so many references to one object, as a list that is filled with one value.
fn list(elements: u32) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let array = builder.add_type("Shop.Order[]", None);
    let order = builder.add_type("Shop.Order", None);
    builder.object(Address(0x1000), array, 24 + 8 * u64::from(elements), elements).unwrap();
    (0..elements).for_each(|_| builder.reference(Address(0x100)).unwrap());
    builder.object(Address(0x100), order, 40, 0).unwrap();
    builder.root(RootKind::StaticField, Some("Shop.Till.s_open"), Address(0x1000)).unwrap();
    builder.finish().unwrap()
}

#[test]
fn a_list_of_fifty_million_elements_is_told_in_every_report() {
    let look = Look::of(list(50_000_000));
    assert_eq!(look.live_bytes(), 24 + 8 * 50_000_000 + 40);
    assert_eq!(look.types[0].retained, look.live_bytes());
    let orders = choose_types(&look, "Order").unwrap();
    assert!(paths(&look, &origin(), &orders, 10).summary.starts_with("1 Shop.Order with 40 B"));
    assert_eq!(overview(&look, &origin(), 20, Vec::new(), "").findings.len(), 1);
}
