//! `drdotnet cpu` and `off-cpu` with few rights: what is taken instead, what is missing, what would add it.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use testbed::{Runtime, shared};

use crate::cpu::{HOT, hot_method};
use crate::cpu_limits::Ordinary;
use crate::support::{BINARY, User, check_golden, said};

/// Tells a copy of this program to refuse `perf_event_open` to what it runs, as container engines do.
const FILTERED: &str = "DRDOTNET_TEST_FILTERED";
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

/// `drdotnet` behind a filter of system calls.
fn filtered(user: &User, arguments: &[&str]) -> Command {
    let words = [&[BINARY], arguments].concat().join("\n");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    user.prepare(&mut command);
    command.args(["--exact", "cpu_rights::a_command_behind_a_filter", "--nocapture"]).env(FILTERED, words);
    command
}

/// Standard output without what the test harness says before.
fn json(text: &str) -> &str {
    text.find('{').map_or(text, |begin| &text[begin..])
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
fn an_ordinary_user_sees_waits_by_the_runtimes_samples() {
    let Some(user) = Ordinary::new(61_203) else { return };
    let (target, _folder) = user.starts("web-two-routes");
    let pid = target.pid().to_string();
    let run = user.says(&[], &["off-cpu", "-p", &pid, "-d", "3", "--json"]);
    let report = run.report();
    assert_eq!(report.profiler.id, "thread-time");
    assert!(report.notes[0].starts_with("The samples are the runtime's"), "{:?}", report.notes);
    let words = run.stderr.split("\n\nkept as session ").next().unwrap().replace(&pid, "PID");
    check_golden("cpu/ordinary-user-waits.txt", &format!("{words}\n"));
    // Beside time on the CPU, how long threads wait is better than nothing.
    let both = user.says(&[], &["cpu", "--with-off-cpu", "-p", &pid, "-d", "1", "--json"]);
    assert_eq!(both.report().profiler.id, "cpu");
    assert!(both.stderr.contains("with the length of every wait; user code only"), "{}", both.stderr);
    assert!(both.stderr.contains("the stacks of waiting threads"), "{}", both.stderr);
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
fn where_only_the_kernel_gives_something_methods_have_no_names_and_that_is_said() {
    if !crate::cpu::may_watch_all() {
        return;
    }
    let user = User::new();
    let builder = shared().target("hot-method", Runtime::Net9).env("DOTNET_EnableDiagnostics", "0");
    let target = builder.start().unwrap();
    let pid = target.pid().to_string();
    let run = user.says(&["cpu", "-p", &pid, "-d", "1", "--json"]);
    run.report();
    let missing = format!("missing: names of methods of process {pid}\n");
    assert!(run.stderr.contains(&missing), "{}", run.stderr);
    assert!(
        run.stderr.contains("because: diagnostics are off (DOTNET_EnableDiagnostics=0)"),
        "{}",
        run.stderr
    );
    assert!(target.is_alive());
}
