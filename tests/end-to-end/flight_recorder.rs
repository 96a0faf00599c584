//! `trace collect --keep`: the last part of a recording, saved when it is wanted.

use std::path::PathBuf;
use std::time::SystemTime;

use rustix::process::Signal;
use testbed::{Runtime, Target, shared};

use crate::recording::at_a_terminal;
use crate::support::{Said, User, eventually};
use crate::trace_file::{Contents, RUNDOWN, RUNTIME, contents};

fn patient(name: &str, runtime: Runtime) -> Target {
    shared().target(name, runtime).start().expect("a target")
}

fn file(user: &User, name: &str) -> PathBuf {
    user.folder().join(name)
}

/// `drdotnet trace collect -p PID -o a.nettrace --json <options>`
fn options<'a>(user: &User, target: &Target, more: &[&'a str], words: &'a mut Vec<String>) -> Vec<&'a str> {
    words.push(target.pid().to_string());
    words.push(file(user, "a.nettrace").to_str().expect("a path").to_owned());
    let mut options = vec!["trace", "collect", "--json", "-p", words[0].as_str(), "-o", words[1].as_str()];
    options.extend(more);
    options
}

fn fly(user: &User, target: &Target, more: &[&str]) -> Said {
    let mut words = Vec::new();
    user.says(&options(user, target, more, &mut words))
}

/// A saved part is a recording like any other: names, no losses of its own, and it begins with its first event.
fn check_part(contents: &Contents) {
    assert!(contents.losses.is_empty(), "{:?}", contents.losses);
    assert!(contents.of(RUNDOWN) > 0, "{:?}", contents.events);
    assert!(!contents.methods.is_empty());
    assert!(contents.until_first.as_millis() <= 1, "{:?}", contents.until_first);
}

/// No file is left but those that were saved.
fn check_no_litter(user: &User, saved: &[&str]) {
    let mut names: Vec<String> = std::fs::read_dir(user.folder())
        .expect("the folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, saved);
}

#[test]
fn the_last_seconds_are_kept() {
    for runtime in Runtime::ALL {
        let user = User::new();
        let target = patient("exception-storm", runtime);
        let before = SystemTime::now();
        let said = fly(&user, &target, &["--keep", "2s", "--duration", "7s"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let part = contents(&file(&user, "a.nettrace"));
        check_part(&part);
        assert!(part.methods.contains("Import.PriceFeed.ParseAmount"), "{:?}", part.methods);
        // Of seven seconds at least, the first ones are gone.
        let cut = part.started.unwrap().duration_since(before).unwrap();
        assert!(cut.as_secs_f64() > 1.0, "{cut:?}");
        assert!(part.span.as_secs_f64() > 1.8, "{:?}", part.span);
        let summary = said.json();
        assert_eq!(summary["cause"], "the time is over");
        assert!(summary["span_seconds"].as_f64() < summary["recorded_seconds"].as_f64(), "{summary}");
        check_no_litter(&user, &["a.nettrace"]);
        assert!(target.is_alive());
    }
}

#[test]
fn the_last_megabytes_are_kept() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net9);
    let path = file(&user, "a.nettrace");
    let mut words = Vec::new();
    let flight = user.starts(&options(&user, &target, &["--keep", "1MB"], &mut words));
    // Until much more than that has been recorded, as the kernel counts it.
    eventually("much is written", || (written(flight.pid()) > 4_000_000).then_some(()));
    flight.signal(Signal::INT);
    let said = flight.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let part = contents(&path);
    check_part(&part);
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!((900_000..3_000_000).contains(&bytes), "{bytes}");
}

/// Bytes that a process has written.
fn written(pid: u32) -> u64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok()).unwrap_or(0)
}

#[test]
fn a_signal_saves_and_recording_goes_on() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let user = User::new();
        let target = patient("exception-storm", runtime);
        let mut words = Vec::new();
        let flight = user.starts(&options(&user, &target, &["--keep", "60s"], &mut words));
        let names = ["a.nettrace", "a_2.nettrace", "a_3.nettrace"];
        let mut before = 0;
        for name in &names[..2] {
            eventually("something is recorded", || (written(flight.pid()) > before + 300_000).then_some(()));
            flight.signal(Signal::USR1);
            let path = file(&user, name);
            // The end of a stream follows its last block, so a file with rundown is whole.
            eventually("it is saved", || path.exists().then_some(()));
            before = written(flight.pid());
        }
        eventually("something is recorded", || (written(flight.pid()) > before + 300_000).then_some(()));
        flight.signal(Signal::INT);
        let said = flight.ends();
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_eq!(said.stdout.matches("SIGUSR1 asked for it").count(), 2, "{}", said.stdout);
        for name in names {
            let part = contents(&file(&user, name));
            check_part(&part);
            assert!(part.count(RUNTIME, 80) > 0, "{name}: {:?}", part.events);
            assert!(part.methods.contains("Import.PriceFeed.ParseAmount"), "{:?}", part.methods);
        }
        check_no_litter(&user, &names);
        assert!(target.is_alive());
    }
}

