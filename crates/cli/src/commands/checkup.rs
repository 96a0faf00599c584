//! `drdotnet checkup`

use std::path::Path;
use std::time::Duration;

use checkup::Leave;
use discovery::{DotnetProcess, Options, Reach, scan};
use model::{Finding, Report, Severity, Timestamp, WindowEnd};
use reports::printable;
use sessions::{MANIFEST_SCHEMA, Manifest, RunningSession};

use super::keeping;
use super::launching;
use crate::args::CheckupArgs;
use crate::control::{Interrupt, Second, UserControl};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::progress::Progress;
use crate::redaction;
use crate::screen::Screen;
use crate::selection::select;

/// Examines a process.
pub fn checkup(args: &CheckupArgs, screen: &Screen) -> Result<(), Failure> {
    keeping::check_folder(args.output.as_deref())?;
    let second = if args.target.command.is_empty() { Second::EndsAtOnce } else { Second::IsIgnored };
    let interrupt =
        Interrupt::listen(second).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let leave = Leave { long_pauses: args.allow_pause, deep: args.deep, redaction: redaction::chosen() };
    let examination = Examination { args, leave, interrupt: &interrupt, screen };
    if args.target.all {
        return examination.all();
    }
    if args.target.command.is_empty() && args.watch {
        return examination.watch(&select(&args.target.which())?);
    }
    if args.target.command.is_empty() {
        return examination.one(&select(&args.target.which())?);
    }
    let (program, process) = launching::start(&args.target.command, &interrupt)?;
    let (report, session) = examination.examine(&process)?;
    program.farewell();
    examination.deliver(&report, session)?;
    verdict(&report)
}

/// What was typed, and who is listening.
struct Examination<'a> {
    args: &'a CheckupArgs,
    leave: Leave,
    interrupt: &'a Interrupt,
    screen: &'a Screen,
}

impl Examination<'_> {
    fn one(&self, process: &DotnetProcess) -> Result<(), Failure> {
        let (report, session) = self.examine(process)?;
        self.deliver(&report, session)?;
        // Somebody's service was not to end.
        if report.window.end == WindowEnd::TargetExited {
            return Err(keeping::ended_in_the_middle(&report));
        }
        verdict(&report)
    }

    /// One after the other: side by side they would disturb each other's figures.
    fn all(&self) -> Result<(), Failure> {
        let mut processes = scan(&Options::default()).processes;
        processes.retain(|process| process.pid.0 != std::process::id());
        if processes.is_empty() {
            return Err(Failure::new(Code::NoSuchProcess, "no .NET process was found")
                .next("drdotnet ps   lists them; as root it may see more"));
        }
        let (mut reports, mut unexamined) = (Vec::new(), 0);
        for process in processes.into_iter().map(redaction::shown) {
            if self.interrupt.is_asked() {
                break;
            }
            if matches!(process.reach, Reach::Forbidden) {
                unexamined += 1;
                let name = printable(&process.name);
                output::to_stderr(&format!("{name} (pid {}) belongs to another user\n", process.pid));
                continue;
            }
            let (report, session) = self.examine(&process)?;
            if !self.args.json {
                let text = reports::terminal::render(&report, &self.screen.report_style());
                output::to_stdout(&format!("{text}\n"))?;
            }
            kept(session, &report, None)?;
            reports.push(report);
        }
        if self.args.json {
            output::to_stdout(&super::json(&reports)?)?;
        } else {
            output::to_stdout(&overview(&reports))?;
        }
        match reports.iter().find_map(|report| verdict(report).err()) {
            Some(ill) => Err(ill),
            None if unexamined > 0 => {
                let what = format!("{unexamined} processes could not be examined");
                Err(Failure::new(Code::SomeUnexamined, what)
                    .next("run as root to examine those of other users"))
            }
            None => Ok(()),
        }
    }

    /// Again and again, and what has changed since the time before.
    fn watch(&self, process: &DotnetProcess) -> Result<(), Failure> {
        let mut before: Option<Report> = None;
        loop {
            let (report, session) = self.examine(process)?;
            let text = match &before {
                None => reports::terminal::render(&report, &self.screen.report_style()),
                Some(before) => changes(before, &report),
            };
            output::to_stdout(&format!("{text}\n"))?;
            kept(session, &report, None)?;
            if report.window.end == WindowEnd::TargetExited {
                return Err(keeping::ended_in_the_middle(&report));
            }
            if self.interrupt.is_asked() {
                return verdict(&report);
            }
            before = Some(report);
        }
    }

    fn examine(&self, process: &DotnetProcess) -> Result<(Report, RunningSession), Failure> {
        // Before the target is looked at: a disk that cannot be written must not cost a measurement.
        let session = keeping::begin(self.args.output.as_deref(), &manifest(process, self.leave))?;
        let what = format!("checkup: examining {} (pid {})", printable(&process.name), process.pid);
        let progress = Progress::begin(self.screen, &what);
        let control = UserControl { interrupt: self.interrupt, progress: &progress, session: None };
        let report = checkup::examine(process, self.leave, &control);
        progress.end();
        Ok((report, session))
    }

    /// Shows the report, then keeps it: if it cannot be kept, it has at least been seen.
    fn deliver(&self, report: &Report, session: RunningSession) -> Result<(), Failure> {
        let text = if self.args.json {
            reports::json::render(report)
        } else {
            reports::terminal::render(report, &self.screen.report_style())
        };
        let shown = output::to_stdout(&text);
        let kept = kept(session, report, self.args.output.as_deref())?;
        shown.map_err(|failure| failure.also(&kept))?;
        output::to_stderr(&format!("\n{kept}\n"));
        Ok(())
    }
}

