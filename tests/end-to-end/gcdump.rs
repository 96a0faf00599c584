//! `drdotnet gcdump` on the heaps of real programs.

use std::fs;
use std::path::Path;

use model::{Body, Cell, Report, Section};
use rustix::process::Signal;
use testbed::{Runtime, Target, shared};

use crate::support::{Said, User, check_golden, eventually};

fn start(patient: &str, runtime: Runtime) -> Target {
    shared().target(patient, runtime).start().expect("a target")
}

/// Collects to a file of this name in the user's folder.
fn collect(user: &User, target: &Target, name: &str) -> String {
    let file = user.folder().join(name).to_str().expect("a path").to_owned();
    let said = user.says(&["gcdump", "collect", "-p", &target.pid().to_string(), "-o", &file]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.stdout.starts_with(&format!("wrote {file} (")), "{said:?}");
    assert!(said.stdout.contains("the process stood still for "), "{said:?}");
    assert!(said.stderr.contains("will make a full collection and stand still meanwhile: "), "{said:?}");
    file
}

fn section<'a>(report: &'a Report, id: &str) -> &'a Section {
    report.sections.iter().find(|section| section.id == id).unwrap_or_else(|| panic!("no section {id}"))
}

/// The row of a table whose last cell is this text.
fn row<'a>(report: &'a Report, id: &str, last: &str) -> Option<&'a [Cell]> {
    let Body::Table(table) = &section(report, id).body else { panic!("{id} is no table") };
    table.rows.iter().map(Vec::as_slice).find(|row| row.last() == Some(&Cell::Text(last.to_owned())))
}

fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Number(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

/// Everything that a report says, as one text.
fn everything(report: &Report) -> String {
    report.to_json().expect("JSON")
}

#[test]
fn a_leak_is_seen_in_one_heap_and_proven_by_two() {
    for runtime in Runtime::ALL {
        let user = User::new();
        let target = start("leak-static-collection", runtime);
        let before = collect(&user, &target, "before.gcdump");
        let report = user.says(&["gcdump", "report", &before, "--json"]).report();
        let orders = row(&report, "types", "Shop.Order").unwrap_or_else(|| panic!("{runtime}: no orders"));
        let count = number(&orders[0]);
        assert!(count >= 7000, "{runtime}: {orders:?}");
        assert!(row(&report, "roots", "static Shop.OrderHistory.s_orders").is_some(), "{runtime}");
        let finding = report.findings.first().unwrap_or_else(|| panic!("{runtime}: no suspect"));
        assert_eq!(finding.id, "heap-suspect");
        let culprit = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert_eq!(culprit, Some("Shop.OrderHistory.s_orders"), "{runtime}");

        // It leaks 4 MB a second; what counts as growth is 5 % of a heap that starts with 16 MB.
        let diff = eventually("the heap has grown", || {
            let after = collect(&user, &target, "after.gcdump");
            let diff = user.says(&["gcdump", "diff", &before, &after, "--json"]).report();
            (!diff.findings.is_empty()).then_some(diff)
        });
        assert_eq!(diff.findings[0].id, "heap-growth", "{runtime}");
        assert!(diff.findings[0].title.contains("Shop.Order more"), "{runtime}: {}", diff.findings[0].title);
        let growth = row(&diff, "growth", "Shop.Order").unwrap_or_else(|| panic!("{runtime}: no growth"));
        assert!(number(&growth[0]) > 0 && number(&growth[3]) > count, "{runtime}: {growth:?}");

        let paths = user.says(&["gcdump", "paths", &before, "--type", "Order", "--json"]).report();
        let Body::Tree(tree) = &section(&paths, "paths").body else { panic!("no tree") };
        assert_eq!(tree.roots[0].label, "static Shop.OrderHistory.s_orders", "{runtime}");
        // One that is being added may hang on a local variable.
        let held = number(&tree.roots[0].values[0]);
        assert!(held <= count && held + 10 > count, "{runtime}: {held} of {count}");
        assert!(target.is_alive(), "{runtime}");
    }
}

#[test]
fn every_leaking_patient_shows_what_it_keeps_and_who_holds_it() {
    for (patient, kept, holder) in [
        ("leak-event-handlers", "Desk.QuoteView", "static Desk.QuoteBoard.PriceChanged"),
        ("leak-timers", "Sessions.Session", "System.Threading.TimerQueue"),
        ("unbounded-cache-duplicate-strings", "Geo.Address", "s_entries"),
    ] {
        let user = User::new();
        let target = start(patient, Runtime::Net9);
        let file = collect(&user, &target, "heap.gcdump");
        let report = user.says(&["gcdump", "report", &file, "--json"]).report();
        assert!(row(&report, "types", kept).is_some(), "{patient}: {}", report.summary);
        let paths = user.says(&["gcdump", "paths", &file, "--type", kept, "--json"]).report();
        assert!(everything(&paths).contains(holder), "{patient}: {}", everything(&paths));
        assert!(target.is_alive(), "{patient}");
    }
}

#[test]
fn a_healthy_program_and_a_stranger_have_no_suspects() {
    let user = User::new();
    let healthy = start("healthy-idle-service", Runtime::Net9);
    let stranger = shared().stranger().start().expect("the stranger");
    for (target, least) in [(&healthy, 1000), (&stranger, 10_000)] {
        let said = user.says(&["gcdump", "report", "-p", &target.pid().to_string(), "--json"]);
        let report = said.report();
        assert_eq!(report.findings, [], "{}", report.summary);
        let text = row(&report, "types", "System.String").expect("strings");
        assert!(number(&text[0]) > least / 10, "{text:?}");
        assert_eq!(report.cost.pauses.count, 1);
        assert!(report.cost.events_lost == 0 && report.cost.bytes > 10_000);
        assert!(target.is_alive());
    }
}

#[test]
fn the_default_file_lies_here_and_is_named_by_time_and_pid() {
    let user = User::new();
    let target = start("healthy-idle-service", Runtime::Net9);
    let pid = target.pid().to_string();
    let mut command = user.command(&["gcdump", "collect", &pid, "--json"]);
    let said = crate::support::said(command.current_dir(user.folder()));
    assert_eq!(said.code, Some(0), "{said:?}");
    let answer = said.json();
    let name = answer["file"].as_str().expect("a name");
    let digits = |range: std::ops::Range<usize>| name[range].bytes().all(|byte| byte.is_ascii_digit());
    assert!(digits(0..8) && &name[8..9] == "_" && digits(9..15), "{name}");
    assert_eq!(&name[15..], format!("_{pid}.gcdump"));
    let file = user.folder().join(name);
    assert_eq!(answer["file_bytes"], file.metadata().expect("the file").len());
    assert!(answer["pause_ns"].as_u64().is_some_and(|pause| pause > 0), "{answer}");
    assert_eq!(answer["unnamed_types"], 0);
}

#[test]
fn ctrl_c_leaves_no_file_and_a_program_that_goes_on() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let user = User::new();
        let target =
            shared().target("long-gc-pauses", runtime).arg("objects=500000").start().expect("a target");
        let folder = user.folder().join("out");
        fs::create_dir(&folder).expect("a folder");
        let file = folder.join("heap.gcdump");
        let pid = target.pid().to_string();
        let run = user.starts(&["gcdump", "collect", "-p", &pid, "-o", file.to_str().expect("a path")]);
        // Its draft is there before the process is asked.
        eventually("it has begun", || fs::read_dir(&folder).ok()?.next().map(drop));
        run.signal(Signal::INT);
        let said = run.ends();
        assert_eq!(said.code, Some(130), "{runtime}: {said:?}");
        assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 0, "{runtime}: something is left");
        assert!(target.is_alive(), "{runtime}");
        collect(&user, &target, "again.gcdump");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_noticed_before_the_process_is_stopped() {
    let user = User::new();
    let target = start("healthy-idle-service", Runtime::Net9);
    let pid = target.pid().to_string();
    for (name, path) in
        [("no-folder", user.folder().join("missing/x.gcdump")), ("no-file", user.folder().to_owned())]
    {
        let said = user.says(&["gcdump", "collect", "-p", &pid, "-o", path.to_str().expect("a path")]);
        assert_eq!(said.code, Some(9), "{said:?}");
        assert!(!said.stderr.contains("full collection"), "{said:?}");
        check_golden(&format!("errors/gcdump-{name}.txt"), &plain(&said, &user));
    }
}

