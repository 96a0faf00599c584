//! The diagnostic port: programs launched suspended, their .NET children, and callers that are no runtimes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::{LONG, QUIET, wait_until};
use diagnostics_ipc::{
    Deadline, IpcError, LaunchError, Launched, PortServer, Welcome, diagnostic_ports_variable, launch,
};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};
use testbed::{Runtime, shared};

const WITH_CHILDREN: &str = "healthy-starts-children";
/// A moment in which a program that is not held would have spoken.
const MOMENT: Duration = Duration::from_millis(500);

/// Ends a launched program with everything it started: `launch` gives it a process group.
struct Group(Pid);

impl Group {
    fn of(child: &Child) -> Group {
        Group(Pid::from_child(child))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

/// The lines a program prints.
struct Lines(Receiver<String>);

impl Lines {
    fn of(child: &mut Child) -> Lines {
        let output = child.stdout.take().expect("its output is a pipe");
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Lines(receiver)
    }

    /// Waits for a line that begins so.
    fn wait_for(&self, prefix: &str) -> String {
        let mut before = Vec::new();
        loop {
            match self.0.recv_timeout(LONG) {
                Ok(line) if line.starts_with(prefix) => return line,
                Ok(line) => before.push(line),
                Err(error) => panic!("no line '{prefix}' ({error}); before that: {before:?}"),
            }
        }
    }

    /// Asserts that nothing is printed for a moment.
    fn assert_silent(&self) {
        if let Ok(line) = self.0.recv_timeout(MOMENT) {
            panic!("it is not held: it printed '{line}'");
        }
    }
}

/// A patient as a command whose input and output are pipes.
fn patient(id: &str, runtime: Runtime, args: &[&str]) -> Command {
    let mut builder = shared().target(id, runtime);
    for arg in args {
        builder = builder.arg(arg);
    }
    let mut command = builder.command().expect("the command line of a patient").to_command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn launched(command: Command) -> (Launched, Group, Lines) {
    let mut launched = launch(command, LONG, |_| false).expect("its runtime calls");
    let group = Group::of(&launched.child);
    let lines = Lines::of(&mut launched.child);
    (launched, group, lines)
}

fn end(mut launched: Launched, group: Group) {
    drop(group);
    launched.child.wait().expect("it has ended");
}

#[test]
fn a_launched_program_is_held_until_it_is_resumed() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let (launched, group, lines) = launched(patient(QUIET, runtime, &[]));
        assert_eq!(launched.runtime.welcome, Welcome::Hold);
        assert_eq!(launched.runtime.visible_pid.map(|pid| pid.0), Some(launched.child.id()), "{runtime}");
        let info = launched.client.process_info().unwrap();
        assert_eq!(info.pid, u64::from(launched.child.id()), "{runtime}");
        assert_eq!(info.cookie, launched.runtime.cookie, "{runtime}");
        // Commands may follow each other: the runtime calls again for each.
        launched.client.set_environment_variable("DRDOTNET_TEST", "early").unwrap();
        let variables = launched.client.environment().unwrap();
        assert!(variables.contains(&("DRDOTNET_TEST".into(), "early".into())), "{runtime}");
        lines.assert_silent();

        launched.resume().unwrap();
        lines.wait_for("ready");
        assert!(launched.client.process_info().is_ok(), "{runtime}: the port serves on");
        assert_eq!(launched.port.runtimes(), [launched.runtime]);
        end(launched, group);
    }
}

#[test]
fn a_profiler_can_be_named_while_the_runtime_is_held() {
    let (launched, group, lines) = launched(patient(QUIET, Runtime::Net9, &[]));
    // What it names does not exist; the runtime finds out later and goes on without it.
    // It calls us a moment before it is held, and refuses until it is.
    wait_until("a held runtime takes the name", || {
        launched.client.startup_profiler(diagnostics_ipc::Guid(1), "/nonexistent/libprofiler.so").is_ok()
    });
    launched.resume().unwrap();
    lines.wait_for("ready");
    end(launched, group);
}

#[test]
fn a_dotnet_child_of_a_launched_program_does_not_hang() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let (launched, group, lines) = launched(patient(WITH_CHILDREN, runtime, &[]));
        launched.resume().unwrap();
        let child = lines.wait_for("child ");
        lines.wait_for("ready");
        let pid: u64 = child["child ".len()..].parse().unwrap();
        let called = launched.port.wait_for(&Deadline::after(LONG), |seen| seen.pid == pid);
        assert_eq!(called.map(|seen| seen.welcome), Some(Welcome::Resume), "{runtime}");
        end(launched, group);
    }
}