fn kept(session: RunningSession, report: &Report, chosen: Option<&Path>) -> Result<String, Failure> {
    let words = keeping::kept_words(session.folder(), chosen.is_some());
    session
        .finish(report)
        .map_err(|error| Failure::from(error).also("the report above is complete, but it is not kept"))?;
    Ok(words)
}

/// One line for each process.
fn overview(reports: &[Report]) -> String {
    let line = |report: &Report| {
        let name = printable(&report.target.name);
        format!("{} (pid {}): {}\n", name, report.target.pid, printable(&report.summary))
    };
    reports.iter().map(line).collect()
}

/// What came, what went, and what is still there.
fn changes(before: &Report, now: &Report) -> String {
    let same = |one: &Finding, other: &Finding| one.id == other.id && one.culprit == other.culprit;
    let missing = |from: &Report, finding: &Finding| !from.findings.iter().any(|other| same(finding, other));
    let mut lines =
        vec![format!("{}  {}", reports::value::format_time(now.window.started_at), printable(&now.summary))];
    for finding in &now.findings {
        let word = if missing(before, finding) { "new  " } else { "still" };
        lines.push(format!("  {word} {}: {}", finding.severity.word(), printable(&finding.title)));
    }
    for finding in before.findings.iter().filter(|finding| missing(now, finding)) {
        lines.push(format!("  gone  {}", printable(&finding.title)));
    }
    lines.join("\n")
}

/// The exit code of a report.
fn verdict(report: &Report) -> Result<(), Failure> {
    let is_ill = report.findings.iter().any(|finding| finding.severity >= Severity::Warning);
    if is_ill { Err(Failure::said(Code::Findings)) } else { Ok(()) }
}

fn manifest(process: &DotnetProcess, leave: Leave) -> Manifest {
    let window: Duration = if leave.deep { checkup::DEEP_WINDOW } else { checkup::WINDOW };
    Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: checkup::spec().0.to_owned(),
        parameters: checkup::parameters(leave),
        target: process.target(),
        started_at: Timestamp::now(),
        requested_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
    }
}
