//! `trace collect`: recordings that are complete, however they end.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use testbed::{Namespaces, Runtime, Target, shared};

use crate::support::{BINARY, Said, Started, User, check_golden, eventually, said, skip, start};
use crate::trace_file::{Contents, EVENT_PIPE, RUNDOWN, RUNTIME, SAMPLER, contents};

/// The event of an exception that is thrown.
const THROWN: u32 = 80;

fn storm(runtime: Runtime) -> Target {
    shared().target("exception-storm", runtime).start().expect("a target")
}

pub fn file(user: &User) -> PathBuf {
    user.folder().join("a.nettrace")
}

/// The runtime of a program that unloads code can crash when it lists its code at the end.
#[test]
fn an_old_runtime_is_not_asked_for_names_while_it_unloads_code() {
    let user = User::new();
    let target = shared().target("healthy-plugin-host", Runtime::Net31).start().expect("a target");
    let record = |more: &[&str]| {
        let mut command = user.command(&["trace", "collect", "--json", "--duration", "1"]);
        command.args(["-p", &target.pid().to_string(), "-o"]).arg(file(&user)).args(more);
        let said = said(&mut command);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said.stderr
    };
    assert!(record(&[]).contains("this process unloads assemblies"));
    assert_eq!(contents(&file(&user)).of(RUNDOWN), 0);
    assert!(!record(&["--profile", "gc-collect"]).contains("assemblies"));
    assert!(target.is_alive(), "{}", target.stderr_text());
}

/// Begins a recording without an end and waits until something has been recorded.
fn begin(user: &User, pid: u32) -> Started {
    let path = file(user);
    let recording = user.starts(&[
        "trace",
        "collect",
        "-p",
        &pid.to_string(),
        "-o",
        path.to_str().expect("a path"),
        "--json",
    ]);
    wait_until_larger(&path, 100_000);
    recording
}

pub fn wait_until_larger(path: &Path, bytes: u64) {
    eventually("something is recorded", || {
        std::fs::metadata(path).is_ok_and(|file| file.len() > bytes).then_some(())
    });
}

/// A complete recording with names, and nothing lost.
pub fn check_whole(contents: &Contents) {
    assert!(contents.count(RUNTIME, THROWN) > 0, "{:?}", contents.events);
    assert!(contents.of(SAMPLER) > 0, "{:?}", contents.events);
    assert!(contents.of(RUNDOWN) > 0, "{:?}", contents.events);
    assert!(contents.losses.is_empty(), "{:?}", contents.losses);
    assert!(contents.methods.contains("Import.PriceFeed.ParseAmount"), "{:?}", contents.methods);
}

#[test]
fn every_runtime_is_recorded_with_names_and_lives_on() {
    let user = User::new();
    for runtime in Runtime::ALL {
        let target = storm(runtime);
        let folder = user.folder().join(runtime.label());
        std::fs::create_dir(&folder).unwrap();
        let mut command = user.command(&["trace", "collect", "--json", "--duration", "00:00:00:02"]);
        let said = said(command.args(["-p", &target.pid().to_string()]).current_dir(&folder));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let summary = said.json();
        let path = folder.join(summary["file"].as_str().unwrap());
        // As dotnet-trace names it: the executable, the day and the time.
        let name = path.file_name().unwrap().to_str().unwrap();
        let moment: String = name.chars().rev().take("_yyyyMMdd_HHmmss.nettrace".len()).collect();
        assert!(name.ends_with(".nettrace") && moment.matches('_').count() == 2, "{name}");
        let contents = contents(&path);
        check_whole(&contents);
        assert_eq!(contents.count(EVENT_PIPE, 1), 1);
        assert_eq!(summary["lost_events"], 0);
        assert_eq!(summary["bytes"], std::fs::metadata(&path).unwrap().len());
        let all: u64 = contents.events.values().sum();
        assert_eq!(summary["events"].as_u64().unwrap() + summary["naming_events"].as_u64().unwrap(), all);
        assert!(target.is_alive(), "{runtime:?}");
        let warned = said.stderr.contains("may crash if the tool that traces it is killed");
        assert_eq!(warned, runtime == Runtime::Net31, "{}", said.stderr);
    }
}