/// An error without the name of the test's folder.
fn plain(said: &Said, user: &User) -> String {
    said.stderr.replace(user.folder().to_str().expect("a path"), "DIR")
}

#[test]
fn files_that_are_no_heap_are_explained() {
    let user = User::new();
    let write = |name: &str, bytes: &[u8]| {
        let path = user.folder().join(name);
        fs::write(&path, bytes).expect("a file");
        path
    };
    let good = write("good", &small_heap());
    let cut = write("cut", &small_heap()[..200]);
    let says = |name: &str, path: &Path| {
        let said = user.says(&["gcdump", "report", path.to_str().expect("a path")]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(32), ""), "{name}: {said:?}");
        check_golden(&format!("errors/gcdump-{name}.txt"), &plain(&said, &user));
    };
    says("missing-file", &user.folder().join("missing"));
    says("folder", user.folder());
    says("trace", &write("trace", b"Nettrace\x14\0\0\0!FastSerialization.1"));
    says("core", &write("core", b"\x7fELF\x02\x01\x01"));
    says("other-file", &write("other", b"hello"));
    says("empty-file", &write("empty", b""));
    says("cut", &cut);
    let mut hostile = small_heap();
    // The number of types, right behind the total size and the index of the root.
    let at = find(&hostile, b"Graphs.MemoryGraph") + 18 + 1 + 8 + 4;
    hostile[at..at + 4].copy_from_slice(&i32::MAX.to_le_bytes());
    says("hostile", &write("hostile", &hostile));

    let good = good.to_str().expect("a path");
    for (name, arguments) in [
        ("no-type", ["gcdump", "paths", good, "--type", "Zebra"]),
        ("near-type", ["gcdump", "paths", good, "--type", "Shop.Ordr"]),
        ("several-types", ["gcdump", "paths", good, "--type", "Shop."]),
    ] {
        let said = user.says(&arguments);
        assert_eq!((said.code, said.stdout.as_str()), (Some(11), ""), "{said:?}");
        check_golden(&format!("errors/gcdump-{name}.txt"), &plain(&said, &user));
    }
}

#[test]
fn a_heap_cut_at_every_byte_gives_an_answer_or_a_clear_error() {
    let whole = small_heap();
    for length in 0..whole.len() {
        let outcome = heap_graph::gcdump::read(&whole[..length]);
        if let Err(error) = outcome {
            assert!(!error.to_string().is_empty());
        } else {
            // Only what follows the objects may be missing.
            assert!(length + 64 > whole.len(), "{length} of {} bytes were enough", whole.len());
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|window| window == what).expect("it is there")
}

/// The file of a heap with a few objects.
fn small_heap() -> Vec<u8> {
    use heap_graph::{Address, GraphBuilder, RootKind};
    let mut builder = GraphBuilder::new();
    let order = builder.add_type("Shop.Order", Some("Shop.dll"));
    let line = builder.add_type("Shop.OrderLine", Some("Shop.dll"));
    builder.object(Address(0x1000), order, 40, 2).expect("room");
    builder.object(Address(0x1028), line, 24, 0).expect("room");
    builder.object(Address(0x1040), line, 24, 0).expect("room");
    builder.reference(Address(0x1028)).expect("room");
    builder.reference(Address(0x1040)).expect("room");
    builder.root(RootKind::StaticField, Some("Shop.Till.s_open"), Address(0x1000)).expect("room");
    let mut bytes = Vec::new();
    let graph = builder.finish().expect("a graph");
    heap_graph::gcdump::write(&graph, &heap_graph::gcdump::DumpInfo::default(), &mut bytes).expect("a file");
    bytes
}
