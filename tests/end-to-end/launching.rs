//! `run ... -- command`: programs that `drdotnet` starts itself.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use model::WindowEnd;
use rustix::process::Signal;
use testbed::{CommandLine, Namespaces, Runtime, shared};

use crate::support::{BINARY, Said, User, check_golden, eventually, is_root, said, send, skip, start};

/// A shell that stays between us and the program, and tells its pid.
const BEHIND_SHELL: [&str; 4] = ["sh", "-c", "\"$@\" & echo \"child $!\"; wait", "sh"];

/// `drdotnet run threads <options> -- <before> <the target's words>`, with the target's environment.
fn run(user: &User, options: &[&str], before: &[&str], line: &CommandLine) -> Command {
    let mut command = Command::new(BINARY);
    line.apply_environment(&mut command);
    user.prepare(&mut command);
    command.args(["run", "threads"]).args(options).arg("--");
    command.args(before.iter().map(OsString::from)).args(line.words());
    command
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    // A process that nobody has waited for yet has ended as well.
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}

fn check_report_and_end(said: &Said, runtime: Runtime) {
    let report = said.report();
    assert_eq!(report.window.end, WindowEnd::Completed, "{}", said.stderr);
    assert!(report.target.runtime_version.is_some_and(|version| version.starts_with(runtime.label())));
    assert!(said.stderr.contains("stopped the program that was started for this\n"), "{}", said.stderr);
    eventually("the program is gone", || is_gone(report.target.pid.0).then_some(()));
}

#[test]
fn a_program_is_started_looked_at_and_stopped_on_every_runtime() {
    let user = User::new();
    for runtime in Runtime::ALL {
        let line = shared().target("healthy-idle-service", runtime).command().unwrap();
        let said = said(&mut run(&user, &["-d", "1", "--json"], &[], &line));
        check_report_and_end(&said, runtime);
        assert!(said.stderr.contains("ready\n"), "what the program prints is not lost: {}", said.stderr);
    }
}

#[test]
fn a_program_behind_a_shell_is_looked_at_and_both_are_stopped() {
    let user = User::new();
    for runtime in [Runtime::Net31, Runtime::Net9] {
        let line = shared().target("healthy-idle-service", runtime).command().unwrap();
        let said = said(&mut run(&user, &["-d", "1", "--json"], &BEHIND_SHELL, &line));
        check_report_and_end(&said, runtime);
        let child = said.stderr.lines().find_map(|line| line.strip_prefix("child ")).unwrap();
        assert_eq!(said.report().target.pid.0.to_string(), child, "{}", said.stderr);
    }
}

#[test]
fn a_program_that_ends_by_itself_is_no_failure() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let run = start(&mut run(&user, &["-d", "10m", "--json"], &[], &line));
    let session = user.wait_running();
    let pid = u32::try_from(session["target"]["pid"].as_u64().unwrap()).unwrap();
    run.wait_looks();
    send(pid, Signal::TERM);
    let said = run.ends();
    assert!(said.stderr.contains("the program ended by itself ("), "{}", said.stderr);
    assert_eq!(said.report().window.end, WindowEnd::TargetExited);
}

#[test]
fn ctrl_c_ends_the_program_as_well() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let run = start(&mut run(&user, &["-d", "10m", "--json"], &[], &line));
    user.wait_running();
    // Twice, as impatient people do: the program must not be left behind.
    run.signal(Signal::INT);
    run.signal(Signal::INT);
    let report = run.ends().report();
    assert_eq!(report.window.end, WindowEnd::Cancelled);
    eventually("the program is gone", || is_gone(report.target.pid.0).then_some(()));
}

#[test]
fn a_tool_that_is_killed_leaves_no_program_behind() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let run = start(&mut run(&user, &["-d", "10m", "--json"], &[], &line));
    user.wait_running();
    let list = user.says(&["sessions", "list", "--json"]).json();
    let pid = u32::try_from(list["sessions"][0]["target"]["pid"].as_u64().unwrap()).unwrap();
    assert!(!is_gone(pid));
    run.signal(Signal::KILL);
    eventually("the program is gone", || is_gone(pid).then_some(()));
}

#[test]
fn ctrl_c_ends_the_wait_for_a_runtime_that_never_comes() {
    let user = User::new();
    let marker = user.folder().join("started");
    let program = format!("echo $$ > '{0}.new' && mv '{0}.new' '{0}'; exec sleep 1000", marker.display());
    let run = user.starts(&["run", "threads", "--", "sh", "-c", &program]);
    let pid = eventually("the program runs", || std::fs::read_to_string(&marker).ok());
    run.signal(Signal::INT);
    let said = run.ends();
    assert_eq!((said.code, said.stdout.as_str()), (Some(18), ""), "{}", said.stderr);
    let error = "error: 'sh' was stopped before a .NET runtime started in it\n";
    assert!(said.stderr.contains(error), "{}", said.stderr);
    assert!(is_gone(pid.trim().parse().unwrap()));
}