#[test]
fn a_program_that_is_not_ours_is_recorded() {
    let user = User::new();
    let target = shared().stranger().start().unwrap();
    let path = file(&user);
    let said = user.says(&[
        "trace",
        "collect",
        "-p",
        &target.pid().to_string(),
        "-d",
        "2",
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let contents = contents(&path);
    assert!(contents.of(SAMPLER) > 0 && contents.of(RUNDOWN) > 0, "{:?}", contents.events);
    assert!(said.stdout.contains("next: drdotnet trace report"), "{}", said.stdout);
}

#[test]
fn signals_end_a_recording_in_order() {
    let target = storm(Runtime::Net9);
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let user = User::new();
        let recording = begin(&user, target.pid());
        recording.signal(signal);
        let said = recording.ends();
        assert_eq!(said.code, Some(0), "{signal:?}: {}", said.stderr);
        assert_eq!(said.json()["end"], "stopped");
        check_whole(&contents(&file(&user)));
    }
}

/// Starts a recording at a terminal; none, with a printed reason, where none can be made.
pub fn at_a_terminal(user: &User, options: &[&str]) -> Option<Started> {
    let words: Vec<String> = options.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("exec '{BINARY}' trace collect {}", words.join(" "));
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]);
    user.prepare(&mut command);
    command.stdin(Stdio::piped());
    if Command::new("script").arg("--version").output().is_err() {
        skip("there is no program script to make a terminal with");
        return None;
    }
    Some(start(&mut command))
}

#[test]
fn enter_ends_a_recording_at_a_terminal() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let (path, pid) = (file(&user), target.pid().to_string());
    let Some(mut recording) = at_a_terminal(&user, &["-p", &pid, "-o", path.to_str().unwrap()]) else {
        return;
    };
    wait_until_larger(&path, 100_000);
    recording.types("\n");
    let said = recording.ends();
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(said.stdout.contains("Enter or Ctrl+C stops"), "{}", said.stdout);
    check_whole(&contents(&path));
}

#[test]
fn a_target_that_is_killed_leaves_a_complete_file() {
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let user = User::new();
        let target = storm(runtime);
        let pid = target.pid().to_string();
        let recording = begin(&user, target.pid());
        target.kill().unwrap();
        let said = recording.ends();
        assert_eq!(said.code, Some(8), "{}", said.stderr);
        assert_eq!(said.json()["end"], "target-died");
        let contents = contents(&file(&user));
        assert!(contents.count(RUNTIME, THROWN) > 0 && contents.losses.events == 0, "{contents:?}");
        if runtime == Runtime::Net9 {
            check_golden("errors/trace-target-killed.txt", &without_numbers(&error(&said), &user, &pid));
        }
    }
}

#[test]
fn a_tool_that_is_killed_leaves_a_complete_file() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let recording = begin(&user, target.pid());
    recording.signal(Signal::KILL);
    assert_eq!(recording.ends().code, None);
    let contents = contents(&file(&user));
    assert!(contents.count(RUNTIME, THROWN) > 0, "{:?}", contents.events);
    assert!(target.is_alive());
}

#[test]
fn a_target_that_stops_answering_leaves_a_complete_file() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let pid = target.pid().to_string();
    let recording = begin(&user, target.pid());
    target.suspend().unwrap();
    recording.signal(Signal::INT);
    let said = recording.ends();
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(contents(&file(&user)).count(RUNTIME, THROWN) > 0);
    check_golden("errors/trace-no-answer.txt", &without_numbers(&error(&said), &user, &pid));
    target.resume().unwrap();
    // Its session goes, and another one can be had. One that begins in the very moment in which the runtime notices that
    // the old one has lost its reader was seen without some events, so it may take a second try.
    let whole = eventually("a session without the old one", || {
        let again =
            user.says(&["trace", "collect", "-p", &pid, "-d", "1", "-o", file(&user).to_str().unwrap()]);
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        Some(contents(&file(&user))).filter(|contents| contents.count(RUNTIME, THROWN) > 0)
    });
    check_whole(&whole);
}

