//! `drdotnet heap` on the heaps of real programs, and on what was kept of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use heap_graph::gcdump::{DumpInfo, write};
use heap_graph::{Address, GraphBuilder, HeapGraph, RootKind};
use model::{Body, Cell, Report, Section};
use testbed::{Runtime, Target, shared};

use crate::support::{BINARY, Said, User, check_golden, eventually, said};

fn start(patient: &str, runtime: Runtime) -> Target {
    shared().target(patient, runtime).start().expect("a target")
}

fn section<'a>(report: &'a Report, id: &str) -> &'a Section {
    report.sections.iter().find(|section| section.id == id).unwrap_or_else(|| panic!("no section {id}"))
}

fn rows<'a>(report: &'a Report, id: &str) -> &'a [Vec<Cell>] {
    let Body::Table(table) = &section(report, id).body else { panic!("{id} is no table") };
    &table.rows
}

fn text(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// The first root of the ways to a type.
fn root(report: &Report) -> String {
    let Body::Tree(tree) = &section(report, "paths").body else { panic!("no tree") };
    tree.roots[0].label.clone()
}

/// The commands that a report ends with.
fn commands(report: &Report) -> Vec<String> {
    rows(report, "next").iter().map(|row| text(&row[0]).to_owned()).collect()
}

/// What a shell makes of a line that was told to the user.
fn typed(user: &User, line: &str) -> Said {
    let line = format!("{} --json", line.replacen("drdotnet", BINARY, 1));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]);
    user.prepare(&mut shell);
    said(&mut shell)
}

#[test]
fn the_door_shows_a_leak_and_every_command_it_names_works() {
    for runtime in Runtime::ALL {
        let user = User::new();
        let target = start("leak-static-collection", runtime);
        let pid = target.pid().to_string();
        let report = user.says(&["heap", "-p", &pid, "--json"]).report();
        assert_eq!(report.profiler.id, "heap", "{runtime}");
        let suspect = report.findings.first().unwrap_or_else(|| panic!("{runtime}: no suspect"));
        let culprit = suspect.culprit.as_ref().map(|culprit| culprit.name.as_str());
        assert_eq!(culprit, Some("Shop.OrderHistory.s_orders"), "{runtime}");
        assert!(!rows(&report, "composition").is_empty(), "{runtime}");
        assert!(rows(&report, "types").iter().any(|row| text(&row[3]) == "Shop.Order"), "{runtime}");

        let named = commands(&report);
        let mut heaps = 0;
        for command in named.iter().filter(|command| command.starts_with("drdotnet heap ")) {
            let answer = typed(&user, command).report();
            assert_eq!(answer.target.pid.0, target.pid(), "{runtime}: {command}");
            heaps += 1;
        }
        assert_eq!(heaps, 3, "{runtime}: {named:?}");
        let runs = named.iter().filter_map(|command| command.strip_prefix("drdotnet run "));
        for run in runs {
            let profiler = run.split(' ').next().expect("a name");
            assert_eq!(user.says(&["profilers", profiler]).code, Some(0), "{run}");
        }
        assert!(target.is_alive(), "{runtime}");
    }
}

