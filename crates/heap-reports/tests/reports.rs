//! Reports on heaps made by hand, as people see them.

use std::path::Path;

use heap_graph::{Address, GraphBuilder, HeapGraph, RootKind};
use heap_reports::{Look, NoType, Origin, choose_types, growth, heap, paths, suspects};
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
    let count = u32::try_from(orders).unwrap();
    builder.object(Address(0x1000), list, 32, 1).unwrap();
    builder.reference(Address(0x2000)).unwrap();
    builder.object(Address(0x2000), array, 24 + 8 * orders, count).unwrap();
    let place = |at: u64| Address(0x1_0000_0000 + at * 4096);
    (0..orders).for_each(|at| builder.reference(place(at)).unwrap());
    for at in 0..orders {
        builder.object(place(at), order, 40, 1).unwrap();
        builder.reference(Address(place(at).0 + 64)).unwrap();
        builder.object(Address(place(at).0 + 64), bytes, 2072, 0).unwrap();
    }
    builder.object(Address(0x9_0000_0000), text, 60, 0).unwrap();
    builder.object(Address(0x9_0000_1000), text, 60, 0).unwrap();
    // The runtime's own table of static fields, which would share everything.
    builder.object(Address(0x9_0000_2000), table, 64, 1).unwrap();
    builder.reference(Address(0x1000)).unwrap();
    builder.root(RootKind::StaticField, Some("Shop.OrderHistory.s_orders"), Address(0x1000)).unwrap();
    builder.root(RootKind::PinnedHandle, None, Address(0x9_0000_2000)).unwrap();
    builder.root(RootKind::Local, None, Address(0x9_0000_0000)).unwrap();
    builder.finish().unwrap()
}

/// A queue whose links each hold the next.
fn chain(links: u64) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let queue = builder.add_type("Jobs.Queue", None);
    let job = builder.add_type("Jobs.Job", None);
    let place = |at: u64| Address(0x10_0000 + at * 128);
    builder.object(Address(0x1000), queue, 24, 1).unwrap();
    builder.reference(place(0)).unwrap();
    for at in 0..links {
        builder.object(place(at), job, 1000, u32::from(at + 1 < links)).unwrap();
        if at + 1 < links {
            builder.reference(place(at + 1)).unwrap();
        }
    }
    builder.root(RootKind::StaticField, Some("Jobs.Runner.s_queue"), Address(0x1000)).unwrap();
    builder.finish().unwrap()
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
        taken_at: "2026-11-15T05:12:00Z".parse().unwrap(),
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
