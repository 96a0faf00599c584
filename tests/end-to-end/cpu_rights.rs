//! `drdotnet cpu` and `off-cpu` with few rights: what is taken instead, what is missing, what would add it.

use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use testbed::{Runtime, shared};

use crate::cpu::{HOT, hot_method, wait_for_work};
use crate::cpu_limits::Ordinary;
use crate::support::{BINARY, User, check_golden, said, skip};

/// Tells a copy of this program to refuse `perf_event_open` to what it runs, as container engines do.
pub const FILTERED: &str = "DRDOTNET_TEST_FILTERED";
/// `perf_event_open` on x64.
const PERF_EVENT_OPEN: i64 = 298;

/// Not a test of its own: becomes the command of [`filtered`].
#[test]
fn a_command_behind_a_filter() {
    let Ok(words) = std::env::var(FILTERED) else { return };
    let refused = SeccompAction::Errno(u32::try_from(rustix::io::Errno::PERM.raw_os_error()).unwrap());
    let rules = BTreeMap::from([(PERF_EVENT_OPEN, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, TargetArch::x86_64).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).expect("a filter");
    let mut words = words.split('\n');
    let error = Command::new(words.next().unwrap()).args(words).exec();
    panic!("{error}");
}

/// What makes this program one of its tests alone.
pub const BEHIND_FILTER: [&str; 3] = ["--exact", "cpu_rights::a_command_behind_a_filter", "--nocapture"];

/// `drdotnet` behind a filter of system calls.
pub fn filtered(user: &User, arguments: &[&str]) -> Command {
    let words = [&[BINARY], arguments].concat().join("\n");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    user.prepare(&mut command);
    command.args(BEHIND_FILTER).env(FILTERED, words);
    command
}

/// Standard output without what the test harness says before.
pub fn json(text: &str) -> &str {
    text.find('{').map_or(text, |begin| &text[begin..])
}

fn read_from_memory(pid: &str) -> String {
    format!("     names: of process {pid}: read from its memory, as far as that can be done;")
}

#[test]
fn an_ordinary_user_sees_user_code_and_is_told_what_would_add_the_rest() {
    let Some(user) = Ordinary::new(61_202) else { return };
    let (target, _folder) = user.starts("hot-method");
    let pid = target.pid().to_string();
    let run = user.says(&[], &["cpu", "-p", &pid, "-d", "2", "--json"]);
    assert!(run.report().summary.contains(HOT), "{}", run.stdout);
    let words = run.stderr.split("\n\nflame graph: ").next().unwrap().replace(&pid, "PID");
    check_golden("cpu/ordinary-user.txt", &format!("{words}\n"));
    assert!(target.is_alive());
}

#[test]
fn an_ordinary_user_sees_waits_by_looks_at_threads() {
    let Some(user) = Ordinary::new(61_203) else { return };
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    if !matches!(scope.trim(), "" | "0") {
        skip("it needs kernel.yama.ptrace_scope 0");
        return;
    }
    let (target, _folder) = user.starts("web-two-routes");
    let pid = target.pid().to_string();
    let run = user.says(&[], &["off-cpu", "-p", &pid, "-d", "3", "--json"]);
    assert_eq!(run.report().profiler.id, "off-cpu");
    let words = run.stderr.split("\n\nflame graph: ").next().unwrap().replace(&pid, "PID");
    check_golden("cpu/ordinary-user-waits.txt", &format!("{words}\n"));
    let both = user.says(&[], &["cpu", "--with-off-cpu", "-p", &pid, "-d", "1", "--json"]);
    assert_eq!(both.report().profiler.id, "cpu");
    assert!(both.stderr.contains("with a look at threads that wait; user code only"), "{}", both.stderr);
    assert!(target.is_alive());
}

#[test]
fn an_ordinary_user_who_asks_for_all_gets_their_own() {
    let Some(user) = Ordinary::new(61_204) else { return };
    let (target, _folder) = user.starts("hot-method");
    let other = hot_method();
    let run = user.says(&[], &["cpu", "--all", "-d", "2", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let overview: serde_json::Value = run.json();
    let rows = overview["processes"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{overview:#}");
    assert_eq!(rows[0]["pid"], target.pid());
    assert_eq!(rows[0]["hottest"], HOT);
    let left_out = format!("left out: {} Patients: it belongs to user root\n", other.pid());
    assert!(run.stderr.contains(&left_out), "{}", run.stderr);
}

#[test]
fn another_users_process_is_refused_by_both() {
    let Some(user) = Ordinary::new(61_205) else { return };
    let target = hot_method();
    let pid = target.pid().to_string();
    let run = user.says(&[], &["cpu", "-p", &pid, "-d", "1"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(5), ""), "{}", run.stderr);
    check_golden("errors/cpu-another-user.txt", &run.stderr.replace(&pid, "PID"));
}

#[test]
fn where_the_kernel_gives_nothing_the_runtime_is_asked() {
    let (user, target) = (User::new(), hot_method());
    let pid = target.pid().to_string();
    for (command, profiler) in [("cpu", "cpu-unprivileged"), ("off-cpu", "thread-time")] {
        let run = said(&mut filtered(&user, &[command, "-p", &pid, "-d", "2", "--json"]));
        let report =
            model::Report::from_json(json(&run.stdout)).unwrap_or_else(|error| panic!("{error}: {run:?}"));
        assert_eq!(report.profiler.id, profiler);
        assert!(report.notes[0].contains("a seccomp filter, as containers have"), "{:?}", report.notes);
        if command == "cpu" {
            assert!(report.summary.contains(HOT), "{}", report.summary);
            let words = run.stderr.split("\n\nkept as session ").next().unwrap().replace(&pid, "PID");
            check_golden("cpu/filtered.txt", &format!("{words}\n"));
        }
    }
    assert!(target.is_alive());
}

#[test]
fn where_neither_gives_anything_it_says_so() {
    let user = User::new();
    let builder = shared().target("hot-method", Runtime::Net9).env("DOTNET_EnableDiagnostics", "0");
    let target = builder.start().unwrap();
    let pid = target.pid().to_string();
    let run = said(&mut filtered(&user, &["cpu", "-p", &pid, "-d", "1"]));
    assert_eq!(run.code, Some(40), "{}", run.stderr);
    check_golden("errors/cpu-no-rights.txt", &run.stderr.replace(&pid, "PID"));
    assert!(user.listed().is_empty(), "nothing was begun");
}

#[test]
fn where_only_the_kernel_gives_something_names_are_read_from_memory_and_that_is_said() {
    if !crate::cpu::may_watch_all() {
        return;
    }
    let user = User::new();
    let builder = shared().target("hot-method", Runtime::Net9).env("DOTNET_EnableDiagnostics", "0");
    let target = builder.start().unwrap();
    let pid = target.pid().to_string();
    let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--json"]);
    assert!(run.report().summary.contains(HOT), "{}", run.stdout);
    assert!(run.stderr.contains(&read_from_memory(&pid)), "{}", run.stderr);
    assert!(
        run.stderr.contains("because: diagnostics are off (DOTNET_EnableDiagnostics=0)"),
        "{}",
        run.stderr
    );
    assert!(target.is_alive());
}

#[test]
fn a_runtime_that_does_not_answer_has_its_names_read_from_memory() {
    if !crate::cpu::may_watch_all() {
        return;
    }
    let (user, target) = (User::new(), hot_method());
    let pid = target.pid().to_string();
    let socket = user.says(&["info", "-p", &pid, "--json"]).json()["process"]["socket"].clone();
    // The runtime serves one caller at a time: whoever connects and says nothing keeps it from all others.
    let silent = UnixStream::connect(socket.as_str().unwrap()).unwrap();
    let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--json"]);
    assert!(run.report().summary.contains(HOT), "{}", run.stdout);
    assert!(run.stderr.contains(&read_from_memory(&pid)), "{}", run.stderr);
    assert!(run.stderr.contains("because: no answer; hangs, or serves another tool\n"), "{}", run.stderr);
    drop(silent);
    // One that begins to hang later has told its names before.
    let run = user.starts(&["cpu", "-p", &pid, "-d", "10m", "--rate", "499", "--json"]);
    user.wait_running();
    wait_for_work(target.pid());
    let silent = UnixStream::connect(socket.as_str().unwrap()).unwrap();
    wait_for_work(target.pid());
    run.signal(rustix::process::Signal::INT);
    let report = run.ends().report();
    assert!(report.summary.contains(HOT), "{}", report.summary);
    drop(silent);
    assert!(target.is_alive());
}
