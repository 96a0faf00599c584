//! `drdotnet run memory-leaks` with what it keeps for later.

use testbed::{Runtime, shared};

use crate::support::User;

#[test]
fn the_heaps_of_a_run_are_kept_and_a_later_run_compares_with_them() {
    let user = User::new();
    let target = shared().target("leak-static-collection", Runtime::Net9).start().expect("a target");
    let pid = target.pid().to_string();
    let folder = user.folder().join("first");
    let first = folder.to_str().expect("a path");
    let said = user.says(&["run", "memory-leaks", "-p", &pid, "-d", "1s", "-o", first, "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for heap in ["heap-1.gcdump", "heap-2.gcdump"] {
        let file = folder.join(heap);
        let read = user.says(&["gcdump", "report", file.to_str().expect("a path"), "--json"]).report();
        assert!(read.to_json().expect("JSON").contains("Shop.Order"), "{heap}");
    }
    let since = format!("since={first}");
    let later = user.says(&["run", "memory-leaks", "-p", &pid, "--set", &since, "--json"]);
    assert_eq!(later.code, Some(0), "{later:?}");
    let report = later.report();
    // The kept heap stands for the first look, so the process stood still once.
    assert_eq!(report.cost.pauses.count, 1, "{:?}", report.cost);
    assert_eq!(report.profiler.parameters.get("since").map(String::as_str), Some(first));
    // What belongs to a session goes with it.
    let removed = user.says(&["sessions", "rm", first]);
    assert!(removed.code == Some(0) && !folder.exists(), "{removed:?}");
}

#[test]
fn a_heap_that_is_not_there_is_said_before_anything_is_done() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net8).start().expect("a target");
    let pid = target.pid().to_string();
    let since =
        |what: &str| user.says(&["run", "memory-leaks", "-p", &pid, "--set", &format!("since={what}")]);
    let none = since("nothing-of-this-name");
    assert_eq!((none.code, none.stdout.as_str()), (Some(16), ""), "{none:?}");
    assert!(none.stderr.contains("is neither a file nor a session"), "{none:?}");
    // A session without heaps.
    let folder = user.folder().join("threads");
    let threads = folder.to_str().expect("a path");
    let said = user.says(&["run", "threads", "-p", &pid, "-d", "1s", "-o", threads]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let empty = since(threads);
    assert!(empty.code == Some(16) && empty.stderr.contains("keeps no heap"), "{empty:?}");
    // A file that is no heap.
    let file = user.folder().join("noise.gcdump");
    std::fs::write(&file, b"no heap at all").expect("a file");
    let noise = since(file.to_str().expect("a path"));
    assert_eq!(noise.code, Some(32), "{noise:?}");
}
