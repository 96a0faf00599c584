//! `drdotnet heap` on what is no heap, on heaps of odd shapes, and on processes in trouble.

use std::fs;
use std::process::Command;

use heap_graph::gcdump::{DumpInfo, write};
use heap_graph::{Address, GraphBuilder, RootKind};
use testbed::{Runtime, shared};

use crate::support::{BINARY, Said, User, check_golden, eventually, is_root, said};

/// An error without the name of the test's folder.
fn plain(said: &Said, user: &User) -> String {
    said.stderr.replace(user.folder().to_str().expect("a path"), "DIR")
}

fn written(user: &User, name: &str, builder: GraphBuilder) -> String {
    let path = user.folder().join(name);
    let graph = builder.finish().expect("a graph");
    write(&graph, &DumpInfo::default(), fs::File::create(&path).expect("a file")).expect("a heap");
    path.to_str().expect("a path").to_owned()
}

/// One object of one type.
fn single(type_name: &str) -> GraphBuilder {
    let mut builder = GraphBuilder::new();
    let id = builder.add_type(type_name, None);
    builder.object(Address(0x1000), id, 24, 0).expect("room");
    builder.root(RootKind::StaticField, Some("Shop.Till.s_open"), Address(0x1000)).expect("room");
    builder
}

#[test]
fn what_is_no_heap_is_explained() {
    let user = User::new();
    let good = written(&user, "good.gcdump", single("Shop.Order"));
    let bytes = fs::read(&good).expect("the file");
    let write = |name: &str, bytes: &[u8]| {
        let path = user.folder().join(name);
        fs::write(&path, bytes).expect("a file");
        path.to_str().expect("a path").to_owned()
    };
    let cut = write("cut.gcdump", &bytes[..bytes.len() / 2]);
    let core = write("core", b"\x7fELF\x02\x01\x01");
    let other = write("notes.txt", b"hello");
    let missing = user.folder().join("missing.gcdump").to_str().expect("a path").to_owned();
    for (name, code, arguments) in [
        ("no-session", 16, &["heap", "last"][..]),
        ("missing-file", 32, &["heap", &missing]),
        ("cut", 32, &["heap", "types", &cut]),
        ("other-file", 32, &["heap", "paths", &other, "--type", "X"]),
        ("bad-core", 32, &["heap", &core]),
        ("diff-cut", 32, &["heap", "diff", &good, &cut]),
        ("no-type", 11, &["heap", "paths", &good, "--type", "Zebra"]),
        ("no-filter", 11, &["heap", "types", &good, "--filter", "Zebra"]),
        ("timeout", 12, &["heap", "-p", "1", "--timeout", "soon"]),
    ] {
        let said = user.says(arguments);
        assert_eq!((said.code, said.stdout.as_str()), (Some(code), ""), "{name}: {said:?}");
        check_golden(&format!("errors/heap-{name}.txt"), &plain(&said, &user));
    }
    // These list the processes that there are, which differ.
    let said = user.says(&["heap", "4194304"]);
    assert_eq!(said.code, Some(3), "{said:?}");
    let said = user.says(&["heap", "no-such-program"]);
    assert_eq!(said.code, Some(14), "{said:?}");
    assert!(said.stderr.contains("no file and no session is called so either"), "{said:?}");
    assert!(user.listed().is_empty(), "nothing was begun");
}

#[test]
fn damage_at_any_place_of_a_file_is_an_error_or_an_answer() {
    let user = User::new();
    let good = written(&user, "good.gcdump", single("Shop.Order"));
    let bytes = fs::read(&good).expect("the file");
    let bad = user.folder().join("bad.gcdump");
    // Each byte of the reader's own format is tried elsewhere; here the whole way to the screen.
    for at in (0..bytes.len()).step_by(23) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        fs::write(&bad, &damaged).expect("a file");
        let said = user.says(&["heap", bad.to_str().expect("a path")]);
        assert!(matches!(said.code, Some(0 | 32)), "byte {at}: {said:?}");
        assert_eq!(said.code == Some(0), said.stderr.is_empty(), "byte {at}: {said:?}");
    }
}

