//! Discovery of real .NET processes: every runtime, other namespaces, other users, and everything that can be wrong
//! with a target. Other tests run beside these, so each looks only at the processes that it started.

mod others;

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use discovery::{
    Ability, DotnetProcess, FindError, Off, Options, Reach, SocketName, access, discover, find, find_by_name,
    scan,
};
use model::ProcessId;
use process_view::Process;
use tempfile::TempDir;
use testbed::{Namespaces, Runtime, Target, TargetBuilder, shared};

/// A healthy patient that needs little.
const QUIET: &str = "healthy-idle-service";
/// How long things may take that take no time on an idle machine.
const LONG: Duration = Duration::from_secs(30);
/// Tells a copy of this program to list what it sees.
const LISTING: &str = "DRDOTNET_TEST_LISTING";
/// Somebody who owns nothing here.
const NOBODY: u32 = 65534;

fn patient(runtime: Runtime) -> TargetBuilder<'static> {
    shared().target(QUIET, runtime)
}

/// A busy machine must not make a healthy target look hung.
fn patient_options() -> Options {
    Options { timeout: LONG }
}

fn pid(target: &Target) -> ProcessId {
    ProcessId(target.pid())
}

fn found(target: &Target) -> DotnetProcess {
    find(pid(target), &patient_options()).expect("the target is found")
}

fn in_list(list: &[DotnetProcess], target: &Target) -> DotnetProcess {
    let mut same = list.iter().filter(|process| process.pid == pid(target));
    let process = same.next().expect("the target is in the list").clone();
    assert!(same.next().is_none(), "the target is in the list twice");
    process
}

fn socket_name(target: &Target) -> SocketName {
    let process = Process::new(pid(target));
    let inside = process.status().expect("its status").ids.innermost().expect("its pid");
    SocketName { pid: inside, key: process.stat().expect("its stat").start_ticks }
}

/// Version of the shared framework that a process has mapped.
fn mapped_version(target: &Target) -> String {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", target.pid())).expect("its mappings");
    let library = maps.lines().find(|line| line.ends_with("/libcoreclr.so")).expect("the runtime's library");
    library.rsplit('/').nth(1).expect("the folder of the version").to_owned()
}

/// Says so where the output of tests is not captured.
fn skip(reason: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Whether this test may do what only root may.
fn is_root() -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    skip("it needs root");
    false
}

fn has_namespaces() -> bool {
    Namespaces::available().map_err(skip).is_ok()
}

/// A process that the test started and ends.
struct Started(Child);

impl Started {
    fn new(command: &mut Command) -> Started {
        Started(command.spawn().expect("the program starts"))
    }

