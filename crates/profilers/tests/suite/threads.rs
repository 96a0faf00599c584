//! `threads` on real programs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use discovery::{DotnetProcess, Options, find};
use model::{Body, Cell, ProcessId, Report, WindowEnd};
use profilers::{Control, Run, Settings, Stop, by_id, run};
use testbed::{Runtime, Target};

/// A user who waits patiently, except that something may happen at the third look.
#[derive(Default)]
struct Bystander<'a> {
    waits: AtomicU32,
    at_third: Option<&'a (dyn Fn() -> Stop + Sync)>,
}

impl Control for Bystander<'_> {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        match self.at_third {
            Some(act) if self.waits.fetch_add(1, Ordering::Relaxed) == 2 => act(),
            _ => Stop::TimeOver,
        }
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

fn process(target: &Target) -> DotnetProcess {
    find(ProcessId(target.pid()), &Options { timeout: Duration::from_secs(10) }).expect("the target is found")
}

fn look(target: &Target, seconds: f64) -> Report {
    look_beside(target, seconds, &Bystander::default())
}

fn look_beside(target: &Target, seconds: f64, control: &Bystander<'_>) -> Report {
    let profiler = by_id("threads").expect("the profiler");
    // A loaded test machine gives a busy thread only a share of a processor.
    let settings = Settings::new(profiler.spec(), ["busy=50"]).expect("a setting");
    let process = process(target);
    let duration = Duration::from_secs_f64(seconds);
    run(profiler, &Run::new(&process, &settings, duration, control)).expect("a report")
}

fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}

#[test]
fn a_hot_thread_is_named_on_every_runtime() {
    for runtime in Runtime::ALL {
        let target = testbed::shared().target("hot-method", runtime).start().unwrap();
        let report = look_until(&target, "busy-thread");
        let finding = report.findings.iter().find(|finding| finding.id == "busy-thread").unwrap();
        // 3.1 does not tell the kernel the names of its threads.
        if runtime != Runtime::Net31 {
            assert!(finding.culprit.as_ref().unwrap().name.starts_with("till "), "{finding:?}");
        }
        assert_eq!(report.cost.pauses.count, 0);
    }
}

/// A loaded test machine may take the processor away from a busy thread for a while; look again then.
fn look_until(target: &Target, finding: &str) -> Report {
    let mut report = look(target, 1.5);
    for _ in 0..10 {
        if ids(&report).contains(&finding) {
            return report;
        }
        report = look(target, 1.5);
    }
    panic!("{finding} was not found: {}", report.summary)
}

#[test]
fn threads_that_pile_up_are_noticed() {
    let target = testbed::shared().target("zombie-threads", Runtime::Net9).start().unwrap();
    let report = look(&target, 5.0);
    assert!(ids(&report).contains(&"thread-growth"), "{}: {:?}", report.summary, report.findings);
}

#[test]
fn healthy_programs_have_no_finding() {
    for (patient, runtime) in [
        ("healthy-idle-service", Runtime::Net31),
        ("healthy-idle-service", Runtime::Net8),
        ("healthy-idle-service", Runtime::Net9),
        ("healthy-parked-pool", Runtime::Net9),
    ] {
        let target = testbed::shared().target(patient, runtime).start().unwrap();
        let report = look(&target, 1.5);
        assert!(report.findings.is_empty(), "{patient} on {runtime}: {:?}", report.findings);
    }
}

/// On a target that other questions share.
pub fn a_strangers_program_is_described(target: &Target) {
    let report = look(target, 1.0);
    assert_eq!(report.target.name, "azmcp");
    assert_eq!(report.target.runtime_version.as_deref(), Some("10.0.9"));
    let Body::Table(table) = &report.sections[0].body else { panic!("a table") };
    assert!(table.rows.iter().any(|row| row[0] == Cell::from(".NET Finalizer")), "{table:?}");
}

#[test]
fn the_report_of_a_target_that_ends_covers_the_time_until_then() {
    let target = testbed::shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let end = || {
        target.kill().expect("the target is killed");
        target.wait_exit(Duration::from_secs(10)).expect("the target ends");
        Stop::TimeOver
    };
    let report = look_beside(&target, 60.0, &Bystander { at_third: Some(&end), ..Bystander::default() });
    assert_eq!(report.window.end, WindowEnd::TargetExited);
    assert!(!report.sections.is_empty() && report.window.measured_ns < 60_000_000_000);
}

#[test]
fn the_report_of_a_user_in_a_hurry_covers_the_time_until_then() {
    let target = testbed::shared().target("healthy-idle-service", Runtime::Net9).start().unwrap();
    let control = Bystander { at_third: Some(&|| Stop::Cancelled), ..Bystander::default() };
    let report = look_beside(&target, 60.0, &control);
    assert_eq!(report.window.end, WindowEnd::Cancelled);
    assert!(!report.sections.is_empty() && report.window.measured_ns < 60_000_000_000);
}