#[test]
fn a_heap_is_asked_again_without_the_process() {
    let user = User::new();
    let target = start("leak-static-collection", Runtime::Net9);
    let pid = target.pid().to_string();
    let first = user.says(&["heap", &pid, "--json"]).report();
    let id = user.listed()[0]["id"].as_str().expect("an id").to_owned();
    assert!(id.contains("-heap-"), "{id}");
    assert!(user.sessions().join(&id).join("heap-1.gcdump").is_file());

    // While it goes on: what has grown since the session.
    let diff = eventually("the heap has grown", || {
        let diff = user.says(&["heap", "diff", &id, &pid, "--json"]).report();
        (!diff.findings.is_empty()).then_some(diff)
    });
    assert!(diff.findings[0].title.contains("Shop.Order more"), "{}", diff.findings[0].title);
    assert_eq!(diff.profiler.id, "heap-diff");
    let redacted = user.says(&["heap", &pid, "--redact"]);
    assert_eq!(redacted.code, Some(0), "{redacted:?}");
    let shown = user.says(&["sessions", "show", "last", "--redact"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    target.kill().expect("a signal");

    let again = user.says(&["heap", &id, "--json"]).report();
    assert_eq!(rows(&again, "types"), rows(&first, "types"));
    assert_eq!(again.target, first.target);
    let types = user.says(&["heap", "types", &id, "--filter", "sHOP.order", "--json"]).report();
    assert!(rows(&types, "types").iter().all(|row| text(&row[3]).contains("Shop.Order")), "{types:?}");
    let paths = user.says(&["heap", "paths", "last", "--type", "Order", "--json"]).report();
    assert_eq!(root(&paths), "static Shop.OrderHistory.s_orders");
    // The heaps of the diffs were kept, too, and the first of two sessions is the earlier one.
    let latest = user.says(&["heap", "diff", &id, "last", "--json"]).report();
    assert_eq!(latest.notes, Vec::<String>::new());
    // A session is removed with its heap.
    assert_eq!(user.says(&["sessions", "rm", &id]).code, Some(0));
    assert!(!user.sessions().join(&id).exists());
}

#[test]
fn a_folder_a_file_and_a_program_are_heaps_too() {
    let user = User::new();
    let target = start("known-heap", Runtime::Net9);
    let pid = target.pid().to_string();
    let folder = user.folder().join("kept");
    let folder = folder.to_str().expect("a path");
    let kept = user.says(&["heap", "types", "-p", &pid, "-o", folder, "--filter", "museum.", "--json"]);
    assert!(rows(&kept.report(), "types").iter().any(|row| text(&row[3]) == "Museum.Specimen"));
    let file = user.folder().join("museum.gcdump");
    let file = file.to_str().expect("a path");
    let written = user.says(&["gcdump", "collect", "-p", &pid, "-o", file]);
    assert_eq!(written.code, Some(0), "{written:?}");
    for heap in [folder, &format!("{folder}/heap-1.gcdump"), file, &pid] {
        let paths = user.says(&["heap", "paths", heap, "--type", "Museum.Specimen", "--json"]).report();
        assert_eq!(root(&paths), "static Museum.Collection.s_cabinet", "{heap}");
        assert!(paths.summary.starts_with("1,000 Museum.Specimen with 40 kB"), "{}", paths.summary);
    }
    let line = shared().target("known-heap", Runtime::Net9).command().expect("a command");
    let mut command = Command::new(BINARY);
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    command.args(["heap", "--json", "--after", "2s", "--"]).args(line.words());
    let said = said(&mut command);
    let report = said.report();
    assert!(rows(&report, "composition").len() > 1, "{said:?}");
    assert!(commands(&report).iter().all(|command| !command.contains(" -p ")), "the program is gone");
    assert!(said.stderr.contains("stopped the program that was started for this"), "{said:?}");
}

#[test]
fn a_core_dump_is_a_heap_too() {
    let user = User::new();
    let target = start("known-heap", Runtime::Net9);
    let file = user.folder().join("core").to_str().expect("a path").to_owned();
    let pid = target.pid().to_string();
    let dumped = user.says(&["dump", "collect", "-p", &pid, "--type", "Heap", "-o", &file]);
    assert_eq!(dumped.code, Some(0), "{dumped:?}");
    let all = user.says(&["heap", "types", &file, "--filter", "museum.", "--top", "100", "--json"]).report();
    let mut compared = 0;
    for line in target.lines_before_ready() {
        let Some(claim) = line.strip_prefix("type Museum.") else { continue };
        let words: Vec<&str> = claim.split(' ').collect();
        let name = format!("Museum.{}", words[0]);
        let Some(row) = rows(&all, "types").iter().find(|row| text(&row[3]) == name) else { continue };
        let of = |word: &str| Cell::Number(word.parse().expect("a number"));
        assert_eq!((&row[0], &row[1]), (&of(words[1]), &of(words[2])), "{line}");
        compared += 1;
    }
    assert!(compared > 15, "only {compared} types were compared");
    let paths = user.says(&["heap", "paths", &file, "--type", "Museum.Specimen", "--json"]).report();
    assert_eq!(root(&paths), "static Museum.Collection.s_cabinet");
}

/// A heap of a shop by hand, with so many orders of 1 kB.
fn shop(orders: u64) -> HeapGraph {
    let mut builder = GraphBuilder::new();
    let array = builder.add_type("Shop.Order[]", Some("Shop.dll"));
    let order = builder.add_type("Shop.Order", Some("Shop.dll"));
    let line = builder.add_type("Shop.OrderLine", Some("Shop.dll"));
    let place = |at: u64| Address(0x10_0000 + at * 0x1000);
    let count = u32::try_from(orders).expect("a small heap");
    builder.object(Address(0x1000), array, 24 + 8 * orders, count).expect("room");
    (0..orders).for_each(|at| builder.reference(place(at)).expect("room"));
    for at in 0..orders {
        builder.object(place(at), order, 1000, 1).expect("room");
        builder.reference(Address(place(at).0 + 1000)).expect("room");
        builder.object(Address(place(at).0 + 1000), line, 24, 0).expect("room");
    }
    builder.root(RootKind::StaticField, Some("Shop.Till.s_open"), Address(0x1000)).expect("room");
    builder.finish().expect("a graph")
}

/// Writes a heap of a process that ended long ago.
fn file(path: &Path, graph: &HeapGraph, seconds: i64) {
    let info = DumpInfo {
        // 2026-11-15 05:12:00
        collected_ticks: 639_142_747_200_000_000 + seconds * 10_000_000,
        process_name: Some("Shop.Api".to_owned()),
        process_id: 4242,
        ..DumpInfo::default()
    };
    write(graph, &info, fs::File::create(path).expect("a file")).expect("a heap");
}

/// A screen without what differs from run to run.
fn plain(text: &str, user: &User) -> String {
    let text = text.replace(user.folder().to_str().expect("a path"), "DIR");
    let lines = text.lines().map(|line| match line.split_once("drdotnet: ") {
        Some((before, cost)) if cost.contains(" CPU") => format!("{before}drdotnet: ...\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_screens_are_as_accepted() {
    let user = User::new();
    for (name, orders, seconds) in [("before.gcdump", 8_000, 0), ("after.gcdump", 12_000, 60)] {
        file(&user.folder().join(name), &shop(orders), seconds);
    }
    for (name, arguments) in [
        ("overview", &["heap", "before.gcdump"][..]),
        ("types", &["heap", "types", "before.gcdump", "--filter", "order"]),
        ("paths", &["heap", "paths", "before.gcdump", "--type", "OrderLine"]),
        ("diff", &["heap", "diff", "before.gcdump", "after.gcdump"]),
    ] {
        let said = said(user.command(arguments).current_dir(user.folder()));
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
        check_golden(&format!("heap/{name}.txt"), &plain(&said.stdout, &user));
    }
    assert!(user.listed().is_empty(), "what is read from a file is no session");
}
