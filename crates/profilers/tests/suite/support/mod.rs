//! Runs of profilers on real programs.

use std::time::Duration;

use discovery::{DotnetProcess, Options, find};
use model::{Body, Cell, ProcessId, Report, WindowEnd};
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
    testbed::watching(duration);
    run(profiler, &Run::new(&process, &settings, duration, &Patient)).expect("a report")
}

/// Looks again and again until something is found.
pub fn look_until_found(
    profiler: &str,
    target: &Target,
    seconds: f64,
    settings: &[&str],
    finding: &str,
) -> Report {
    let report = look_until(profiler, target, seconds, settings, |report| ids(report).contains(&finding));
    assert!(target.is_alive(), "the target ended: {}", target.stderr_text());
    report
}

/// A patient is found ill, and its culprit named, on every runtime it runs on; one that fills a processor on two of them in each run.
pub fn finds_the_illness(profiler: &str, patient: &str, seconds: f64, settings: &[&str]) {
    const FILLS_A_PROCESSOR: [&str; 4] =
        ["long-gc-pauses", "async-hot-path", "lock-contention", "allocation-pressure"];
    let patient = testbed::patients().iter().find(|known| known.id == patient).expect("the patient");
    let runtimes = match FILLS_A_PROCESSOR.contains(&patient.id) {
        true => testbed::two_of(&patient.runtimes),
        false => patient.runtimes.to_vec(),
    };
    for runtime in runtimes {
        let target = testbed::shared().target(patient.id, runtime).start().expect("the patient starts");
        for finding in &patient.findings {
            let report = look_until_found(profiler, &target, seconds, settings, finding);
            let found = report.findings.iter().find(|found| found.id == *finding).expect("the finding");
            let culprit = found.culprit.as_ref().map(|culprit| culprit.name.as_str());
            assert!(culprit.is_some_and(|name| patient.culprits.contains(&name)), "{runtime}: {found:?}");
            assert!(report.cost.bytes > 0 && report.cost.events > 0, "{:?}", report.cost);
            assert_eq!(report.window.end, WindowEnd::Completed);
        }
    }
}

/// The rows of a table of a report.
pub fn rows<'a>(report: &'a Report, section: &str) -> &'a [Vec<Cell>] {
    let found = report.sections.iter().find(|known| known.id == section);
    match found.map(|section| &section.body) {
        Some(Body::Table(table)) => &table.rows,
        _ => panic!("no table {section}: {report:?}"),
    }
}

/// The ids of the findings.
pub fn ids(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.id.as_str()).collect()
}

/// Looks again until a report is as wanted: an illness is not yet ripe in every moment in which its program is ready.
pub fn look_until(
    profiler: &str,
    target: &Target,
    seconds: f64,
    settings: &[&str],
    wanted: impl Fn(&Report) -> bool,
) -> Report {
    /// Looks at most: what grows is seen by comparing two.
    const LOOKS: usize = 3;
    let mut report = look(profiler, target, seconds, settings);
    for _ in 1..LOOKS {
        if wanted(&report) {
            return report;
        }
        report = look(profiler, target, seconds, settings);
    }
    assert!(wanted(&report), "not as wanted: {}\n{:?}\n{:?}", report.summary, report.findings, report.notes);
    report
}

/// The number in a column of the row that begins with a text; none without such a row.
pub fn number(report: &Report, section: &str, row: &str, column: &str) -> Option<f64> {
    let section = report.sections.iter().find(|found| found.id == section)?;
    let Body::Table(table) = &section.body else { return None };
    let at = table.columns.iter().position(|found| found.id == column)?;
    let row = table.rows.iter().find(|found| found.first() == Some(&Cell::from(row)))?;
    match row.get(at)? {
        #[expect(clippy::cast_precision_loss, reason = "only to compare")]
        Cell::Number(number) => Some(*number as f64),
        Cell::Fraction(fraction) => Some(*fraction),
        _ => None,
    }
}