    fn pid(&self) -> ProcessId {
        ProcessId(self.0.id())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test of its own: prints what discovery sees when a [`Lister`] runs it elsewhere.
#[test]
fn the_list_as_seen_from_elsewhere() {
    if std::env::var_os(LISTING).is_none() {
        return;
    }
    let mut out = std::io::stdout().lock();
    for process in discover(&patient_options()) {
        let DotnetProcess { pid, pid_inside, visible, reach, .. } = &process;
        writeln!(out, "\npid={pid} inside={pid_inside} visible={visible} reach={reach:?}").unwrap();
        for access in access(&process) {
            writeln!(out, "  {}: {:?}", access.id, access.ability).unwrap();
        }
    }
}

/// A copy of this test program that everybody may run, to look as another user or from another namespace.
struct Lister {
    program: PathBuf,
    _folder: TempDir,
}

impl Lister {
    fn new() -> Lister {
        let folder = tempfile::tempdir_in("/tmp").expect("a temp folder");
        let program = folder.path().join("list");
        // Not copied by this process: another thread that forks meanwhile would hold it open for writing, and a file
        // that is open for writing cannot be run.
        let copied = Command::new("cp")
            .arg(std::env::current_exe().expect("this program's path"))
            .arg(&program)
            .status();
        assert!(copied.is_ok_and(|status| status.success()), "a copy of this program");
        for path in [folder.path(), &program] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("open to everybody");
        }
        Lister { program, _folder: folder }
    }

    /// Runs a command that ends in the program. Gives the lines that belong to a process with this pid inside.
    fn lines_about(&self, before: &[&str], inside: u32) -> String {
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(&self.program).args(["--exact", "the_list_as_seen_from_elsewhere"]);
        let output = command.env(LISTING, "1").env_remove("TMPDIR").output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let text = String::from_utf8_lossy(&output.stdout);
        let mark = format!(" inside={inside} ");
        let mut lines = String::new();
        let mut ours = false;
        for line in text.lines() {
            if line.starts_with("pid=") {
                ours = line.contains(&mark);
            }
            if ours {
                let _ = writeln!(lines, "{line}");
            }
        }
        lines
    }
}

#[test]
fn all_runtimes_are_found_at_once_one_of_them_in_a_container() {
    if !has_namespaces() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let old = patient(Runtime::Net31).start().unwrap();
    let own_folder = patient(Runtime::Net8).tmpdir(folder.path()).start().unwrap();
    let namespaces = Namespaces::PidAndMount { private_tmp: true };
    let contained = patient(Runtime::Net9).namespaces(namespaces).start().unwrap();
    let stranger = shared().stranger().start().unwrap();

    let list = discover(&patient_options());
    assert!(list.is_sorted_by_key(|process| (process.pid, process.pid_inside)));
    for (target, name) in
        [(&old, "Patients"), (&own_folder, "Sarif.Multitool"), (&contained, "Patients"), (&stranger, "azmcp")]
    {
        let runtime = target.runtime();
        let process = in_list(&list, target);
        assert_eq!(process.reach, Reach::Ready, "{runtime}");
        assert!(process.visible, "{runtime}");
        assert_eq!(process.name, name, "{runtime}");
        let version = process.runtime_version.clone().unwrap();
        assert!(version.starts_with(&format!("{}.", runtime.label())), "{runtime}: {version}");
        assert!(version.split('.').all(|part| part.parse::<u32>().is_ok()), "{runtime}: {version}");
        assert_eq!(process.architecture.as_deref(), Some("x64"), "{runtime}");
        assert_eq!(process.user.as_ref().map(|user| user.id), Some(0), "{runtime}");
        assert!(process.memory.unwrap() > 1 << 20, "{runtime}");
        assert!(process.threads.unwrap() > 1, "{runtime}");
        assert!(process.cpu.unwrap() > Duration::ZERO, "{runtime}");
        assert!(process.uptime.unwrap() < Duration::from_secs(3600), "{runtime}");
        assert!(process.started_at.is_some() && process.cpu_percent().is_some(), "{runtime}");
        assert!(!process.command_line.is_empty(), "{runtime}");
        assert_eq!(process.info.is_some(), runtime != Runtime::Net31, "{runtime}");
        assert_eq!(process.runtime_identifier.is_some(), runtime != Runtime::Net31, "{runtime}");
        assert_eq!(process.pid_inside == 1, runtime == Runtime::Net9, "{runtime}");
        assert!(process.client().is_some(), "{runtime}");
    }
    for target in [&old, &contained] {
        assert_eq!(in_list(&list, target).runtime_version, Some(mapped_version(target)));
    }
    let container = in_list(&list, &contained).container;
    assert!(container.is_some_and(|word| !word.is_empty()));
    let alone = found(&contained);
    assert_eq!((alone.reach, alone.pid_inside), (Reach::Ready, 1));
}

#[test]
fn a_target_in_its_own_temp_folder_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let target = patient(Runtime::Net9).tmpdir(folder.path()).start().unwrap();
    let process = found(&target);
    assert_eq!(process.reach, Reach::Ready);
    let path = process.endpoint.unwrap().path().to_owned();
    assert_eq!(path, folder.path().join(socket_name(&target).to_string()));
}

#[test]
fn sockets_left_behind_by_earlier_processes_with_the_same_pid_are_not_mistaken() {
    let folder = tempfile::tempdir().unwrap();
    let target = patient(Runtime::Net9).tmpdir(folder.path()).start().unwrap();
    let own = socket_name(&target);
    // Both are newer files than the real one, one of them also by its key.
    for key in [own.key - 1000, own.key + 1000] {
        let left_behind = folder.path().join(SocketName { key, ..own }.to_string());
        drop(UnixListener::bind(left_behind).unwrap());
    }
    let process = found(&target);
    assert_eq!(process.reach, Reach::Ready);
    assert_eq!(process.endpoint.unwrap().path(), folder.path().join(own.to_string()));
}

#[test]
fn stale_sockets_in_our_own_folder_are_counted_and_not_listed() {
    let key = u64::from(std::process::id());
    let stale: Vec<PathBuf> = (0..5)
        .map(|index| SocketName { pid: 4_194_400 + index, key })
        .map(|name| std::env::temp_dir().join(name.to_string()))
        .collect();
    for path in &stale {
        drop(UnixListener::bind(path).unwrap());
    }
    let seen = scan(&patient_options());
    for path in &stale {
        let _ = std::fs::remove_file(path);
    }
    assert!(seen.stale_sockets >= stale.len(), "{}", seen.stale_sockets);
    assert!(seen.processes.iter().all(|process| process.pid.0 < 4_194_400));
}

#[test]
fn a_program_that_listens_under_a_runtimes_name_is_not_listed() {
    // The name is of a process that does not exist; this test's process listens.
    let name = SocketName { pid: 4_194_390, key: u64::from(std::process::id()) };
    let path = std::env::temp_dir().join(name.to_string());
    let listener = UnixListener::bind(&path).unwrap();
    let list = discover(&Options::default());
    drop(listener);
    std::fs::remove_file(&path).unwrap();
    let me = ProcessId(std::process::id());
    assert!(list.iter().all(|process| process.pid != me && process.pid_inside != name.pid));
}