#[test]
fn a_dotnet_child_does_not_hang_when_the_port_is_gone() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let (launched, group, lines) = launched(patient(WITH_CHILDREN, runtime, &["wait=1"]));
        launched.resume().unwrap();
        let Launched { mut child, port, client, .. } = launched;
        drop((port, client));
        child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        lines.wait_for("child ");
        lines.wait_for("ready");
        drop(group);
        child.wait().unwrap();
    }
}

#[test]
fn the_first_runtime_of_a_script_is_held_and_the_second_runs() {
    let line = shared().target(QUIET, Runtime::Net9).command().unwrap();
    let mut script = Command::new("sh");
    script
        .args(["-c", r#""$@" | sed -u 's/^/a /' & "$@" | sed -u 's/^/b /' & wait"#, "sh"])
        .args(line.words());
    line.apply_environment(&mut script);
    script.stdout(Stdio::piped()).stderr(Stdio::null());
    let (launched, group, lines) = launched(script);

    let first = lines.0.recv_timeout(LONG).unwrap();
    assert!(first == "a ready" || first == "b ready", "{first}");
    lines.assert_silent();
    let second = launched.port.wait_for(&Deadline::after(LONG), |seen| seen.welcome == Welcome::Resume);
    assert_ne!(second.unwrap().cookie, launched.runtime.cookie);
    launched.resume().unwrap();
    let other = if first == "a ready" { "b ready" } else { "a ready" };
    lines.wait_for(other);
    end(launched, group);
}

#[test]
fn a_program_without_a_runtime_is_told_apart() {
    let ended = launch(Command::new("true"), LONG, |_| false).err().unwrap();
    let LaunchError::Ended { program, status } = &ended else { panic!("{ended}") };
    assert!(program == "true" && status.success(), "{ended}");

    let mut sleep = Command::new("sleep");
    sleep.arg("60");
    let running = launch(sleep, Duration::from_millis(200), |_| false).err().unwrap();
    let LaunchError::NoRuntime { mut child, .. } = running else { panic!("{running}") };
    child.kill().unwrap();
    child.wait().unwrap();

    let mut sleep = Command::new("sleep");
    sleep.arg("60");
    let given_up = launch(sleep, LONG, |_| true).err().unwrap();
    let LaunchError::NoRuntime { mut child, .. } = given_up else { panic!("{given_up}") };
    child.kill().unwrap();
    child.wait().unwrap();

    let missing = launch(Command::new("/nonexistent/program"), LONG, |_| false).err().unwrap();
    assert!(matches!(missing, LaunchError::Spawn { .. }), "{missing}");
}

#[test]
fn a_runtime_too_old_to_call_is_left_running() {
    let command = patient(QUIET, Runtime::Net31, &[]);
    let outcome = launch(command, Duration::from_secs(2), |_| false).err().unwrap();
    let LaunchError::NoRuntime { mut child, .. } = outcome else { panic!("{outcome}") };
    Lines::of(&mut child).wait_for("ready");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_that_ends_while_it_is_held_is_told() {
    let (mut launched, group, _) = launched(patient(QUIET, Runtime::Net9, &[]));
    drop(group);
    launched.child.wait().unwrap();
    let client = launched.client.clone().with_timeout(Duration::from_millis(300));
    let error = client.process_info().unwrap_err();
    let told = matches!(error, IpcError::Closed { .. } | IpcError::Connect { .. });
    assert!(told, "{error}");
    // Nobody calls any more.
    let error = client.process_info().unwrap_err();
    let IpcError::Connect { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::TimedOut, "{error}");
}

#[test]
fn silent_and_wrong_callers_do_not_block_a_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let port = PortServer::start(&path, |_| Welcome::Hold).unwrap();
    let mut callers: Vec<UnixStream> = (0..80).map(|_| UnixStream::connect(&path).unwrap()).collect();
    for (index, caller) in callers.iter_mut().enumerate() {
        // Some may have been turned away already.
        let _ = match index % 3 {
            0 => Ok(()),
            1 => caller.write_all(b"GET / HTTP/1.1\r\nHost: somebody-else.example\r\n\r\n"),
            _ => caller.write_all(b"ADVR"),
        };
    }

    let mut command = patient(QUIET, Runtime::Net9, &[]);
    command.env("DOTNET_DiagnosticPorts", diagnostic_ports_variable(&path, true));
    let mut child = command.spawn().unwrap();
    let seen = port.wait_for(&Deadline::after(LONG), |_| true);
    assert_eq!(seen.map(|seen| seen.pid), Some(u64::from(child.id())));
    let client = port.client(seen.unwrap().cookie).with_timeout(LONG);
    client.resume_runtime().unwrap();
    Lines::of(&mut child).wait_for("ready");
    assert_eq!(port.runtimes().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_runtime_is_resumed_again_when_the_first_try_was_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let _port = PortServer::start(&path, |_| Welcome::Resume).unwrap();
    for _ in 0..2 {
        // The call breaks off before it is answered, so the runtime calls again.
        take_resume(&mut call(&path, 7));
    }
}

/// Calls a port as a runtime does.
fn call(path: &Path, cookie: u64) -> UnixStream {
    let mut advertise = b"ADVR_V1\0".to_vec();
    advertise.extend_from_slice(&[7; 8]);
    advertise.extend_from_slice(&cookie.to_le_bytes());
    advertise.extend_from_slice(&4242u64.to_le_bytes());
    advertise.extend_from_slice(&[0, 0]);
    let mut caller = UnixStream::connect(path).expect("the port listens");
    caller.set_read_timeout(Some(LONG)).expect("a timeout");
    caller.write_all(&advertise).expect("the port reads");
    caller
}

/// Reads the command to go on.
fn take_resume(caller: &mut UnixStream) {
    let mut request = [0; 20];
    caller.read_exact(&mut request).expect("the port sends a command");
    assert_eq!(&request, b"DOTNET_IPC_V1\0\x14\x00\x04\x01\x00\x00");
}

/// How many sockets of a port are open: the one that listens, and one for each connection.
fn open_sockets(path: &Path) -> usize {
    let sockets = std::fs::read_to_string("/proc/net/unix").expect("the kernel's list");
    let path = path.to_str().expect("a plain path");
    sockets.lines().filter(|line| line.ends_with(path)).count()
}

#[test]
fn runtimes_that_have_ended_leave_no_connection_and_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let port = PortServer::start(&path, |_| Welcome::Resume).unwrap();
    let _lives = stay(&path, 0);
    for cookie in 1..=300 {
        drop(come(&path, cookie));
        // The listener, the living one, the one that has just gone, and one that may still be going.
        wait_until("the sockets of the ended are closed", || open_sockets(&path) <= 4);
    }
    let seen = port.runtimes();
    assert!(seen.len() <= 256, "{}", seen.len());
    let own = std::process::id();
    assert!(seen.iter().all(|seen| seen.pid == 4242 && seen.visible_pid.map(|pid| pid.0) == Some(own)));
    // The living one keeps its connection, and its place.
    let living = port.client(seen[0].cookie).with_timeout(Duration::from_millis(200));
    assert!(matches!(living.process_info(), Err(IpcError::NoAnswer { .. })));
}

/// A runtime comes, is resumed and calls again, as all do for the next command.
fn come(path: &Path, cookie: u64) -> UnixStream {
    let mut first = call(path, cookie);
    take_resume(&mut first);
    let done = b"DOTNET_IPC_V1\0\x18\x00\xff\x00\x00\x00\x00\x00\x00\x00";
    first.write_all(done).expect("the port reads");
    let _ = first.read(&mut [0]);
    call(path, cookie)
}

/// The same, until the port keeps the connection: a call that comes before the port has noted the answer is
/// resumed once more.
fn stay(path: &Path, cookie: u64) -> UnixStream {
    loop {
        let mut caller = come(path, cookie);
        caller.set_read_timeout(Some(MOMENT)).expect("a timeout");
        if caller.read(&mut [0]).is_err() {
            return caller;
        }
    }
}

#[test]
fn twenty_real_runtimes_that_come_and_go_leave_no_descriptor() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let port = PortServer::start(&path, |_| Welcome::Resume).unwrap();
    for _ in 0..20 {
        let mut command = patient(QUIET, Runtime::Net9, &[]);
        command.env("DOTNET_DiagnosticPorts", diagnostic_ports_variable(&path, true));
        let mut child = command.spawn().unwrap();
        Lines::of(&mut child).wait_for("ready");
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(port.runtimes().len(), 20);
    let open = open_sockets(&path);
    assert!(open <= 4, "{open} sockets");
}

#[test]
fn the_ports_of_the_user_stay_and_each_is_resumed_on_its_own() {
    for runtime in [Runtime::Net8, Runtime::Net9] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("theirs");
        let theirs = PortServer::start(&path, |_| Welcome::Hold).unwrap();
        let variable = diagnostic_ports_variable(&path, true);
        let mut command = patient(QUIET, runtime, &[]);
        command.env("DOTNET_DiagnosticPorts", &variable);
        let (launched, group, lines) = launched(command);
        let called = theirs.wait_for(&Deadline::after(LONG), |_| true).expect("their port is called");
        assert_eq!(called.cookie, launched.runtime.cookie, "{runtime}");

        launched.resume().unwrap();
        lines.assert_silent();
        let variables = launched.client.environment().unwrap();
        let ours = diagnostic_ports_variable(launched.port.path(), false);
        let both = format!("{variable};{ours}");
        assert!(variables.contains(&("DOTNET_DiagnosticPorts".into(), both)), "{runtime}: {variables:?}");

        theirs.client(called.cookie).with_timeout(LONG).resume_runtime().unwrap();
        lines.wait_for("ready");
        // To resume a runtime that runs is no error: a port that has forgotten one may do so.
        launched.client.resume_runtime().unwrap();
        end(launched, group);
    }
}

#[test]
fn nothing_stays_behind() {
    let (launched, group, _lines) = launched(patient(QUIET, Runtime::Net9, &[]));
    let socket = launched.port.path().to_owned();
    let folder = socket.parent().map(Path::to_owned).unwrap();
    assert!(socket.exists());
    let pid = Pid::from_child(&launched.child);
    end(launched, group);
    assert!(!socket.exists() && !folder.exists());
    wait_until("the program is gone", || test_kill_process(pid).is_err());
}

#[test]
fn a_port_whose_file_was_removed_still_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let port = PortServer::start(&path, |_| Welcome::Hold).unwrap();
    std::fs::remove_file(&path).unwrap();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        drop(port);
        let _ = sender.send(());
    });
    receiver.recv_timeout(LONG).expect("dropping the port ends");
}

#[test]
fn a_second_port_at_the_same_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("port");
    let _port = PortServer::start(&path, |_| Welcome::Hold).unwrap();
    let error = PortServer::start(&path, |_| Welcome::Hold).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}