/// The error alone.
fn error(said: &Said) -> String {
    said.stderr.split_once("error: ").map(|(_, error)| format!("error: {error}")).expect("an error")
}

/// Sizes and counts differ from run to run.
fn without_numbers(text: &str, user: &User, pid: &str) -> String {
    let text = text.replace(user.folder().to_str().expect("a path"), "DIR").replace(pid, "PID");
    let Some((before, rest)) = text.split_once("; ") else { return text };
    match rest.split_once(" events are kept") {
        Some((_, after)) => format!("{before}; SIZE with N events are kept{after}"),
        None => text,
    }
}

#[test]
fn a_full_disk_keeps_what_was_written() {
    let user = User::new();
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let target = storm(Runtime::Net9);
    let (path, saved) = (file(&user), user.folder().join("saved.nettrace"));
    let mut command = Command::new("unshare");
    // The file is copied out before the disk goes away with its namespace.
    let script = "mount -t tmpfs -o size=1m tmpfs \"$1\" && shift && saved=$1 && shift; \"$@\"; code=$?; \
                  cp a.nettrace \"$saved\"; exit $code";
    let disk = user.folder().join("disk");
    std::fs::create_dir(&disk).unwrap();
    command.args([
        "-m",
        "sh",
        "-c",
        &script.replace("a.nettrace", disk.join("a.nettrace").to_str().unwrap()),
        "sh",
    ]);
    command.arg(&disk).arg(&saved).args([BINARY, "trace", "collect", "-p", &target.pid().to_string()]);
    command.arg("-o").arg(disk.join("a.nettrace"));
    user.prepare(&mut command);
    let said = said(&mut command);
    assert_eq!(said.code, Some(21), "{}", said.stderr);
    assert!(!path.exists());
    let contents = contents(&saved);
    assert!(contents.count(RUNTIME, THROWN) > 0 && contents.losses.events == 0, "{contents:?}");
    assert!(std::fs::metadata(&saved).unwrap().len() > 500_000);
    let text = without_numbers(&error(&said), &user, "none");
    check_golden("errors/trace-disk-full.txt", &text);
    // The session was stopped, not left behind.
    assert!(target.is_alive());
    let again = user.says(&[
        "trace",
        "collect",
        "-p",
        &target.pid().to_string(),
        "-d",
        "1",
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn a_limit_on_the_size_of_files_keeps_what_was_written() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let path = file(&user);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 400; exec \"$@\"", "sh", BINARY, "trace", "collect", "--json"]);
    command.args(["-p", &target.pid().to_string(), "-o", path.to_str().unwrap()]);
    user.prepare(&mut command);
    let said = said(&mut command);
    assert_eq!(said.code, Some(21), "{}", said.stderr);
    assert_eq!(said.json()["end"], "disk");
    let contents = contents(&path);
    assert_eq!(contents.events.values().sum::<u64>(), said.json()["events"].as_u64().unwrap());
}

#[test]
fn an_older_file_is_replaced_but_not_for_nothing() {
    let user = User::new();
    let path = file(&user);
    std::fs::write(&path, "precious").unwrap();
    let output = path.to_str().unwrap();
    assert_eq!(user.says(&["trace", "collect", "-n", "nobody", "-o", output]).code, Some(14));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let target = storm(Runtime::Net9);
    let pid = target.pid().to_string();
    let said = user.says(&["trace", "collect", "-p", &pid, "-d", "1", "-o", output]);
    assert!(said.stderr.contains("replaces the one that was there"), "{}", said.stderr);
    check_whole(&contents(&path));
    let nowhere = user.folder().join("no/such/folder.nettrace");
    let said = user.says(&["trace", "collect", "-p", &pid, "-d", "1", "-o", nowhere.to_str().unwrap()]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(9), ""), "{}", said.stderr);
}

