//! `trace convert` and `trace report`: from a file to stacks and tables.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testbed::{Runtime, shared};

use crate::support::{Said, User, check_golden};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../nettrace/fixtures").join(format!("{name}.nettrace"))
}

/// A user with a copy of a recorded trace in their folder.
fn user_with(name: &str) -> (User, String) {
    let user = User::new();
    let path = user.folder().join("app.nettrace");
    fs::copy(fixture(name), &path).expect("the fixture can be copied");
    let path = path.to_str().expect("a path").to_owned();
    (user, path)
}

/// Compares exit code and error with the accepted ones, without the user's folder.
#[track_caller]
fn check(user: &User, name: &str, said: &Said) {
    let folder = format!("{}/", user.folder().display());
    let text = format!("exit code {}\n{}", said.code.expect("no signal ended it"), said.stderr);
    check_golden(&format!("errors/{name}.txt"), &text.replace(&folder, ""));
}

#[test]
fn the_help_texts_are_as_accepted() {
    let user = User::new();
    for (name, arguments) in [
        ("trace-convert", &["trace", "convert", "--help"][..]),
        ("trace-report", &["trace", "report", "--help"]),
        ("trace-report-topn", &["trace", "report", "x", "topN", "--help"]),
    ] {
        let said = user.says(arguments);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        check_golden(&format!("help/{name}.txt"), &said.stdout);
        assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    }
}

