//! As an ordinary user, and under limits: a copy of this program samples and says what it saw.

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use model::ProcessId;
use perf_sampler::{Collect, Options, Part, PlacementWish, Sampler, Scope, preflight};
use process_view::Process;
use tempfile::TempDir;
use testbed::{Runtime, Target, shared};

use crate::{may_watch_all, ran_in_all, sample, start};

/// Tells a copy of this program whom to sample, and how.
const SAMPLING: &str = "DRDOTNET_TEST_SAMPLING";

/// Not a test of its own: samples and prints what was seen when a [`Lookout`] runs it.
#[test]
fn a_sampler_run_by_somebody_else() {
    let Ok(task) = std::env::var(SAMPLING) else { return };
    let mut words = task.split_whitespace();
    let process: ProcessId = words.next().unwrap().parse().unwrap();
    let mut options = Options { rate_hz: 999, ..Options::new(Scope::process(process)) };
    options.collect = match words.next() {
        Some("both") => Collect::Both,
        Some("off") => Collect::OffCpu,
        _ => Collect::OnCpu,
    };
    options.placement = match words.next() {
        Some("thread") => PlacementWish::PerThread,
        _ => PlacementWish::Best,
    };
    let mut out = String::new();
    match Sampler::start(&options) {
        Err(error) => {
            assert!(preflight(&options).is_err(), "the check beforehand says the same");
            let _ = writeln!(out, "error: {error}");
        }
        Ok(sampler) => {
            let granted = sampler.granted();
            let _ = writeln!(
                out,
                "on {:?} off {:?} kernel {:?}",
                granted.on_cpu, granted.off_cpu, granted.kernel
            );
            let _ = writeln!(out, "ring {}", granted.ring_bytes);
            for missing in &granted.missing {
                let _ = writeln!(out, "{missing}");
            }
            let left_out = granted.missing.iter().any(|missing| matches!(missing.part, Part::Threads { .. }));
            let before = ran_in_all(process);
            let (story, summary) = sample(sampler, |story| match options.collect {
                Collect::OnCpu => {
                    story.samples >= 100 && ran_in_all(process) - before > Duration::from_millis(100)
                }
                Collect::Places => story.samples >= 10,
                Collect::OffCpu | Collect::Both => left_out || story.waits.len() >= 50,
            });
            let sampled: Duration = story.sampled.values().sum();
            let _ =
                writeln!(out, "samples {} user-only {}", story.samples > 0, story.user_only == story.samples);
            let close = sampled * 2 > summary.cpu_time[&process] && sampled < summary.cpu_time[&process] * 2;
            let _ = writeln!(out, "as much as its clock says {close}");
            let stacks = story.leavings.len();
            let _ = writeln!(out, "waits {} with stacks {}", story.waits.len() >= 50, stacks > 0);
        }
    }
    std::io::stdout().lock().write_all(format!("\n{out}").as_bytes()).unwrap();
}

/// A copy of this test program that everybody may run.
struct Lookout {
    program: PathBuf,
    _folder: TempDir,
}

impl Lookout {
    fn new() -> Lookout {
        let folder = tempfile::tempdir_in("/tmp").expect("a temp folder");
        let program = folder.path().join("sample");
        // Not copied by this process: another thread that forks meanwhile would hold it open for writing, and a file
        // that is open for writing cannot be run.
        let copied =
            Command::new("cp").arg(std::env::current_exe().expect("this program")).arg(&program).status();
        assert!(copied.is_ok_and(|status| status.success()), "a copy of this program");
        for path in [folder.path(), &program] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("open to everybody");
        }
        Lookout { program, _folder: folder }
    }

    /// Runs the program behind other words, and gives what it printed.
    fn samples(&self, before: &[&str], target: ProcessId, how: &str) -> String {
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(&self.program);
        command.args(["--exact", "ordinary_user::a_sampler_run_by_somebody_else", "--nocapture"]);
        let output = command.env(SAMPLING, format!("{target} {how}")).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        text
    }
}

/// Words that make the rest of a command that of a user. Locked memory is counted per user, so that each test that
/// counts it is another one.
fn user(id: u32) -> [String; 5] {
    let [user, group] = [format!("--reuid={id}"), format!("--regid={id}")];
    ["setpriv".to_owned(), user, group, "--clear-groups".to_owned(), "--".to_owned()]
}

fn target_of(id: u32, patient: &str) -> (Target, TempDir) {
    let folder = tempfile::tempdir().expect("a temp folder");
    chown(folder.path(), Some(id), Some(id)).expect("its own folder");
    let target = shared().target(patient, Runtime::Net9).user(id, id).tmpdir(folder.path()).start();
    (target.expect("the patient starts"), folder)
}

