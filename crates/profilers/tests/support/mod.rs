//! Runs of profilers on real programs.

use std::time::Duration;

use discovery::{DotnetProcess, Options, find};
use model::{ProcessId, Report};
use profilers::{Control, Run, Settings, Stop, by_id, run};
use testbed::Target;

/// A user who waits patiently.
pub struct Patient;

impl Control for Patient {
    fn wait(&self, time: Duration) -> Stop {
        std::thread::sleep(time);
        Stop::TimeOver
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

/// The target as the tool finds it.
pub fn process(target: &Target) -> DotnetProcess {
    find(ProcessId(target.pid()), &Options { timeout: Duration::from_secs(30) }).expect("the target is found")
}

/// One run of a profiler on a target.
pub fn look(profiler: &str, target: &Target, seconds: f64, settings: &[&str]) -> Report {
    let profiler = by_id(profiler).expect("the profiler");
    let settings = Settings::new(profiler.spec(), settings.iter().copied()).expect("the settings");
    let process = process(target);
    let duration = Duration::from_secs_f64(seconds);
    run(profiler, &Run { process: &process, settings: &settings, duration, control: &Patient })
        .expect("a report")
}

/// The ids of the findings.
pub fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}