#[test]
fn keys_save_and_stop_at_a_terminal() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net9);
    let (pid, path) = (target.pid().to_string(), file(&user, "a.nettrace"));
    let options = ["-p", &pid, "-o", path.to_str().unwrap(), "--keep", "60s"];
    let Some(mut flight) = at_a_terminal(&user, &options) else { return };
    // A session that has begun reads keys; before that they wait in the terminal.
    flight.types("s");
    eventually("it is saved", || path.exists().then_some(()));
    flight.types("q");
    let said = flight.ends();
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(said.stdout.contains("because the key s asked for it"), "{}", said.stdout);
    assert!(said.stdout.contains("because the end was asked for"), "{}", said.stdout);
    contents(&path);
    contents(&file(&user, "a_2.nettrace"));
}

#[test]
fn every_condition_saves() {
    for (name, runtime, condition, provider) in [
        ("exception-storm", Runtime::Net9, "exception=System.FormatException", RUNTIME),
        ("exception-storm", Runtime::Net31, "exception=System.*", RUNTIME),
        ("long-gc-pauses", Runtime::Net8, "gc-pause>5ms", RUNTIME),
        ("long-gc-pauses", Runtime::Net31, "gc-pause>5ms", RUNTIME),
        ("allocation-pressure", Runtime::Net9, "heap>1MB", "System.Runtime"),
        ("allocation-pressure", Runtime::Net31, "heap>1MB", "System.Runtime"),
        ("hot-method", Runtime::Net9, "cpu>1%", RUNTIME),
        ("hot-method", Runtime::Net8, "memory>1MB", RUNTIME),
        ("exception-storm", Runtime::Net8, "counter=System.Runtime/exception-count>0", "System.Runtime"),
    ] {
        let user = User::new();
        let target = patient(name, runtime);
        let said = fly(&user, &target, &["--keep", "5s", "--profile", "dotnet-common", "--when", condition]);
        assert_eq!(said.code, Some(0), "{condition}: {}", said.stderr);
        let cause = said.json()["cause"].as_str().unwrap().to_owned();
        assert!(cause.starts_with(condition), "{condition}: {cause}");
        let part = contents(&file(&user, "a.nettrace"));
        assert!(part.losses.is_empty() && part.of(RUNDOWN) > 0, "{condition}: {:?}", part.losses);
        assert!(part.of(provider) > 0, "{condition}: {:?}", part.events);
        assert!(target.is_alive(), "{condition}");
    }
}

#[test]
fn a_condition_can_save_more_than_once() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net9);
    let more = ["--keep", "1s", "--when", "exception", "--saves", "2", "--clrevents", "exception"];
    let said = fly(&user, &target, &more);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    for name in ["a.nettrace", "a_2.nettrace"] {
        check_part(&contents(&file(&user, name)));
    }
    check_no_litter(&user, &["a.nettrace", "a_2.nettrace"]);
}

#[test]
fn a_condition_that_does_not_hold_saves_nothing_before_the_end() {
    let user = User::new();
    let target = patient("healthy-idle-service", Runtime::Net9);
    let more =
        ["--keep", "5s", "--duration", "3s", "--when", "heap>100GB", "--when", "exception=No.Such.Exception"];
    let said = fly(&user, &target, &more);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.json()["cause"], "the time is over");
    check_no_litter(&user, &["a.nettrace"]);
}

#[test]
fn the_last_words_of_a_target_that_dies_are_kept() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net9);
    let mut words = Vec::new();
    let flight = user.starts(&options(&user, &target, &["--keep", "60s"], &mut words));
    eventually("something is recorded", || (written(flight.pid()) > 300_000).then_some(()));
    target.kill().unwrap();
    let said = flight.ends();
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    let part = contents(&file(&user, "a.nettrace"));
    assert!(part.count(RUNTIME, 80) > 0 && part.losses.is_empty(), "{part:?}");
}

#[test]
fn a_flight_recorder_that_is_killed_leaves_nothing_behind() {
    let user = User::new();
    let target = patient("exception-storm", Runtime::Net9);
    let mut words = Vec::new();
    let flight = user.starts(&options(&user, &target, &["--keep", "60s"], &mut words));
    eventually("something is recorded", || (written(flight.pid()) > 300_000).then_some(()));
    flight.signal(Signal::KILL);
    flight.ends();
    check_no_litter(&user, &[]);
}
