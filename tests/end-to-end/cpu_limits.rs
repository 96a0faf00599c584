//! `drdotnet cpu` at the limits: slow and fast rates, small buffers, many threads.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;

use stored_profiles::Side;
use tempfile::TempDir;
use testbed::{Namespaces, Runtime, Target, shared};

use crate::cpu::{HOT, hot_method, kept, may_watch_all, session};
use crate::support::{BINARY, Said, User, copy_for_others, is_root, said, skip};

/// A copy of `drdotnet` that runs as an ordinary user, and a folder for its sessions.
pub struct Ordinary {
    pub id: u32,
    binary: PathBuf,
    sessions: TempDir,
    _binary_folder: TempDir,
}

impl Ordinary {
    /// None, with a printed reason, where users cannot be changed or may do more than usual. Locked memory is counted per
    /// user, so each test takes another one.
    pub fn new(id: u32) -> Option<Ordinary> {
        let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
        if !is_root() {
            return None;
        }
        if paranoid.trim() != "2" {
            skip(&format!("it needs kernel.perf_event_paranoid 2, which is {paranoid}"));
            return None;
        }
        let (folder, binary) = copy_for_others();
        let sessions = tempfile::tempdir().expect("a temporary folder");
        chown(sessions.path(), Some(id), Some(id)).expect("root may do that");
        std::fs::set_permissions(sessions.path(), Permissions::from_mode(0o700)).expect("root may do that");
        Some(Ordinary { id, binary, sessions, _binary_folder: folder })
    }

    /// A patient of this user, with a temp folder that only this user can enter.
    pub fn starts(&self, patient: &str) -> (Target, TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        chown(folder.path(), Some(self.id), Some(self.id)).expect("root may do that");
        let target = shared().target(patient, Runtime::Net9).user(self.id, self.id).tmpdir(folder.path());
        (target.start().expect("the patient starts"), folder)
    }

    /// `drdotnet` behind other words that limit it.
    pub fn command(&self, before: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={}", self.id), format!("--regid={}", self.id)]);
        command.args(["--clear-groups", "--"]).args(before).arg(&self.binary).args(arguments);
        command.env("DRDOTNET_SESSIONS", self.sessions.path().join("sessions"));
        command.env("TERM", "xterm").env_remove("NO_COLOR");
        command
    }

    /// What it says, with the path of the program as a word.
    pub fn says(&self, before: &[&str], arguments: &[&str]) -> Said {
        let mut said = said(&mut self.command(before, arguments));
        said.stderr = said.stderr.replace(self.binary.to_str().expect("a path"), "DRDOTNET");
        said
    }
}

#[test]
fn one_sample_a_second_and_ten_thousand() {
    if !may_watch_all() {
        return;
    }
    let target = hot_method();
    let pid = target.pid().to_string();
    for (rate, seconds) in [("1", "3"), ("10000", "1")] {
        let user = User::new();
        let run = user.says(&["cpu", "-p", &pid, "-d", seconds, "--rate", rate, "--json"]);
        let report = run.report();
        assert_eq!(report.profiler.parameters["rate"], rate);
        let recording = kept(&session(&user));
        let profile = recording.of_side(Side::OnCpu).next().unwrap();
        let total = profile.total();
        match rate {
            "1" => assert!(profile.samples.len() <= 20, "{}", profile.samples.len()),
            _ => assert!(total > 0 && report.summary.contains(HOT), "{}", report.summary),
        }
    }
    assert!(target.is_alive());
}

#[test]
fn a_rate_above_the_kernels_limit_is_lowered_and_said() {
    if !may_watch_all() {
        return;
    }
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let limit = user.folder().join("limit");
    std::fs::write(&limit, "200\n").unwrap();
    // The whole machine has one setting; in a mount namespace of its own the tool reads another.
    let script =
        "set -e; mount --bind \"$1\" /proc/sys/kernel/perf_event_max_sample_rate; shift; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&limit);
    command.args([BINARY, "cpu", "-d", "1", "--rate", "999", "--json", "-p", &target.pid().to_string()]);
    user.prepare(&mut command);
    let run = said(&mut command);
    let report = run.report();
    assert!(run.stderr.contains("sampled by: the kernel, 200 times a second"), "{}", run.stderr);
    for line in [
        "   missing: the rate of 999 Hz: it is 200 Hz\n",
        "   because: kernel.perf_event_max_sample_rate is 200\n",
        " to add it: sudo sysctl kernel.perf_event_max_sample_rate=999\n",
    ] {
        assert!(run.stderr.contains(line), "{}", run.stderr);
    }
    assert!(report.notes.iter().any(|note| note.contains("200 Hz")), "{:?}", report.notes);
    assert_eq!(kept(&session(&user)).rate_hz, Some(200));
}

#[test]
fn little_locked_memory_gives_a_smaller_buffer_which_is_said() {
    let Some(user) = Ordinary::new(61_201) else { return };
    let (target, _folder) = user.starts("hot-method");
    let limited = ["prlimit", "--memlock=0"];
    let pid = target.pid().to_string();
    let run = user.says(&limited, &["cpu", "-p", &pid, "-d", "2", "--rate", "999", "--json"]);
    assert!(run.report().summary.contains(HOT), "{}", run.stdout);
    assert!(run.stderr.contains("missing: a buffer of 4096 KB per CPU: it has "), "{}", run.stderr);
    assert!(run.stderr.contains("because: the limit of locked memory is 0 KB, beside "), "{}", run.stderr);
    assert!(run.stderr.contains("to add it: sudo prlimit --pid $$ --memlock="), "{}", run.stderr);
}

#[test]
fn a_thousand_threads_that_come_and_go() {
    if !may_watch_all() {
        return;
    }
    let builder = shared().target("zombie-threads", Runtime::Net9);
    let target = builder.arg("rate=1000").arg("cap=1000000").arg("ends=300").start().unwrap();
    let pid = target.pid().to_string();
    for arguments in [&["cpu", "--with-off-cpu"][..], &["off-cpu"]] {
        let user = User::new();
        let run = user.says(&[arguments, &["-p", &pid, "-d", "3", "--json"]].concat());
        let report = run.report();
        let recording = kept(&session(&user));
        let threads = recording.profiles.iter().map(|(_, profile)| profile.threads.len()).max().unwrap();
        assert!(threads > 100, "{threads} threads; {}", report.summary);
        assert!(target.is_alive(), "{}", target.stderr_text());
    }
}
