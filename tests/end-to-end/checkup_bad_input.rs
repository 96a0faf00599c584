//! `drdotnet checkup` on processes in trouble of their own, and with few rights.

use model::{Report, Severity, WindowEnd};
use rustix::process::Signal;
use testbed::{Runtime, shared};

use crate::checkup::{examined, ill, report};
use crate::cpu::{HOT, hot_method};
use crate::cpu_limits::Ordinary;
use crate::cpu_rights::{filtered, json};
use crate::debugger::Debugger;
use crate::support::{BINARY, User, eventually, said};

/// What could not be looked at, as words.
fn unseen(report: &Report) -> String {
    let section = report.sections.iter().find(|section| section.id == "unseen");
    section.map(|section| format!("{section:?}")).unwrap_or_default()
}

/// Waits until the agent is in the process, which is while the closer looks are taken and never before.
fn wait_for_agent(pid: u32) {
    let name =
        |task: &std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    eventually("the closer looks have begun", || {
        let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
        tasks.any(|task| name(&task).starts_with("drdotnet")).then_some(())
    });
}

#[test]
fn a_process_that_ends_during_the_closer_looks_is_told_as_far_as_it_was_seen() {
    let target = shared().target("exception-storm", Runtime::Net9).start().unwrap();
    let pid = target.pid();
    let running = User::new().starts(&["checkup", "--json", "-p", &pid.to_string()]);
    wait_for_agent(pid);
    target.kill().unwrap();
    let said = running.ends();
    assert_eq!(said.code, Some(8), "{said:?}");
    let report = report(&said);
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert!(report.sections.iter().any(|section| section.id == "vital-signs"), "{report:?}");
}

#[test]
fn an_ordinary_user_examines_a_process_of_theirs() {
    let Some(user) = Ordinary::new(61_211) else { return };
    let (target, _folder) = user.starts("deadlock-ab-ba");
    let said = user.says(&[], &["checkup", "--json", "-p", &target.pid().to_string()]);
    assert_eq!(said.code, Some(48), "{said:?}");
    let report = report(&said);
    assert!(report.findings.iter().any(|finding| finding.id == "deadlock"), "{report:?}");
    assert!(target.is_alive());
}

#[test]
fn where_the_kernel_gives_nothing_the_rest_is_examined_and_that_is_said() {
    let (user, target) = (User::new(), hot_method());
    // No perf_event_open, as container engines have it by default.
    let said = said(&mut filtered(&user, &["checkup", "--json", "-p", &target.pid().to_string()]));
    let report = Report::from_json(json(&said.stdout)).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    assert_eq!(report.window.end, WindowEnd::Completed);
    let found = report.findings.iter().find(|finding| finding.id == "hot-method");
    let culprit = found.and_then(|finding| finding.culprit.as_ref()).map(|culprit| culprit.name.as_str());
    assert_eq!(culprit, Some(HOT), "{report:?}");
    let looks = report.sections.iter().find(|section| section.id == "looks");
    assert!(format!("{looks:?}").contains("the kernel takes no samples"), "{report:?}");
    assert!(target.is_alive());
}

#[test]
fn another_users_process_is_refused_with_the_way_to_examine_it() {
    let Some(user) = Ordinary::new(61_213) else { return };
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let said = user.says(&[], &["checkup", "-p", &target.pid().to_string()]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(5), ""), "{said:?}");
    assert!(said.stderr.contains("belongs to user root"), "{said:?}");
    assert!(said.stderr.contains("run this as root"), "{said:?}");
}

/// The first processor that this process may run on.
fn first_allowed_processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.and_then(|list| list.trim().split(['-', ',']).next());
    first.expect("it runs on some processor").to_owned()
}