#[track_caller]
fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line:?} in {text}");
    }
}

/// Whether an ordinary user may sample at all here, and no more than that.
fn usual_rights() -> bool {
    let value = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let usual = value.trim() == "2";
    if !usual {
        eprintln!("skipped: needs kernel.perf_event_paranoid 2, which is {value}");
    }
    usual && may_watch_all()
}

#[test]
fn an_ordinary_user_sees_user_code_of_own_processes() {
    if !usual_rights() {
        return;
    }
    const USER: u32 = 61_101;
    let (target, _folder) = target_of(USER, "hot-method");
    let user = user(USER);
    let text = Lookout::new().samples(&user.each_ref().map(String::as_str), ProcessId(target.pid()), "on");
    assert_has(
        &text,
        &[
            "on Some(PerThread) off None kernel Hidden",
            "samples true user-only true",
            "as much as its clock says true",
            "missing: time inside the kernel (system calls, page faults) and its frames; because \
             kernel.perf_event_paranoid is 2, and without CAP_PERFMON it must be 1 or less; to add it: run it as root",
            "sudo sysctl kernel.perf_event_paranoid=1",
            "sudo setcap cap_perfmon,cap_ipc_lock=ep '/tmp/",
        ],
    );
    assert!(target.is_alive());
}

#[test]
fn an_ordinary_user_sees_how_long_threads_wait() {
    if !usual_rights() {
        return;
    }
    const USER: u32 = 61_102;
    let (target, _folder) = target_of(USER, "web-two-routes");
    let user = user(USER);
    let lookout = Lookout::new();
    for (how, placement) in [("both", "on Some(PerThread)"), ("off", "on None")] {
        let text = lookout.samples(&user.each_ref().map(String::as_str), ProcessId(target.pid()), how);
        assert_has(&text, &[placement, "off Some(TimesOnly) kernel Hidden", "waits true with stacks false"]);
        assert_has(&text, &["missing: the stacks of waiting threads: only how long each waited is known"]);
    }
}

#[test]
fn another_users_process_is_refused_with_what_would_help() {
    if !usual_rights() {
        return;
    }
    let target = start("healthy-idle-service");
    let user = user(61_103);
    let text = Lookout::new().samples(&user.each_ref().map(String::as_str), ProcessId(target.pid()), "on");
    let refusal = format!(
        "error: the kernel does not let this process sample: process {0} is not this user's to look \
                           into; to change that: run it as the user of process {0}, or run it as root",
        target.pid()
    );
    assert_has(&text, &[&refusal]);
}

#[test]
fn little_locked_memory_gives_a_smaller_ring() {
    if !usual_rights() {
        return;
    }
    const USER: u32 = 61_104;
    let (target, _folder) = target_of(USER, "hot-method");
    let user = user(USER);
    let mut words: Vec<&str> = user.iter().map(String::as_str).collect();
    words.extend(["prlimit", "--memlock=0"]);
    let text = Lookout::new().samples(&words, ProcessId(target.pid()), "on");
    assert_has(
        &text,
        &["missing: a buffer of 4096 KB per CPU: it has ", "kernel.perf_event_mlock_kb", "samples true"],
    );
    assert!(!text.contains("ring 4194304"), "{text}");
}

#[test]
fn few_descriptors_leave_threads_out_and_say_so() {
    if !may_watch_all() {
        return;
    }
    let target = start("healthy-busy-web");
    let threads = Process::new(ProcessId(target.pid())).tasks().unwrap().len();
    assert!(threads > 10, "{threads} threads");
    let limited = ["prlimit", "--nofile=32:32"];
    let text = Lookout::new().samples(&limited, ProcessId(target.pid()), "both thread");
    assert_has(
        &text,
        &["no more than 32 files may be open", "--nofile=64", "of the threads that there were at the start"],
    );
    // The soft limit alone is no hindrance.
    let soft = ["prlimit", "--nofile=32:4096"];
    let text = Lookout::new().samples(&soft, ProcessId(target.pid()), "both thread");
    assert!(!text.contains("files may be open"), "{text}");
}

#[test]
fn the_capability_alone_is_enough() {
    if !usual_rights() {
        return;
    }
    let target = start("hot-method");
    let words = [
        "setpriv",
        "--reuid=61105",
        "--regid=61105",
        "--clear-groups",
        "--inh-caps=+perfmon",
        "--ambient-caps=+perfmon",
        "--",
    ];
    let text = Lookout::new().samples(&words, ProcessId(target.pid()), "on");
    assert_has(&text, &["on Some(PerCpu) off None kernel Seen", "samples true"]);
}