#[test]
fn a_session_without_a_heap_names_one_that_has_it() {
    let user = User::new();
    let target = shared().target("known-heap", Runtime::Net9).start().expect("a target");
    let pid = target.pid().to_string();
    let heap = user.says(&["heap", "-p", &pid]);
    assert_eq!(heap.code, Some(0), "{heap:?}");
    let threads = user.says(&["run", "threads", "-p", &pid, "-d", "1s"]);
    assert_eq!(threads.code, Some(0), "{threads:?}");
    let ids: Vec<String> =
        user.listed().iter().map(|session| session["id"].as_str().expect("an id").to_owned()).collect();
    let of = |profiler: &str| ids.iter().find(|id| id.contains(profiler)).expect("its session").as_str();
    let said = user.says(&["heap", of("-threads-")]);
    assert_eq!(said.code, Some(16), "{said:?}");
    assert!(said.stderr.contains(&format!("drdotnet heap {}", of("-heap-"))), "{said:?}");
    // The latest heap is meant, not the latest session.
    assert_eq!(user.says(&["heap", "last"]).code, Some(0));
}

#[test]
fn a_name_of_a_hundred_kilobytes_is_cut_on_the_screen_and_whole_in_json() {
    let user = User::new();
    let name = format!("Shop.{}", "Very".repeat(25_000));
    let file = written(&user, "long.gcdump", single(&name));
    let shown = user.says(&["heap", &file]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 4096), "a line is too long to read");
    let json = user.says(&["heap", &file, "--json"]);
    assert_eq!(json.report().sections.len(), 4);
    assert!(json.stdout.contains(&name));
    let paths = user.says(&["heap", "paths", &file, "--type", &name[..5_000]]);
    assert_eq!(paths.code, Some(0), "{}", paths.stderr);
}

#[test]
fn a_hundred_thousand_types_are_a_table_with_a_first_page() {
    let user = User::new();
    let mut builder = GraphBuilder::new();
    for at in 0..100_000_u64 {
        let id = builder.add_type(&format!("Shop.Generated{at}"), Some("Shop.dll"));
        builder.object(Address(0x1000 + at * 24), id, 24, 0).expect("room");
        builder.root(RootKind::StrongHandle, None, Address(0x1000 + at * 24)).expect("room");
    }
    let file = written(&user, "types.gcdump", builder);
    let report = user.says(&["heap", "types", &file, "--filter", "generated9999", "--json"]).report();
    let model::Body::Table(table) = &report.sections[0].body else { panic!("no table") };
    assert_eq!(table.rows.len(), 11);
    let shown = user.says(&["heap", &file]);
    assert!(shown.stdout.contains("and 99,980 more rows"), "{}", shown.stdout);
}

#[test]
fn a_list_of_a_million_links_has_its_ways_and_its_suspect() {
    let user = User::new();
    let mut builder = GraphBuilder::new();
    let link = builder.add_type("Jobs.Job", None);
    let links = 1_000_000_u64;
    for at in 0..links {
        builder.object(Address(0x1000 + at * 32), link, 32, u32::from(at + 1 < links)).expect("room");
        if at + 1 < links {
            builder.reference(Address(0x1000 + (at + 1) * 32)).expect("room");
        }
    }
    builder.root(RootKind::StaticField, Some("Jobs.Runner.s_first"), Address(0x1000)).expect("room");
    let file = written(&user, "list.gcdump", builder);
    let report = user.says(&["heap", &file, "--json"]).report();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    let paths = user.says(&["heap", "paths", &file, "--type", "Job"]);
    assert_eq!(paths.code, Some(0), "{paths:?}");
    assert!(paths.stdout.contains("1,000,000 Jobs.Job"), "{}", paths.stdout);
    let same = user.says(&["heap", "diff", &file, &file]);
    assert_eq!(same.code, Some(0), "{same:?}");
}