#[test]
fn one_core_for_both_and_a_busy_loop_still_end_with_the_hot_method() {
    let processor = first_allowed_processor();
    let target =
        shared().target("hot-method", Runtime::Net9).behind(["taskset", "-c", &processor]).start().unwrap();
    let user = User::new();
    let mut command = std::process::Command::new("taskset");
    user.prepare(&mut command);
    let pid = target.pid().to_string();
    let said = said(command.args(["-c", &processor, BINARY, "checkup", "--json", "-p", &pid]));
    let report = report(&said);
    assert_eq!(report.window.end, WindowEnd::Completed, "{report:?}");
    let found = report.findings.iter().find(|finding| finding.id == "hot-method");
    let culprit = found.and_then(|finding| finding.culprit.as_ref()).map(|culprit| culprit.name.as_str());
    assert_eq!(culprit, Some(HOT), "{report:?}");
    assert!(target.is_alive());
}

#[test]
fn a_process_that_a_debugger_holds_has_that_as_its_finding() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let debugger = Debugger::holds(target.pid(), |_| true);
    let (code, report) = examined(&User::new(), target.pid());
    debugger.leaves();
    assert_eq!(code, Some(48));
    let finding = report.findings.first().unwrap();
    assert_eq!((finding.id.as_str(), finding.severity), ("left-on", Severity::Critical), "{report:?}");
    assert!(finding.title.contains(&std::process::id().to_string()), "{finding:?}");
    assert!(finding.advice.iter().any(|advice| advice.contains("detach")), "{finding:?}");
    eventually("it goes on", || {
        let (code, _) = examined(&User::new(), target.pid());
        (code == Some(0)).then_some(())
    });
}

#[test]
fn a_runtime_that_accepts_but_never_answers_is_examined_from_outside() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    // The thread that serves tools is held, all others run.
    let debugger = Debugger::holds(target.pid(), |name| name == ".NET EventPipe");
    let (code, report) = examined(&User::new(), target.pid());
    debugger.leaves();
    assert_eq!((code, ill(&report)), (Some(50), Vec::new()), "{report:?}");
    assert!(report.summary.contains("could not be asked"), "{}", report.summary);
    assert!(unseen(&report).contains("nobody answers"), "{report:?}");
    assert!(report.sections.iter().any(|section| section.id == "vital-signs"), "{report:?}");
}

#[test]
fn a_process_that_is_stopped_during_the_closer_looks_does_not_hold_the_checkup() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid();
    let running = User::new().starts(&["checkup", "--json", "-p", &pid.to_string()]);
    wait_for_agent(pid);
    target.suspend().unwrap();
    let said = running.ends();
    target.resume().unwrap();
    let report = report(&said);
    assert!(report.sections.iter().any(|section| section.id == "vital-signs"), "{report:?}");
    assert!(target.is_alive());
}

#[test]
fn one_name_of_several_processes_is_answered_with_their_ids() {
    let one = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let other = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let said = User::new().says(&["checkup", "-n", "Patients"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(13), ""), "{said:?}");
    for pid in [one.pid(), other.pid()] {
        let listed = said.stderr.contains(&pid.to_string()) || said.stderr.contains("more: drdotnet ps");
        assert!(listed, "{pid}: {said:?}");
    }
}

#[test]
fn a_case_that_could_not_be_kept_is_refused_before_anything_is_measured() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let user = User::new();
    let says = |path: &str| user.says(&["checkup", "-p", &target.pid().to_string(), "--keep-case", path]);
    let said = says("/no/such/folder/a.case");
    assert_eq!((said.code, said.stdout.as_str()), (Some(9), ""), "{said:?}");
    let said = says("/dev/null");
    assert_eq!((said.code, said.stdout.as_str()), (Some(9), ""), "{said:?}");
    assert!(said.stderr.contains("is no file"), "{said:?}");
}

#[test]
fn a_checkup_that_is_interrupted_says_what_it_has_seen() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let running = User::new().starts(&["checkup", "--json", "-p", &target.pid().to_string()]);
    running.wait_looks();
    running.signal(Signal::INT);
    let said = running.ends();
    let report = report(&said);
    assert_eq!(report.window.end, WindowEnd::Cancelled, "{said:?}");
    assert!(target.is_alive());
}