#[test]
fn a_trace_becomes_every_format() {
    let (user, trace) = user_with("net9-exceptions-samples");
    for (format, name) in [
        ("Speedscope", "app.speedscope.json"),
        ("chromium", "app.chromium.json"),
        ("Folded", "app.folded"),
        ("flamegraph", "app.svg"),
        ("pprof", "app.pb.gz"),
        ("firefox", "app.firefox.json"),
        ("HTML", "app.html"),
        ("perf-script", "app.perf.txt"),
    ] {
        let said = user.says(&["trace", "convert", &trace, "--format", format]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(0), ""), "{}", said.stderr);
        let bytes = fs::read(user.folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            said.stderr.contains(&format!("/{name} (")) && said.stderr.contains("\nOpen "),
            "{}",
            said.stderr
        );
        if name.ends_with("json") {
            serde_json::from_slice::<Value>(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        if name.ends_with("gz") {
            assert_eq!(bytes[..2], [0x1f, 0x8b]);
        }
    }
    let names = fs::read_dir(user.folder()).expect("the folder can be read").count();
    assert_eq!(names, 9, "nothing else is left behind");
}

#[test]
fn what_was_written_and_what_else_there_is_is_told() {
    let (user, trace) = user_with("net8-exceptions-samples");
    let said = user.says(&["trace", "convert", &trace, "--view", "exceptions", "--format", "folded"]);
    check(&user, "converted", &said);
    let said = user.says(&[
        "trace",
        "convert",
        &trace,
        "--json",
        "--merged",
        "-o",
        &trace.replace("app.nettrace", "x"),
    ]);
    let json = said.json();
    assert_eq!((json["view"].as_str(), json["merged"].as_bool()), (Some("thread-time"), Some(true)));
    assert!(json["file"].as_str().is_some_and(|file| file.ends_with("/x.speedscope.json")), "{json}");
    assert!(json["trace"]["damage"].is_null() && json["total"].as_u64() > Some(0), "{json}");
    let said =
        user.says(&["trace", "convert", &trace, "--format", "folded", "-o", "-", "--view", "exceptions"]);
    assert!(
        said.stdout.lines().all(|line| line.contains("Throw(System.FormatException) ")),
        "{}",
        said.stdout
    );
}

#[test]
fn any_event_can_be_counted() {
    let (user, trace) = user_with("net8-exceptions-samples");
    let wanted = ["trace", "convert", &trace, "--format", "folded", "-o", "-", "--event"];
    let event = |event| user.says(&[&wanted[..], &[event]].concat());
    let by_number = event("Microsoft-Windows-DotNETRuntime/80");
    let by_name = event("microsoft-windows-dotnetruntime/ExceptionThrown");
    assert_eq!(by_number.stdout, by_name.stdout);
    let total: u64 =
        by_name.stdout.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert_eq!(total, 407);
    check(&user, "no-such-event", &event("My-Provider/Nothing"));
    check(&user, "not-an-event", &event("Nothing"));
}

#[test]
fn a_cut_trace_is_used_up_to_the_cut() {
    let (user, trace) = user_with("net9-allocations");
    let bytes = fs::read(&trace).expect("it can be read");
    fs::write(&trace, &bytes[..bytes.len() / 2]).expect("it can be written");
    let said = user.says(&["trace", "convert", &trace, "--format", "folded"]);
    check(&user, "cut-trace", &said);
    let said = user.says(&["trace", "report", &trace, "--json"]);
    assert!(
        said.json()["damage"].as_str().is_some_and(|words| words.contains("cut off at byte")),
        "{}",
        said.stdout
    );
}

#[test]
fn what_is_in_a_trace_is_told() {
    let (user, trace) = user_with("net9-allocations");
    let said = user.says(&["trace", "report", &trace]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    check_golden("trace/summary.txt", &said.stdout);
    let json = user.says(&["trace", "report", &trace, "--json"]).json();
    assert_eq!(json["schema"], "drdotnet.trace-summary/1");
    assert_eq!(json["views"][0]["view"], "allocations");
    assert!(json["kinds"].as_array().is_some_and(|kinds| kinds.len() > 12), "{json}");
}

#[test]
fn files_that_are_no_trace_are_told_apart() {
    let user = User::new();
    for (name, bytes) in [
        ("empty.nettrace", &b""[..]),
        ("zipped.nettrace", &[0x1f, 0x8b, 8, 0]),
        ("old.speedscope.json", br#"{"$schema":"https://www.speedscope.app/file-format-schema.json"}"#),
        ("kernel.etl", &[0; 64]),
        ("noise.nettrace", b"what is this supposed to be?"),
    ] {
        let path = user.folder().join(name);
        fs::write(&path, bytes).expect("it can be written");
        let path = path.to_str().expect("a path");
        let golden = name.split('.').next().expect("a name");
        check(&user, &format!("trace-{golden}"), &user.says(&["trace", "report", path]));
    }
    let missing = user.folder().join("gone.nettrace");
    check(&user, "trace-gone", &user.says(&["trace", "convert", missing.to_str().expect("a path")]));
    let folder = user.folder().to_str().expect("a path");
    let said = user.says(&["trace", "report", folder]);
    assert_eq!(said.code, Some(25), "{}", said.stderr);
}

#[test]
fn what_cannot_be_done_is_explained() {
    let (user, trace) = user_with("net9-exceptions-samples");
    let convert = |options: &[&str]| user.says(&[&["trace", "convert", &trace], options].concat());
    check(&user, "no-such-view", &convert(&["--view", "cpu"]));
    check(&user, "no-such-trace-format", &convert(&["--format", "etlx"]));
    check(&user, "view-without-events", &convert(&["--view", "allocations"]));
    check(&user, "thread-without-events", &convert(&["--view", "exceptions", "--thread", "1"]));
    check(&user, "no-merged-form", &convert(&["--format", "chromium", "--merged"]));
    check(&user, "conversion-disk-full", &convert(&["-o", "/dev/full"]));
    let names = fs::read_dir(user.folder()).expect("the folder can be read").count();
    assert_eq!(names, 1, "no half of a file is left behind");
}

#[test]
fn the_hot_method_of_a_live_recording_is_on_top() {
    let user = User::new();
    let target = shared().target("hot-method", Runtime::Net8).start().expect("a target");
    let file = user.folder().join("hot.nettrace");
    let file = file.to_str().expect("a path");
    let pid = target.pid().to_string();
    let said = user.says(&["trace", "collect", "-p", &pid, "--duration", "3s", "-o", file]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let said = user.says(&["trace", "report", file, "topN", "-n", "3", "--view", "managed-time"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(
        lines[0].starts_with("Top 3 Functions (Exclusive)") && lines[0].ends_with("Exclusive"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("1. Pricing.DiscountBook.FindBest"), "{lines:?}");
    let json = user.says(&["trace", "report", file, "topN", "--inclusive", "--json"]).json();
    let methods = json["methods"].as_array().expect("a list");
    assert_eq!((methods.len(), json["sorted_by"].as_str()), (5, Some("inclusive")));
    let weights: Vec<u64> = methods.iter().filter_map(|method| method["inclusive"].as_u64()).collect();
    assert!(weights.is_sorted_by(|one, other| one >= other), "{weights:?}");
}
