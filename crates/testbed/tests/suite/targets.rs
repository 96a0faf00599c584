//! What a started target can do, and that nothing of it stays behind.

#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use std::io::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Namespaces, Runtime, Target, TestbedError, shared};

/// A healthy patient that needs little.
const QUIET: &str = "healthy-idle-service";

const LONG: Duration = Duration::from_secs(20);

fn quiet() -> Target {
    shared().target(QUIET, Runtime::Net9).start().unwrap()
}

fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn sockets_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.to_string_lossy().contains("dotnet-diagnostic-")).collect()
}

#[test]
fn the_stranger_starts_and_lives() {
    let target = shared().stranger().start().unwrap();
    assert_eq!(target.runtime(), Runtime::Net10);
    let executable = std::fs::read_link(format!("/proc/{}/exe", target.pid())).unwrap();
    assert_eq!(executable.file_name().unwrap(), "azmcp");
    assert!(target.is_alive(), "{}", target.stderr_text());
}

#[test]
fn drop_kills_and_removes_the_socket() {
    let folder = tempfile::tempdir().unwrap();
    let target = shared().target(QUIET, Runtime::Net9).tmpdir(folder.path()).start().unwrap();
    let pid = target.pid();
    assert!(exists(pid));
    assert_eq!(sockets_in(folder.path()).len(), 1);
    drop(target);
    assert!(!exists(pid), "process {pid} is still there");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files of the runtime are left");
}

#[test]
fn a_death_before_ready_is_told_with_what_was_printed() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let error = shared().target(QUIET, runtime).arg("nonsense").start().unwrap_err();
        assert!(matches!(error, TestbedError::DiedBeforeReady { .. }), "{error}");
        let text = error.to_string();
        for expected in [QUIET, "exit status: 64", "'nonsense' is not key=value"] {
            assert!(text.contains(expected), "`{expected}` is not in: {text}");
        }
    }
}

#[test]
fn silence_is_told_after_the_time_given() {
    let error = shared()
        .target(QUIET, Runtime::Net9)
        .env("DOTNET_DiagnosticPorts", "/nonexistent/socket,suspend")
        .ready_within(Duration::from_secs(2))
        .start()
        .unwrap_err();
    assert!(matches!(error, TestbedError::NotReady { .. }), "{error}");
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let error = shared().target("no-such-patient", Runtime::Net9).start().unwrap_err().to_string();
    assert!(error.contains(QUIET), "{error}");
    let error = shared().target("deadlock-lock-type", Runtime::Net31).start().unwrap_err().to_string();
    assert!(error.contains("Its header lists: 9, 10."), "{error}");
}

#[test]
fn a_server_tells_its_port() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let target = shared().target("web-two-routes", runtime).start().unwrap();
        let port: u16 = target.value_of("port").unwrap().parse().unwrap();
        assert_ne!(port, 0);
        assert_eq!(target.wait_for_line("port ", LONG).unwrap(), format!("port {port}"));
        let error = target.wait_for_line("port ", Duration::ZERO).unwrap_err();
        assert!(matches!(error, TestbedError::NoSuchLine { .. }), "{error}");
    }
}

#[test]
fn a_target_can_be_suspended_resumed_and_ended() {
    let target = quiet();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", target.pid())).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    target.suspend().unwrap();
    wait_until("it is stopped", || state() == 'T');
    assert!(target.is_alive());
    target.resume().unwrap();
    wait_until("it goes on", || state() != 'T');

    target.terminate().unwrap();
    let status = target.wait_exit(LONG).unwrap();
    assert!(!status.success(), "{status}");
    assert!(!target.is_alive());
    assert!(matches!(target.kill(), Err(TestbedError::Control { .. })));
}

#[test]
fn a_target_dies_with_the_process_that_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut starter = Command::new(env!("CARGO_BIN_EXE_testbed"))
        .args(["start", QUIET, "9"])
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(starter.stdout.take().unwrap()).lines();
    let pid: u32 =
        lines.map(Result::unwrap).find_map(|line| line.strip_prefix("pid ")?.parse().ok()).unwrap();
    assert!(exists(pid));
    starter.kill().unwrap();
    starter.wait().unwrap();
    wait_until("the target is gone", || !exists(pid) || is_zombie(pid));
}