#[test]
fn questions_about_a_heap_get_to_the_end_of_a_list_of_a_million_links() {
    let user = User::new();
    let target = shared().target("known-heap", Runtime::Net9).arg("links=1000000").start().expect("a target");
    let pid = target.pid().to_string();
    for profiler in ["gc-survivors", "memory-leaks"] {
        let said = user.says(&["run", profiler, "-p", &pid, "-d", "1s", "--allow-pause", "--json"]);
        let report = said.report();
        // That much hangs on its first link is no illness.
        let is_harmless = |finding: &model::Finding| finding.severity == model::Severity::Info;
        assert!(report.findings.iter().all(is_harmless), "{profiler}: {:?}", report.findings);
    }
    let paths = user.says(&["heap", "paths", "-p", &pid, "--type", "Museum.Link", "--allow-pause", "--json"]);
    assert!(paths.report().summary.starts_with("1,000,000 Museum.Link with 32 MB"), "{paths:?}");
    assert!(target.is_alive());
}

#[test]
fn a_process_near_its_memory_limit_is_left_alone() {
    if !is_root() {
        return;
    }
    let user = User::new();
    let target = shared().target("known-heap", Runtime::Net9).start().expect("a target");
    // The kernel's files about its control groups, as a container would have them, for our eyes only.
    let script = r#"
        mount -t tmpfs none /sys/fs/cgroup || exit 99
        while IFS=: read -r number controllers path; do
            case "$number:$controllers" in
                0:) folder=/sys/fs/cgroup$path limit=memory.max used=memory.current;;
                *memory*) folder=/sys/fs/cgroup/memory$path limit=memory.limit_in_bytes used=memory.usage_in_bytes;;
                *) continue;;
            esac
            mkdir -p "$folder"; echo 268435456 > "$folder/$limit"; echo "$1" > "$folder/$used"
        done < "/proc/$2/cgroup"
        exec "$3" heap -p "$2" --json
    "#;
    let pid = target.pid().to_string();
    let with_used = |bytes: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh", bytes, &pid, BINARY]);
        user.prepare(&mut command);
        said(&mut command)
    };
    let near = with_used("267386880");
    if near.code == Some(99) || near.stderr.contains("unshare") {
        return crate::support::skip(&format!("no mount can be made here: {}", near.stderr));
    }
    assert_eq!((near.code, near.stdout.as_str()), (Some(46), ""), "{near:?}");
    let text = near.stderr.replace(&pid, "PID");
    check_golden("errors/heap-memory-limit.txt", &text);
    assert_eq!(with_used("1048576").code, Some(0));
    assert!(target.is_alive());
}

#[test]
fn a_long_pause_is_not_made_unasked() {
    let user = User::new();
    // Each object takes its time, so that so many of them would stop it for a second.
    let crowd = shared().target("known-heap", Runtime::Net8).arg("cells=16000000").start().expect("a target");
    let said = user.says(&["heap", "-p", &crowd.pid().to_string()]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(41), ""), "{said:?}");
    assert!(said.stderr.contains("--allow-pause"), "{said:?}");
    assert_eq!(user.listed()[0]["status"], "failed");
    assert!(crowd.is_alive());
    drop(crowd);
    // Few objects in much memory take no time; leave does no harm.
    let target = shared().target("known-heap", Runtime::Net8).arg("ballast=400").start().expect("a target");
    let pid = target.pid().to_string();
    for words in [&["heap", "-p", &pid, "--json"][..], &["heap", "-p", &pid, "--allow-pause", "--json"]] {
        let report = user.says(words).report();
        assert_eq!(report.cost.pauses.count, 1);
    }
    assert!(target.is_alive());
}

#[test]
fn a_program_that_is_killed_meanwhile_leaves_a_failed_session() {
    let user = User::new();
    let target = shared().target("known-heap", Runtime::Net9).arg("cells=3000000").start().expect("a target");
    let pid = target.pid().to_string();
    let run = user.starts(&["heap", "-p", &pid, "--allow-pause"]);
    eventually("it has begun", || {
        user.listed().iter().any(|session| session["status"] == "running").then_some(())
    });
    target.kill().expect("a signal");
    let said = run.ends();
    // It may have been killed before the first byte or after the last.
    assert!(matches!(said.code, Some(0 | 3 | 7 | 8)), "{said:?}");
    let status = user.listed()[0]["status"].clone();
    assert_eq!(status == "done", said.code == Some(0), "{said:?}, {status}");
}
