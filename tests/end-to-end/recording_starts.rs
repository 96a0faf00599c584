//! `trace collect` from the first line of a program: programs it starts, and runtimes that call it.

use std::ffi::OsString;
use std::process::Command;

use rustix::process::Signal;
use testbed::{CommandLine, Runtime, shared};

use crate::recording::{check_whole, file, wait_until_larger};
use crate::support::{BINARY, User, eventually, said};
use crate::trace_file::{RUNDOWN, RUNTIME, contents};

/// `drdotnet trace collect <options> -- <before> <the target's words>`, with the target's environment.
fn collect(user: &User, options: &[&str], before: &[&str], line: &CommandLine) -> Command {
    let mut command = Command::new(BINARY);
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    command.args(["trace", "collect", "--json", "-o"]).arg(file(user)).args(options).arg("--");
    command.args(before.iter().map(OsString::from)).args(line.words());
    command
}

#[test]
fn a_program_is_recorded_from_its_first_line() {
    let user = User::new();
    for (runtime, before) in [
        (Runtime::Net31, &[][..]),
        (Runtime::Net8, &[]),
        (Runtime::Net9, &[]),
        (Runtime::Net9, &["sh", "-c", "\"$@\"; exit 3", "sh"]),
    ] {
        let line = shared().target("exception-storm", runtime).command().unwrap();
        let said = said(&mut collect(&user, &["-d", "4"], before, &line));
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains("stopped the program that was started for this"), "{}", said.stderr);
        assert!(!said.stderr.contains("ready"), "what the program prints is hidden: {}", said.stderr);
        let contents = contents(&file(&user));
        assert!(contents.of(RUNDOWN) > 0, "{:?}", contents.events);
        // The assemblies that every program loads first; a 3.1 cannot be held until we listen.
        assert!(runtime == Runtime::Net31 || contents.count(RUNTIME, 154) > 0, "{:?}", contents.events);
    }
}

#[test]
fn a_program_that_ends_by_itself_gives_its_exit_code() {
    let user = User::new();
    let mut line = shared().target("exception-storm", Runtime::Net9).command().unwrap();
    // A patient that does not exist ends with 64.
    *line.args.last_mut().unwrap() = OsString::from("no-such-patient");
    let said = said(&mut collect(&user, &["--show-child-io"], &[], &line));
    assert_eq!(said.code, Some(64), "{}", said.stderr);
    assert!(said.stderr.contains("no patient 'no-such-patient'"), "{}", said.stderr);
    let contents = contents(&file(&user));
    assert!(contents.of(RUNDOWN) > 0 && contents.count(RUNTIME, 154) > 0, "{:?}", contents.events);
}

#[test]
fn a_program_that_stays_held_gives_no_file_and_that_is_said() {
    let user = User::new();
    let line = shared().target("exception-storm", Runtime::Net9).command().unwrap();
    // With a colon, as scripts for dotnet-trace write it.
    let said = said(&mut collect(&user, &["-d", "2", "--resume-runtime:false"], &[], &line));
    assert_eq!(said.code, Some(7), "{}", said.stderr);
    assert!(said.stderr.contains("sent no events, so there is no file"), "{}", said.stderr);
    assert!(!file(&user).exists());
}

#[test]
fn a_program_that_starts_dotnet_children_does_not_hang() {
    let user = User::new();
    let line = shared().target("healthy-starts-children", Runtime::Net9).command().unwrap();
    let said = said(&mut collect(&user, &["-d", "4"], &[], &line));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(contents(&file(&user)).of(RUNDOWN) > 0);
}

#[test]
fn a_runtime_that_calls_a_port_is_recorded_from_its_first_line() {
    let user = User::new();
    let (path, port) = (file(&user), user.folder().join("port"));
    let options =
        ["trace", "collect", "--diagnostic-port", port.to_str().unwrap(), "-o", path.to_str().unwrap()];
    let recording = user.starts(&options);
    eventually("the port is there", || port.exists().then_some(()));
    // It waits at its start, as it does unless it is told not to.
    let target = shared().target("exception-storm", Runtime::Net9).env("DOTNET_DiagnosticPorts", &port);
    let target = target.start().unwrap();
    wait_until_larger(&path, 100_000);
    recording.signal(Signal::INT);
    let said = recording.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let contents = contents(&path);
    check_whole(&contents);
    assert!(contents.count(RUNTIME, 154) > 0, "{:?}", contents.events);
    assert!(target.is_alive());
}

#[test]
fn a_runtime_is_recorded_by_the_path_of_its_socket() {
    let user = User::new();
    let (path, folder) = (file(&user), user.folder().join("tmp"));
    std::fs::create_dir(&folder).unwrap();
    let target = shared().target("exception-storm", Runtime::Net9).tmpdir(&folder).start().unwrap();
    let mut sockets = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let socket = sockets.find(|path| path.to_string_lossy().ends_with("-socket")).unwrap();
    let place = format!("{},connect", socket.display());
    let options = ["trace", "collect", "--dport", &place, "-d", "1", "-o", path.to_str().unwrap()];
    let said = user.says(&options);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    check_whole(&contents(&path));
    assert!(said.stderr.contains(&format!("(pid {}", target.pid())), "{}", said.stderr);
}