#[test]
fn the_command_line_can_be_started_by_something_else() {
    let folder = tempfile::tempdir().unwrap();
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let builder = shared().target("web-two-routes", runtime).arg("clients=1").tmpdir(folder.path());
        let command = builder.command().unwrap();
        assert_eq!(command.words()[0], command.program);
        let mut child = command.to_command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let first = BufReader::new(child.stdout.take().unwrap()).lines().next();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        // Whether the patient takes that argument is its own affair; that it arrives is ours.
        assert!(first.is_some() || errors.contains("clients"), "{errors}");
    }
}

#[test]
fn a_target_in_namespaces_is_process_1_there_and_has_our_id_here() {
    if let Err(reason) = Namespaces::available() {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    for private_tmp in [false, true] {
        let namespaces = Namespaces::PidAndMount { private_tmp };
        let target = shared().target(QUIET, Runtime::Net9).namespaces(namespaces).start().unwrap();
        let pid = target.pid();
        let executable = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
        assert_eq!(executable.file_name().unwrap(), "dotnet");
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap();
        assert_eq!(ids.split_whitespace().last(), Some("1"));

        if private_tmp {
            let inside = PathBuf::from(format!("/proc/{pid}/root/tmp"));
            let socket = sockets_in(&inside).pop().expect("the socket is in the private folder");
            assert!(!Path::new("/tmp").join(socket.file_name().unwrap()).exists());
        }
        assert!(target.is_alive());
        drop(target);
        assert!(!exists(pid), "process {pid} is still there");
    }
}

#[test]
fn a_death_inside_namespaces_is_told_as_well() {
    if let Err(reason) = Namespaces::available() {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    let namespaces = Namespaces::PidAndMount { private_tmp: true };
    let builder = shared().target(QUIET, Runtime::Net9).namespaces(namespaces).arg("nonsense");
    let text = builder.start().unwrap_err().to_string();
    assert!(text.contains("exit status: 64") && text.contains("'nonsense'"), "{text}");
}

#[test]
fn a_target_can_belong_to_another_user() {
    if let Err(reason) = Namespaces::available() {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    for namespaces in [None, Some(Namespaces::PidAndMount { private_tmp: false })] {
        for runtime in [Runtime::Net8, Runtime::Net9] {
            let mut builder = shared().target(QUIET, runtime).user(65534, 65534).tmpdir(folder.path());
            if let Some(namespaces) = namespaces {
                builder = builder.namespaces(namespaces);
            }
            let target = builder.start().unwrap();
            let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid())).unwrap();
            assert!(status.contains("\nUid:\t65534\t65534"), "{status}");
        }
    }
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !happened() {
        assert!(Instant::now() < until, "after {LONG:?} it was not so that {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn several_patients_share_a_process() {
    let work = tempfile::tempdir().unwrap();
    let file = work.path().join("work");
    for runtime in Runtime::ALL {
        let both = shared().target("deadlock-ab-ba+leak-timers", runtime).arg("leak-timers.rate=1");
        let target = both.env("PATIENT_WORK", &file).start().unwrap();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", target.pid())).unwrap();
        let names: Vec<String> = tasks
            .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default())
            .collect();
        // 3.1 keeps the names of threads for itself.
        let seen: &[&str] = if runtime == Runtime::Net31 { &[] } else { &["teller\n", "session-intake\n"] };
        for name in seen {
            assert!(names.iter().any(|other| other == name), "{runtime}: {name} is not in {names:?}");
        }
        wait_until(&format!("{runtime} counts its work"), || {
            std::fs::read(&file).unwrap_or_default().iter().any(|byte| *byte != 0)
        });
        std::fs::remove_file(&file).unwrap();
    }
    let nobodys = shared().target("deadlock-ab-ba+leak-timers", Runtime::Net9).arg("deadlock-ab-ba.rate=1");
    assert!(nobodys.start().unwrap_err().to_string().contains("no argument 'deadlock-ab-ba.rate'"));
    let apart = shared().target("deadlock-ab-ba+deadlock-lock-type", Runtime::Net9).start().unwrap_err();
    assert!(matches!(apart, TestbedError::NotTogether { .. }), "{apart}");
}
