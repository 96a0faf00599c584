//! `drdotnet checkup`

mod all;
mod changes;
mod settling;
mod verdict;
mod watch;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use checkup::{Examined, Leave, Stragglers};
use discovery::{DotnetProcess, Reach};
use judgement::{Case, KeptCase};
use model::{ProcessId, Report, Timestamp, WindowEnd, format_duration};
use reports::printable;
use sessions::{MANIFEST_SCHEMA, Manifest, RunningSession};

use self::verdict::verdict;
use super::keeping;
use super::launching;
use crate::args::CheckupArgs;
use crate::control::{Interrupt, Second, UserControl};
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::output::{self, Draft, Keeping};
use crate::progress::Progress;
use crate::redaction;
use crate::screen::Screen;
use crate::selection::select;

/// Examines a process.
pub fn checkup(args: &CheckupArgs, screen: &Screen) -> Result<(), Failure> {
    keeping::check_folder(args.output.as_deref())?;
    let between = watch::interval(args)?;
    let second = if args.target.command.is_empty() { Second::EndsAtOnce } else { Second::IsIgnored };
    let interrupt =
        Interrupt::listen(second).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let leave = Leave { long_pauses: args.allow_pause, deep: args.deep, redaction: redaction::chosen() };
    let examination = Examination { args, leave, interrupt: &interrupt, screen };
    if args.target.all {
        return examination.all();
    }
    if args.target.command.is_empty() {
        let process = select(&args.target.which())?;
        // What can be seen from outside is no checkup, and 0 would say that it is healthy.
        if let Some(failure) = unreachable(&process).filter(|_| process.reach == Reach::Forbidden) {
            return Err(failure);
        }
        return match args.watch {
            true => examination.watch(&process, between),
            false => examination.one(&process),
        };
    }
    let (program, process) = launching::start(&args.target.command, &interrupt)?;
    if args.watch {
        let outcome = examination.watch(&process, between);
        program.farewell();
        return outcome;
    }
    let visited = examination.examine(&process)?;
    program.farewell();
    verdict(&examination.deliver(visited)?)
}

/// What was typed, and who is listening.
struct Examination<'a> {
    args: &'a CheckupArgs,
    leave: Leave,
    interrupt: &'a Interrupt,
    screen: &'a Screen,
}

/// What came of one examination.
struct Visited {
    report: Report,
    /// All that it was judged by, and the file that it is wanted in.
    case: Box<Case>,
    case_file: Option<Draft>,
    session: RunningSession,
    stragglers: Stragglers,
}

impl Examination<'_> {
    fn one(&self, process: &DotnetProcess) -> Result<(), Failure> {
        let report = self.deliver(self.examine(process)?)?;
        // Somebody's service was not to end.
        if report.window.end == WindowEnd::TargetExited {
            return Err(keeping::ended_in_the_middle(&report));
        }
        verdict(&report)
    }

    fn examine(&self, process: &DotnetProcess) -> Result<Visited, Failure> {
        // Before the target is looked at: a disk that cannot be written must not cost a measurement.
        let case_file = self.args.keep_case.as_deref().map(Draft::beside).transpose();
        let case_file = case_file.map_err(|failure| failure.instead(ANOTHER_FILE))?;
        let session = keeping::begin(self.args.output.as_deref(), &manifest(process, self.leave))?;
        let mut what = format!("checkup: examining {}", who(&process.name, process.pid));
        if self.leave.deep {
            what += &format!(", everything: about {}", minutes(checkup::expected(self.leave)));
        }
        let progress = Progress::begin(self.screen, &what);
        let control = UserControl { interrupt: self.interrupt, progress: &progress };
        let Examined { report, case, stragglers } = checkup::examine(process, self.leave, &control);
        progress.end();
        let case = Box::new(case);
        Ok(Visited { report, case, case_file, session, stragglers })
    }

    /// Shows and keeps the report. Whatever comes of that, the process is left as it was found.
    fn deliver(&self, visited: Visited) -> Result<Report, Failure> {
        let Visited { report, case, case_file, session, stragglers } = visited;
        let delivered = self.show_and_keep(&report, session);
        self.settle(&stragglers);
        delivered?;
        if let (Some(path), Some(file)) = (&self.args.keep_case, case_file) {
            keep_case(path, file, &report, *case)?;
        }
        Ok(report)
    }

    /// Shows the report, then keeps it: if it cannot be kept, it has at least been seen.
    fn show_and_keep(&self, report: &Report, session: RunningSession) -> Result<(), Failure> {
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

/// What to do about a case that cannot be kept.
const ANOTHER_FILE: &str = "choose another place with --keep-case FILE";

/// Keeps what was seen, so that it can be judged again.
fn keep_case(path: &Path, mut file: Draft, report: &Report, case: Case) -> Result<(), Failure> {
    let kept = KeptCase::new(env!("CARGO_PKG_VERSION"), report.target.runtime_version.as_deref(), case);
    let bytes = kept.to_bytes().map_err(|error| {
        Failure::new(Code::Unexpected, error.to_string()).also("the report above is complete and kept")
    })?;
    let written = file.file().write_all(&bytes).map_err(|error| output::not_written(path, &error));
    let kept = written.and_then(|()| file.keep(path, Keeping::Safe));
    kept.map_err(|failure| failure.instead(ANOTHER_FILE).why("the report above is complete and kept"))?;
    output::to_stderr(&format!("what was seen is in {}\n", path.display()));
    Ok(())
}

/// A process, as it is spoken of.
fn who(name: &str, pid: ProcessId) -> String {
    match name {
        "" => format!("process {pid}"),
        name => format!("{} (pid {pid})", printable(name)),
    }
}

/// Whole minutes and seconds, as an estimate is.
fn minutes(time: Duration) -> String {
    format_duration(Duration::from_secs(time.as_secs()))
}

fn manifest(process: &DotnetProcess, leave: Leave) -> Manifest {
    let expected = checkup::expected(leave);
    Manifest {
        schema: MANIFEST_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: checkup::spec().0.to_owned(),
        parameters: checkup::parameters(leave),
        target: process.target(),
        started_at: Timestamp::now(),
        requested_ns: u64::try_from(expected.as_nanos()).unwrap_or(u64::MAX),
    }
}
