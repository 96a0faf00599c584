//! As an ordinary user: a copy of this program records and says what it saw.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;
use std::time::Duration;

use kernel_collector::Request;
use model::ProcessId;
use perf_sampler::Collect;
use tempfile::TempDir;
use testbed::{Runtime, shared};

use crate::{found, of, record_for, share};

/// Tells a copy of this program whom to record.
const RECORDING: &str = "DRDOTNET_TEST_RECORDING";

/// Not a test of its own: records and prints what was seen when [`recorded_by`] runs it.
#[test]
fn a_recording_by_somebody_else() {
    let Ok(pid) = std::env::var(RECORDING) else { return };
    let pid: ProcessId = pid.parse().expect("a process id");
    let recorded = record_for(Request::new(vec![found(pid)], Collect::Both), Duration::from_secs(3));
    let process = of(&recorded, pid);
    let (profiles, granted) = (&process.profiles, &recorded.granted);
    let mut out = String::new();
    let _ = writeln!(out, "\noff {:?}, names {:?}", granted.off_cpu, process.naming.failure);
    granted.missing.iter().for_each(|missing| _ = writeln!(out, "{missing}"));
    let _ = writeln!(out, "waits {}", share(&profiles.off_cpu, "Catalog.PriceService.GetPrice") > 20.0);
    let waits = profiles.quality.waits;
    let _ = writeln!(out, "complete {}", waits.complete_percent() >= 95.0);
    let _ = writeln!(out, "{waits:?}");
    std::io::stdout().lock().write_all(out.as_bytes()).expect("it can be told");
}

/// What a user sees of a patient of its own.
fn recorded_by(user: u32, limits: &[&str]) -> String {
    let own = tempfile::tempdir().expect("a temp folder");
    chown(own.path(), Some(user), Some(user)).expect("its own folder");
    let patient = shared().target("pool-starvation", Runtime::Net9).user(user, user).tmpdir(own.path());
    let target = patient.start().expect("the patient starts");
    let (program, _folder) = copy_for_everybody();
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={user}"), format!("--regid={user}")]).args(["--clear-groups", "--"]);
    command.args(limits).arg(program);
    command.args(["--exact", "ordinary_user::a_recording_by_somebody_else", "--nocapture"]);
    // What it watches counts as watched by this test, not by one of its own.
    command.env(RECORDING, target.pid().to_string()).env_remove("CARGO_PKG_NAME");
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(target.is_alive());
    text
}

/// A copy of this program that everybody may run.
fn copy_for_everybody() -> (std::path::PathBuf, TempDir) {
    let folder = tempfile::tempdir_in("/tmp").expect("a temp folder");
    let program = folder.path().join("record");
    // Not copied by this process: another thread that forks meanwhile would hold it open for writing, and a file that is
    // open for writing cannot be run.
    let copied =
        Command::new("cp").arg(std::env::current_exe().expect("this program")).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "a copy of this program");
    for path in [folder.path(), &program] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("open to everybody");
    }
    (program, folder)
}

#[track_caller]
fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

/// Whether an ordinary user may sample and look at own processes here, and no more than that.
fn usual_rights() -> bool {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let paranoid = read("/proc/sys/kernel/perf_event_paranoid");
    let ptrace = read("/proc/sys/kernel/yama/ptrace_scope");
    let root = rustix::process::geteuid().is_root();
    let usual = root && paranoid == "2" && (ptrace.is_empty() || ptrace == "0");
    if !usual {
        eprintln!("skipped: needs root, kernel.perf_event_paranoid 2 and no kernel.yama.ptrace_scope");
    }
    usual
}

#[test]
fn an_ordinary_user_sees_where_threads_wait() {
    if usual_rights() {
        let text = recorded_by(61_201, &[]);
        assert_has(&text, &["off Some(TimesOnly), names None", "waits true", "complete true"]);
    }
}

#[test]
fn little_locked_memory_is_enough() {
    if usual_rights() {
        let text = recorded_by(61_202, &["prlimit", "--memlock=0"]);
        assert_has(&text, &["missing: a buffer of ", "waits true", "complete true"]);
    }
}
