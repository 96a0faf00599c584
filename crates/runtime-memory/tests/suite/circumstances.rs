//! Processes that do not answer, that are not ours, that end; and those that memory says nothing of.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use model::ProcessId;
use runtime_memory::{Error, RuntimeMemory};
use testbed::{Namespaces, Runtime, Target, TargetBuilder, shared};

/// The process whose method `the_methods_as_another_user_sees_them` counts.
const ASKED: &str = "RUNTIME_MEMORY_TEST_PID";
const NOBODY: u32 = 65534;

fn patient(runtime: Runtime) -> TargetBuilder<'static> {
    shared().target("hot-method", runtime)
}

fn open(target: &Target) -> Result<RuntimeMemory, Error> {
    RuntimeMemory::open(ProcessId(target.pid()))
}

/// How many methods there are; each is found again by its address.
fn count(memory: &mut RuntimeMemory) -> usize {
    let methods = memory.methods();
    let named = methods.iter().filter(|method| memory.method_at(method.start.0).is_some()).count();
    assert!(named * 100 >= methods.len() * 99, "{named} of {}", methods.len());
    methods.len()
}

#[test]
fn a_stopped_process_has_names() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let target = patient(runtime).start().unwrap();
        target.suspend().unwrap();
        let methods = count(&mut open(&target).unwrap());
        assert!(methods > 100, "{runtime}: {methods}");
        target.resume().unwrap();
        assert!(target.is_alive());
    }
}

#[test]
fn a_process_without_a_diagnostics_port_has_names() {
    for runtime in [Runtime::Net9, Runtime::Net10] {
        let folder = tempfile::tempdir().unwrap();
        let builder = patient(runtime).env("DOTNET_EnableDiagnostics", "0").tmpdir(folder.path());
        let target = builder.start().unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
        let sockets: Vec<_> = names.filter(|name| name.to_string_lossy().contains("diagnostic")).collect();
        assert!(sockets.is_empty(), "{sockets:?}");
        let methods = count(&mut open(&target).unwrap());
        assert!(methods > 100, "{runtime}: {methods}");
    }
}

#[test]
fn a_process_in_a_container_has_names() {
    if let Err(reason) = Namespaces::available() {
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    let namespaces = Namespaces::PidAndMount { private_tmp: true };
    let target = patient(Runtime::Net9).namespaces(namespaces).start().unwrap();
    assert!(count(&mut open(&target).unwrap()) > 100);
}

/// A program that ends with the test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_runtime_whose_file_was_replaced_has_names() {
    // As an update of the machine does while the process runs on.
    let folder = tempfile::tempdir().unwrap();
    // Once this one is ready, all its threads stand still: it needs no more of what is taken away.
    let line = shared().target("deadlock-ab-ba", Runtime::Net9).command().unwrap();
    let mut words = line.words().into_iter();
    let dotnet = std::path::PathBuf::from(words.next().unwrap());
    let root = folder.path().join("dotnet");
    let copied = Command::new("cp").arg("-r").arg(dotnet.parent().unwrap()).arg(&root).status().unwrap();
    assert!(copied.success());
    let mut command = Command::new(root.join("dotnet"));
    command.args(words).env("TMPDIR", folder.path()).stdout(std::process::Stdio::piped());
    line.apply_environment(&mut command);
    let mut child = Ended(command.spawn().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.0.stdout.take().unwrap()));
    assert!(lines.any(|line| line.is_ok_and(|line| line == "ready")), "it starts");
    std::fs::remove_dir_all(&root).unwrap();
    let mut memory = RuntimeMemory::open(ProcessId(child.0.id())).unwrap();
    assert!(count(&mut memory) > 100);
}

#[test]
fn an_ordinary_user_reads_the_names_of_an_own_process_and_of_no_other() {
    if rustix::process::geteuid().as_raw() != 0 {
        let _ = writeln!(std::io::stderr(), "skipped: needs root to become another user");
        return;
    }
    // A place that the user may enter.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let ask = |target: &Target| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".into()]);
        command.arg("--").arg(&program).args([
            "--exact",
            "--nocapture",
            "circumstances::the_methods_as_another_user_sees_them",
        ]);
        let output = command.env(ASKED, target.pid().to_string()).output().expect("setpriv runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let temporary = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(temporary.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let own = patient(Runtime::Net9).user(NOBODY, NOBODY).tmpdir(temporary.path()).start().unwrap();
    let answer = ask(&own);
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    let expected =
        if matches!(scope.trim(), "" | "0") { "methods found" } else { "may not be read by this user" };
    assert!(answer.contains(expected), "{answer}");
    let foreign = patient(Runtime::Net9).start().unwrap();
    let answer = ask(&foreign);
    assert!(answer.contains("may not be read by this user; run as root"), "{answer}");
}

/// Run by the test above, as another user.
#[test]
fn the_methods_as_another_user_sees_them() {
    let Some(pid) = std::env::var(ASKED).ok().and_then(|pid| pid.parse().ok()) else { return };
    match RuntimeMemory::open(ProcessId(pid)) {
        Ok(mut memory) => {
            println!("{}", if count(&mut memory) > 100 { "methods found" } else { "no methods" })
        }
        Err(error) => println!("{error}"),
    }
}

#[test]
fn a_process_may_end_at_any_moment() {
    let target = patient(Runtime::Net9).start().unwrap();
    let mut memory = open(&target).unwrap();
    let known = memory.methods().first().expect("it has methods").start.0;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                memory.methods();
            }
            memory
        });
        target.kill().unwrap();
        target.wait_exit(std::time::Duration::from_secs(30)).unwrap();
        ended.store(true, Ordering::Relaxed);
        let mut memory = reading.join().expect("reading does not panic");
        assert!(memory.method_at(known).is_none() && memory.methods().is_empty());
    });
    let error = open(&target).unwrap_err();
    assert!(matches!(error, Error::Vanished { .. }), "{error}");
}

#[test]
fn what_has_no_names_says_why() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let target = patient(runtime).start().unwrap();
        let error = open(&target).unwrap_err();
        assert!(matches!(error, Error::TooOld { .. }), "{runtime}: {error}");
        assert!(error.to_string().contains(".NET 9 and newer"), "{error}");
    }
    let error = RuntimeMemory::open(ProcessId(std::process::id())).unwrap_err();
    assert!(matches!(error, Error::NoRuntime { .. }), "{error}");
    let error = RuntimeMemory::open(ProcessId(4_194_305)).unwrap_err();
    assert!(matches!(error, Error::Vanished { .. }), "{error}");
}

#[test]
fn code_that_comes_and_goes_does_no_harm() {
    // One makes methods at run time all the time, the other loads and unloads modules.
    for patient in ["jit-storm", "healthy-plugin-host"] {
        let target = shared().target(patient, Runtime::Net9).start().unwrap();
        let mut memory = open(&target).unwrap();
        for _ in 0..5 {
            let methods = memory.methods();
            assert!(methods.len() > 100, "{patient}: {}", methods.len());
            let strange = methods.iter().find(|method| {
                let is_text = |text: &str| !text.contains(|letter: char| letter.is_control());
                method.name.is_empty() || !is_text(&method.name) || !is_text(&method.type_name)
            });
            assert_eq!(strange, None, "{patient}");
        }
        assert!(target.is_alive());
    }
}