#[test]
fn the_events_can_be_chosen_and_one_can_end_the_recording() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let (path, pid) = (file(&user), target.pid().to_string());
    let said = user.says(&[
        "trace",
        "collect",
        "-p",
        &pid,
        "--clrevents",
        "exception",
        "--stopping-event-provider-name",
        RUNTIME,
        "--stopping-event-event-name",
        "Exception/Start",
        "--stopping-event-payload-filter",
        "ExceptionType:System.FormatException",
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let row = format!("{RUNTIME:<40}0x0000000000008000  Informational(4)    --clrevents\n");
    assert!(said.stderr.contains(&row), "{}", said.stderr);
    let contents = contents(&path);
    assert!(contents.count(RUNTIME, THROWN) > 0);
    assert_eq!(contents.of(SAMPLER), 0);
}

#[test]
fn a_runtime_that_is_too_old_does_what_it_can_and_that_is_said() {
    let user = User::new();
    let target = shared().target("allocation-pressure", Runtime::Net8).start().unwrap();
    let (path, pid) = (file(&user), target.pid().to_string());
    let options =
        ["trace", "collect", "-p", &pid, "-d", "2", "--profile", "gc-collect", "-o", path.to_str().unwrap()];
    let note = "note: .NET 8 cannot choose what it names at the end (9 can): nothing is named\n";
    // With all names there is nothing to choose.
    for (more, is_chosen) in [(&[][..], true), (&["--rundown", "true"], false)] {
        let said = user.says(&[&options[..], more].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert_eq!(said.stderr.contains(note), is_chosen, "{}", said.stderr);
        let contents = contents(&path);
        assert_eq!(contents.of(RUNDOWN) == 0, is_chosen, "{:?}", contents.events);
        assert!(contents.count(RUNTIME, 1) > 0, "{:?}", contents.events);
    }
}

#[test]
fn a_recording_is_made_ready_for_a_viewer() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let (path, pid) = (file(&user), target.pid().to_string());
    for (format, made) in [("speedscope", "a.speedscope.json"), ("Chromium", "a.chromium.json")] {
        let options =
            ["trace", "collect", "-p", &pid, "-d", "1", "--format", format, "-o", path.to_str().unwrap()];
        let said = user.says(&options);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        check_whole(&contents(&path));
        let text = std::fs::read_to_string(user.folder().join(made)).unwrap();
        let _: Value = serde_json::from_str(&text).unwrap();
        assert!(text.contains("ParseAmount"), "{made}");
    }
}

#[test]
fn what_was_lost_is_said() {
    let user = User::new();
    let target = storm(Runtime::Net9);
    let (path, pid) = (file(&user), target.pid().to_string());
    // A tool that does not read while the target writes: the smallest buffer is soon full.
    let recording = user.starts(&[
        "trace",
        "collect",
        "-p",
        &pid,
        "-o",
        path.to_str().unwrap(),
        "--buffersize",
        "1",
        "--json",
        "--profile",
        "cpu-sampling",
        "--clrevents",
        "exception",
    ]);
    wait_until_larger(&path, 50_000);
    recording.signal(Signal::STOP);
    let thrown = || target_exceptions(&target);
    let before = thrown();
    eventually("the target writes while nobody reads", || (thrown() > before + 120).then_some(()));
    recording.signal(Signal::CONT);
    let now = std::fs::metadata(&path).unwrap().len();
    wait_until_larger(&path, now + 100_000);
    recording.signal(Signal::INT);
    let said = recording.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let summary = said.json();
    let lost = summary["lost_events"].as_u64().unwrap();
    assert!(lost > 0, "{summary}");
    assert_eq!(contents(&path).losses.events, lost);
    let by_thread: u64 = summary["lost_by_thread"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row: &Value| row["lost"].as_u64())
        .sum();
    assert_eq!(by_thread, lost);
}

/// How much processor time the target has used, in ticks: it does nothing but throw.
fn target_exceptions(target: &Target) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", target.pid())).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum()
}

impl Started {
    /// Types at its terminal.
    pub fn types(&mut self, keys: &str) {
        let input = self.child().stdin.as_mut().expect("a terminal");
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).expect("it reads");
    }
}
