//! `drdotnet stack`: what every thread does right now.

use model::WindowEnd;
use rustix::process::Signal;
use testbed::{Namespaces, Runtime, shared};

use crate::cpu_limits::Ordinary;
use crate::support::{User, check_golden, eventually, is_root, said};

#[test]
fn all_stacks_are_shown_in_every_form() {
    let user = User::new();
    let target = shared().target("zombie-threads", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let shown = user.says(&["stack", "-p", &pid]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.starts_with("Merged stacks · Patients · pid "), "{}", shown.stdout);
    assert!(shown.stdout.contains("Telemetry.Exporter.Upload (ZombieThreads.cs:"), "{}", shown.stdout);
    assert!(shown.stdout.contains("* waits for a signal (WaitHandle.WaitOne)"), "{}", shown.stdout);
    assert!(!shown.stdout.contains("All threads"), "{}", shown.stdout);
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);

    // As dotnet-stack is called.
    let respelled =
        user.says(&["stack", "report", "-p", &pid, "--threads", "--idle", "--framework", "--native"]);
    assert_eq!(respelled.code, Some(0), "{}", respelled.stderr);
    assert!(respelled.stdout.contains("All threads") && respelled.stdout.contains("flush-schedule"));
    let report = user.says(&["stack", &pid, "--json"]).report();
    assert!(report.sections.iter().any(|section| section.id == "tree"));
    assert!(report.cost.pauses.count > 0);
    let kept = user.says(&["sessions", "show", "last"]);
    assert!(kept.stdout.contains("Telemetry.Exporter.Upload"), "{}", kept.stdout);
    assert!(target.is_alive());
}

#[test]
fn a_leak_of_threads_is_found() {
    let user = User::new();
    let target = shared().target("zombie-threads", Runtime::Net8).start().unwrap();
    let pid = target.pid().to_string();
    let said = user.says(&["run", "zombie-threads", "-p", &pid, "-d", "4s"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("did nothing for"), "{}", said.stdout);
}

#[test]
fn ctrl_c_ends_the_wait_between_two_looks_and_the_agent_leaves() {
    let user = User::new();
    let target = shared().target("zombie-threads", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let run = user.starts(&["run", "zombie-threads", "-p", &pid, "-d", "10m", "--json"]);
    let has_agent = || threads_of(target.pid()).iter().any(|name| name == "drdotnet-agent");
    eventually("the agent to come", || has_agent().then_some(()));
    run.signal(Signal::INT);
    let said = run.ends();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.report().window.end, WindowEnd::Cancelled);
    assert!(!has_agent(), "{:?}", threads_of(target.pid()));
    assert!(target.is_alive());
}

fn threads_of(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("a living process");
    let name = |task: std::path::PathBuf| std::fs::read_to_string(task.join("comm")).unwrap_or_default();
    tasks.flatten().map(|task| name(task.path()).trim().to_owned()).collect()
}

#[test]
fn an_ordinary_user_sees_what_his_own_process_does() {
    let Some(user) = Ordinary::new(61_230) else { return };
    let (target, _folder) = user.starts("zombie-threads");
    let pid = target.pid().to_string();
    let shown = user.says(&[], &["stack", "-p", &pid, "--threads", "--native"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("Telemetry.Exporter.Upload (ZombieThreads.cs:"), "{}", shown.stdout);
    assert!(target.is_alive());
}

#[test]
fn threads_of_a_container_have_their_names_and_waits() {
    if !is_root() {
        return;
    }
    let user = User::new();
    let contained = shared()
        .target("zombie-threads", Runtime::Net31)
        .namespaces(Namespaces::PidAndMount { private_tmp: true })
        .start()
        .unwrap();
    let pid = contained.pid().to_string();
    let shown = user.says(&["stack", "-p", &pid, "--threads"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stdout.contains("* waits for a signal (WaitHandle.WaitOne), futex"), "{}", shown.stdout);
    assert!(shown.stdout.contains("export-* ("), "{}", shown.stdout);
    assert!(contained.is_alive());
}

#[test]
fn an_agent_that_cannot_come_says_what_to_do() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let mut command = user.command(&["stack", "-p", &pid]);
    let refused = said(command.env("DRDOTNET_AGENT_FOLDER", "/no/such/folder"));
    assert_eq!(refused.code, Some(43), "{}", refused.stderr);
    let text = without_progress(&refused.stderr);
    check_golden("errors/agent-no-folder.txt", &text);
    assert!(target.is_alive());

    let off = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .env("DOTNET_EnableDiagnostics_Profiler", "0")
        .start()
        .unwrap();
    let pid = off.pid().to_string();
    let refused = user.says(&["stack", "-p", &pid]);
    assert_eq!(refused.code, Some(17), "{}", refused.stderr);
    check_golden("errors/agent-switched-off.txt", &without_progress(&refused.stderr));
}

#[test]
fn a_number_that_is_none_is_a_bad_parameter() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net8).start().unwrap();
    let pid = target.pid().to_string();
    for top in ["0", "many", "10001"] {
        let refused = user.says(&["stack", "-p", &pid, "--top", top]);
        assert_eq!(refused.code, Some(11), "{top}: {}", refused.stderr);
    }
}

/// From the error on: before it stands which process is looked at.
fn without_progress(text: &str) -> String {
    text.find("error:").map_or(text, |begin| &text[begin..]).to_owned()
}