#[test]
fn options_after_the_dashes_belong_to_the_program() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let shell = ["sh", "-c", "shift 3; exec \"$@\"", "sh", "--json", "--help", "-p1"];
    let said = said(&mut run(&user, &["-d", "0.5"], &shell, &line));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.starts_with("Threads · Patients"), "{}", said.stdout);
}

#[test]
fn a_program_in_a_pid_namespace_is_looked_at_by_the_pid_that_we_see() {
    if let Err(error) = Namespaces::available() {
        return skip(&error.to_string());
    }
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let said = said(&mut run(&user, &["-d", "1", "--json"], &unshare, &line));
    check_report_and_end(&said, Runtime::Net9);
    assert_ne!(said.report().target.pid.0, 1, "inside, it is process 1");
}

#[test]
fn a_lost_terminal_and_sigterm_end_a_program_behind_a_shell() {
    for signal in [Signal::HUP, Signal::TERM] {
        let user = User::new();
        let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
        let run = start(&mut run(&user, &["-d", "10m", "--json"], &BEHIND_SHELL, &line));
        user.wait_running();
        run.signal(signal);
        let said = run.ends();
        let report = said.report();
        assert_eq!(report.window.end, WindowEnd::Cancelled, "{signal:?}");
        let child = said.stderr.lines().find_map(|line| line.strip_prefix("child ")).unwrap();
        assert_eq!(report.target.pid.0.to_string(), child, "{signal:?}");
        assert!(is_gone(report.target.pid.0), "{signal:?}: {}", said.stderr);
    }
}

#[test]
fn a_program_behind_a_shell_gets_time_to_end() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    // The shell dies of SIGTERM at once; what it has started takes its time, as shutdown handlers do.
    let slow = "(trap 'sleep 1; echo farewell; exit' TERM; while :; do sleep 0.1; done) & \"$@\" & wait";
    let said = said(&mut run(&user, &["-d", "0.5", "--json"], &["sh", "-c", slow, "sh"], &line));
    check_report_and_end(&said, Runtime::Net9);
    assert!(said.stderr.contains("farewell\n"), "{}", said.stderr);
}

#[test]
fn a_program_that_does_not_end_is_killed_with_its_group() {
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).command().unwrap();
    let stubborn = "(trap '' TERM; while :; do sleep 0.1; done) & echo \"stubborn $!\"; \"$@\" & wait";
    let said = said(&mut run(&user, &["-d", "0.5", "--json"], &["sh", "-c", stubborn, "sh"], &line));
    check_report_and_end(&said, Runtime::Net9);
    let pid = said.stderr.lines().find_map(|line| line.strip_prefix("stubborn ")).unwrap();
    let pid = pid.parse().unwrap();
    eventually("the stubborn one is gone", || is_gone(pid).then_some(()));
}

#[test]
fn a_runtime_that_cannot_reach_the_port_is_stopped_and_not_measured() {
    if !is_root() {
        return;
    }
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net9).user(65534, 65534).command().unwrap();
    let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let said = said(&mut run(&user, &["-d", "1", "--json"], &other, &line));
    assert_eq!((said.code, said.stdout.as_str()), (Some(18), ""), "{}", said.stderr);
    // Before that, the runtime says that it waits, and where: the port's folder differs from run to run.
    let (runtime, error) = said.stderr.split_once("error: ").expect("an error");
    let port = runtime.split_once("DOTNET_DiagnosticPorts=\"").and_then(|(_, value)| value.split_once(','));
    let error = error.replace(port.expect("the runtime's message").0, "PORT");
    check_golden("errors/runtime-cannot-call.txt", &format!("exit code 18\nerror: {error}"));
    assert!(!user.sessions().exists(), "nothing was begun");
}

#[test]
fn an_old_runtime_of_another_user_is_looked_at() {
    if !is_root() {
        return;
    }
    let user = User::new();
    let line = shared().target("healthy-idle-service", Runtime::Net31).user(65534, 65534).command().unwrap();
    let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    check_report_and_end(&said(&mut run(&user, &["-d", "1", "--json"], &other, &line)), Runtime::Net31);
}

#[test]
fn a_long_wait_for_a_runtime_is_announced() {
    let user = User::new();
    let said = user.says(&["run", "threads", "--", "sh", "-c", "sleep 3; exit 3"]);
    let first = "waiting for a .NET runtime in 'sh' (Ctrl+C stops it)\nerror: ";
    assert!(said.stderr.starts_with(first), "{}", said.stderr);
    // Not for those that end before anybody wonders.
    let said = user.says(&["run", "threads", "--", "sh", "-c", "exit 3"]);
    assert!(said.stderr.starts_with("error: "), "{}", said.stderr);
}

#[test]
fn what_is_not_executable_is_told_what_to_type_instead() {
    let user = User::new();
    for file in ["/etc/passwd", "/tmp"] {
        let said = user.says(&["run", "threads", "--", file]);
        assert_eq!(said.code, Some(18), "{}", said.stderr);
        let error = said.stderr.replace(file, "FILE");
        check_golden("errors/program-not-executable.txt", &format!("exit code 18\n{error}"));
    }
}
