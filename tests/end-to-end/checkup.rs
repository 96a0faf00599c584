//! `drdotnet checkup`: it is kept, says what it could not see, and survives bad input. What it finds is in `clinic.rs`.

use std::time::{Duration, Instant};

use model::{Report, Severity, WindowEnd};
use testbed::{Namespaces, Runtime, Visitors, shared};

use crate::support::{Said, User, eventually, skip};

/// The report that was printed, whatever the exit code is.
pub fn report(said: &Said) -> Report {
    Report::from_json(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

pub fn examined(user: &User, pid: u32) -> (Option<i32>, Report) {
    let said = user.says(&["checkup", "--json", "-p", &pid.to_string()]);
    (said.code, report(&said))
}

pub fn ill(report: &Report) -> Vec<String> {
    let ill = report.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    ill.map(|finding| format!("{}: {}", finding.id, finding.title)).collect()
}

#[test]
fn a_checkup_is_kept_and_can_be_exported() {
    let target = shared().target("deadlock-ab-ba", Runtime::Net9).start().unwrap();
    let user = User::new();
    let said = user.says(&["checkup", "-p", &target.pid().to_string()]);
    assert_eq!(said.code, Some(48), "{said:?}");
    assert!(said.stdout.contains("Vital signs") && said.stdout.contains("Bank.Ledger.Transfer"), "{said:?}");
    assert!(said.stdout.contains("drdotnet run deadlocks -p"), "{said:?}");
    for (format, mark) in [("html", "<!DOCTYPE html>"), ("md", "Deadlock"), ("json", "\"checkup\"")] {
        let file = user.folder().join(format!("report.{format}"));
        let exported = user.says(&["sessions", "export", "last", "-o", file.to_str().unwrap()]);
        assert_eq!(exported.code, Some(0), "{exported:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.to_lowercase().contains(&mark.to_lowercase()), "{format}: {text}");
    }
}

#[test]
fn a_server_that_is_asked_as_much_as_it_can_answer_is_healthy() {
    let target = shared().target("healthy-busy-web", Runtime::Net9).start().unwrap();
    let port = target.value_of("port").unwrap().parse().unwrap();
    let visitors = Visitors::come(4, port, "/headlines");
    let (code, report) = examined(&User::new(), target.pid());
    assert!(visitors.leave().unwrap() > 0);
    assert_eq!((code, ill(&report)), (Some(0), Vec::new()), "{report:?}");
}

#[test]
fn a_program_without_pool_timers_and_sockets_is_not_asked_to_count() {
    for (patient, counts) in [("allocation-pressure", false), ("leak-timers", true)] {
        let target = shared().target(patient, Runtime::Net9).start().unwrap();
        let begin = Instant::now();
        // One that has just started is always asked.
        eventually("it is no longer new", || (begin.elapsed() >= Duration::from_secs(5)).then_some(()));
        let (_, report) = examined(&User::new(), target.pid());
        assert_eq!(counts_now(target.pid()), counts, "{patient}: {report:?}");
        if !counts {
            // Nor does a look at its memory make it count, which a crowded machine calls for.
            let pid = target.pid().to_string();
            let look = ["run", "heap-composition", "-p", &pid, "-d", "1s", "--set", "counters=no"];
            assert_eq!(User::new().says(&look).code, Some(0));
            assert!(!counts_now(target.pid()), "its memory was looked at");
        }
        // Nothing is missing for that.
        let signs = report.sections.iter().find(|section| section.id == "vital-signs");
        let signs = format!("{signs:?}");
        for sign in ["Pool queue", "Heap", "Allocation", "Time in GC", "Timers", "Methods compiled"] {
            assert!(signs.contains(sign), "{patient}: {sign}: {signs}");
        }
    }
}

/// Whether the runtime has a thread that reads counters: once somebody has asked for them, it has it for good.
fn counts_now(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it lives").flatten();
    let mut names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.any(|name| name.starts_with(".NET Counter") || name.starts_with("MetricsEventSou"))
}

#[test]
fn a_process_that_stands_still_has_that_as_its_finding() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    target.suspend().unwrap();
    let (code, report) = examined(&User::new(), target.pid());
    target.resume().unwrap();
    assert_eq!(code, Some(48));
    let finding = report.findings.first().unwrap();
    assert_eq!(
        (finding.id.as_str(), finding.severity),
        ("blocked-forever", Severity::Critical),
        "{report:?}"
    );
    assert!(finding.advice.iter().any(|advice| advice.contains("kill -CONT")), "{finding:?}");
}

#[test]
fn a_process_that_ends_in_the_middle_is_told_as_far_as_it_was_seen() {
    let target = shared().target("healthy-idle-service", Runtime::Net8).start().unwrap();
    let user = User::new();
    let running = user.starts(&["checkup", "--json", "-p", &target.pid().to_string()]);
    running.wait_looks();
    target.kill().unwrap();
    let said = running.ends();
    assert_eq!(said.code, Some(8), "{said:?}");
    let report = report(&said);
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert!(report.summary.contains("ended"), "{}", report.summary);
}

#[test]
fn what_cannot_be_looked_at_is_said_with_the_way_to_allow_it() {
    let target = shared()
        .target("healthy-idle-service", Runtime::Net9)
        .env("DOTNET_EnableDiagnostics", "0")
        .start()
        .unwrap();
    let (code, report) = examined(&User::new(), target.pid());
    assert_eq!((code, ill(&report)), (Some(50), Vec::new()));
    assert!(report.summary.contains("could not be asked"), "{}", report.summary);
    let unseen = report.sections.iter().find(|section| section.id == "unseen");
    assert!(unseen.is_some_and(|section| format!("{section:?}").contains("switched off")), "{report:?}");
}

#[test]
fn a_process_with_two_thousand_threads_is_examined() {
    let target =
        shared().target("zombie-threads", Runtime::Net9).arg("rate=400").arg("cap=2000").start().unwrap();
    let tasks = || std::fs::read_dir(format!("/proc/{}/task", target.pid())).unwrap().count();
    eventually("there are 2,000 threads", || (tasks() >= 2000).then_some(()));
    let user = User::new();
    let (_, report) = examined(&user, target.pid());
    let looks =
        report.sections.iter().find(|section| section.id == "looks").map(|looks| format!("{looks:?}"));
    let taken = |id: &str| looks.as_ref().is_some_and(|looks| looks.contains(id));
    assert!(taken("zombie-threads") && taken("deadlocks"), "{report:?}");
    assert_eq!(report.window.end, WindowEnd::Completed);
    assert!(target.is_alive());
}

#[test]
fn one_name_must_mean_one_process() {
    let _one = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let _other = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let said = User::new().says(&["checkup", "-n", "Patients"]);
    assert_eq!(said.code, Some(13), "{said:?}");
}

#[test]
fn a_container_without_a_common_temp_folder_is_examined() {
    if let Err(reason) = Namespaces::available() {
        skip(&reason.to_string());
        return;
    }
    let target = shared()
        .target("deadlock-ab-ba", Runtime::Net9)
        .namespaces(Namespaces::PidAndMount { private_tmp: true })
        .start()
        .unwrap();
    let (code, report) = examined(&User::new(), target.pid());
    assert_eq!(code, Some(48), "{report:?}");
    assert!(report.findings.iter().any(|finding| finding.id == "deadlock"), "{report:?}");
}

#[test]
fn a_program_can_be_started_for_it() {
    let line = shared().target("deadlock-ab-ba", Runtime::Net9).command().unwrap();
    let user = User::new();
    let mut command = user.command(&["checkup", "--json", "--"]);
    line.apply_environment(&mut command);
    let said = crate::support::said(command.args(line.words()));
    assert_eq!(said.code, Some(48), "{said:?}");
}