#[test]
fn an_impostor_at_the_socket_of_a_process_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let target = patient(Runtime::Net9).tmpdir(folder.path()).start().unwrap();
    let path = folder.path().join(socket_name(&target).to_string());
    std::fs::remove_file(&path).unwrap();
    let _listener = UnixListener::bind(&path).unwrap();
    let process = found(&target);
    let Reach::Broken { problem } = &process.reach else { panic!("{:?}", process.reach) };
    assert!(problem.contains(&format!("process {} listens", std::process::id())), "{problem}");
    assert!(process.client().unwrap().environment().is_err(), "its client does not ask an impostor either");
}

#[test]
fn switched_off_diagnostics_are_told_with_the_variable() {
    for (runtime, variable) in [
        (Runtime::Net31, "COMPlus_EnableDiagnostics"),
        (Runtime::Net8, "DOTNET_EnableDiagnostics"),
        (Runtime::Net9, "DOTNET_EnableDiagnostics"),
        (Runtime::Net8, "DOTNET_EnableDiagnostics_IPC"),
        (Runtime::Net9, "DOTNET_EnableDiagnostics_IPC"),
    ] {
        let target = patient(runtime).env(variable, "0").start().unwrap();
        let setting = format!("{variable}=0");
        let process = found(&target);
        assert_eq!(process.reach, Reach::Off(Off::Variable(setting.clone())), "{runtime}");
        assert_eq!(in_list(&discover(&patient_options()), &target).reach, process.reach, "{runtime}");
        assert!(process.client().is_none());
        let events = access(&process).into_iter().find(|access| access.id == "runtime-events").unwrap();
        let Ability::No(needs) = events.ability else { panic!("{events:?}") };
        assert!(needs.contains(&setting), "{needs}");
    }
}

#[test]
fn a_socket_that_was_removed_is_told_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    let target = patient(Runtime::Net9).tmpdir(folder.path()).start().unwrap();
    let path = folder.path().join(socket_name(&target).to_string());
    std::fs::remove_file(&path).unwrap();
    let process = found(&target);
    assert_eq!(process.reach, Reach::Off(Off::NoSocket { expected: path.display().to_string() }));
    assert_eq!(process.runtime_version, Some(mapped_version(&target)));
}

#[test]
fn a_temp_folder_too_long_for_a_socket_is_told() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path().join("x".repeat(60)).join("y".repeat(60));
    std::fs::create_dir_all(&folder).unwrap();
    let target = patient(Runtime::Net9).tmpdir(&folder).start().unwrap();
    let process = found(&target);
    assert!(matches!(process.reach, Reach::Off(Off::NoSocket { .. })), "{:?}", process.reach);
    let events = access(&process).into_iter().find(|access| access.id == "runtime-events").unwrap();
    assert!(matches!(&events.ability, Ability::No(needs) if needs.contains("shorter TMPDIR")), "{events:?}");
}

#[test]
fn hung_targets_delay_neither_each_other_nor_the_rest() {
    let healthy = patient(Runtime::Net9).start().unwrap();
    let hung: Vec<Target> =
        Runtime::ALL.into_iter().map(|runtime| patient(runtime).start().unwrap()).collect();
    // The runtime serves one caller at a time: whoever connects and says nothing keeps it from all others.
    let silent: Vec<UnixStream> = hung
        .iter()
        .map(|target| std::env::temp_dir().join(socket_name(target).to_string()))
        .map(|socket| UnixStream::connect(socket).unwrap())
        .collect();
    let timeout = Duration::from_secs(8);
    let started = Instant::now();
    let list = discover(&Options { timeout });
    let took = started.elapsed();
    for target in &hung {
        let process = in_list(&list, target);
        let Reach::NoAnswer { waited } = process.reach else { panic!("{:?}", process.reach) };
        assert!(waited >= timeout, "{waited:?}");
        assert_eq!(
            process.name,
            if target.runtime() == Runtime::Net8 { "Sarif.Multitool" } else { "Patients" }
        );
        let events = access(&process).into_iter().find(|access| access.id == "runtime-events").unwrap();
        assert!(matches!(events.ability, Ability::No(_)), "{events:?}");
    }
    assert_eq!(in_list(&list, &healthy).reach, Reach::Ready);
    assert!(took < timeout * 2, "the three were waited for in turn: {took:?}");
    drop(silent);
}

#[test]
fn a_stopped_target_is_not_waited_for() {
    let target = patient(Runtime::Net9).start().unwrap();
    target.suspend().unwrap();
    assert_eq!(found(&target).reach, Reach::NoAnswer { waited: Duration::ZERO });
    target.resume().unwrap();
    let until = Instant::now() + LONG;
    while found(&target).reach != Reach::Ready {
        assert!(Instant::now() < until, "it does not go on");
    }
}
