//! `--watch`: again and again, and what has changed since the time before.

use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use model::{Report, WindowEnd, parse_duration};
use profilers::{Control, Stop};

use super::verdict::verdict;
use super::{Examination, Visited, changes, kept};
use crate::args::CheckupArgs;
use crate::commands::keeping;
use crate::control::UserControl;
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::progress::Progress;

/// How long from one start to the next.
pub(super) fn interval(args: &CheckupArgs) -> Result<Duration, Failure> {
    Ok(parse_duration(&args.interval)?)
}

impl Examination<'_> {
    /// Again and again. When the user ends it, the verdict is that of the last examination that came to its end.
    pub(super) fn watch(&self, process: &DotnetProcess, between: Duration) -> Result<(), Failure> {
        let mut before: Option<Report> = None;
        loop {
            let begin = Instant::now();
            let Visited { report, session, stragglers, .. } = self.examine(process)?;
            if let Some(before) = before.as_ref().filter(|_| report.window.end == WindowEnd::Cancelled) {
                // Half an examination would tell of illnesses as gone that it did not look for: it is kept, and not shown.
                let finished = session.finish(&report);
                self.settle(&stragglers);
                finished?;
                return verdict(before);
            }
            let shown = self.show(before.as_ref(), &report);
            let kept = kept(session, &report, None);
            self.settle(&stragglers);
            shown.and(kept)?;
            if report.window.end == WindowEnd::TargetExited {
                return Err(keeping::ended_in_the_middle(&report));
            }
            if self.rest(begin, between) == Stop::Cancelled {
                return verdict(&report);
            }
            before = Some(report);
        }
    }

    fn show(&self, before: Option<&Report>, report: &Report) -> Result<(), Failure> {
        if self.args.json {
            // One document a line, for whoever reads as it comes.
            let line = serde_json::to_string(report)
                .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
            return output::to_stdout(&format!("{}\n", reports::json::harmless(line)));
        }
        let text = match before {
            None => reports::terminal::render(report, &self.screen.report_style()),
            Some(before) => changes::told(before, report),
        };
        output::to_stdout(&format!("{text}\n"))
    }

    fn rest(&self, begin: Instant, between: Duration) -> Stop {
        let left = between.saturating_sub(begin.elapsed());
        let progress = Progress::silent();
        let control = UserControl { interrupt: self.interrupt, progress: &progress };
        control.wait(left)
    }
}
