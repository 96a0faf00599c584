//! Runs that end before their time.

use model::WindowEnd;
use rustix::process::Signal;
use testbed::{Runtime, shared};

use crate::support::{User, check_golden};

#[test]
fn ctrl_c_and_sigterm_end_a_run_early_with_a_complete_report() {
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    for signal in [Signal::INT, Signal::TERM] {
        let user = User::new();
        let run = user.starts(&["run", "threads", "-p", &target.pid().to_string(), "-d", "10m", "--json"]);
        user.wait_running();
        run.signal(signal);
        let report = run.ends().report();
        assert_eq!(report.window.end, WindowEnd::Cancelled, "{signal:?}");
        assert!(report.window.measured_ns < report.window.requested_ns);
        assert_eq!(report.sections[0].id, "threads");
        let listed = user.listed();
        assert_eq!(listed[0]["status"], "cancelled", "{listed:#?}");
        assert_eq!(user.says(&["sessions", "show", "last", "--json"]).report(), report);
    }
}

#[test]
fn a_run_that_is_killed_leaves_an_abandoned_session_and_no_report() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let run = user.starts(&["run", "threads", "-p", &target.pid().to_string(), "-d", "10m"]);
    let id = user.wait_running()["id"].as_str().unwrap().to_owned();
    run.signal(Signal::KILL);
    let killed = run.ends();
    assert_eq!((killed.code, killed.stdout.as_str()), (None, ""));

    let listed = user.listed();
    assert_eq!((&listed[0]["status"], listed.len()), (&"abandoned".into(), 1), "{listed:#?}");
    assert!(!user.sessions().join(&id).join("report.json").exists());
    let shown = user.says(&["sessions", "show", &id]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(16), ""));
    check_golden("errors/no-report.txt", &shown.stderr.replace(&id, "ID"));
    assert_eq!(user.says(&["sessions", "rm", &id]).code, Some(0));
    assert!(user.listed().is_empty());
}

#[test]
fn a_target_that_ends_in_the_middle_still_gives_the_report_up_to_then() {
    let user = User::new();
    let target = shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let run = user.starts(&["run", "threads", "-p", &pid, "-d", "10m", "--json"]);
    user.wait_running();
    // It must have been seen twice; a target that is gone before there is anything to say is another story.
    run.wait_looks();
    target.kill().unwrap();
    let said = run.ends();
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    let report = model::Report::from_json(&said.stdout).unwrap();
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert_eq!(report.sections[0].id, "threads");
    let error = said.stderr.split_once("error: ").map(|(_, error)| format!("error: {error}")).unwrap();
    let measured = error.split_once("after ").and_then(|(_, rest)| rest.lines().next()).unwrap();
    let text = error.replace(&format!("process {pid} "), "process PID ").replace(measured, "N s");
    check_golden("errors/target-ended.txt", &text);
    assert_eq!(user.listed()[0]["status"], "done");
}
