//! `--all`: every .NET process of this machine, one after the other. What goes wrong with one does not end the others' examination.

use discovery::{DotnetProcess, FindError, Options, Reach, find, scan};
use model::{Outcome, Report, Severity, WindowEnd};
use reports::printable;

use super::verdict::{is_ill, is_unasked};
use super::{Examination, Visited, kept, minutes, who};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::redaction;

impl Examination<'_> {
    /// One after the other: side by side they would disturb each other's figures.
    pub(super) fn all(&self) -> Result<(), Failure> {
        let mut processes = scan(&Options::default()).processes;
        processes.retain(|process| process.pid.0 != std::process::id());
        if processes.is_empty() {
            return Err(Failure::new(Code::NoSuchProcess, "no .NET process was found")
                .next("drdotnet ps   lists them; as root it may see more"));
        }
        let most = checkup::expected(self.leave) * u32::try_from(processes.len()).unwrap_or(1);
        output::to_stderr(&format!(
            "checkup: {} .NET processes, one after the other; at most about {}\n",
            processes.len(),
            minutes(most)
        ));
        let (mut reports, mut unexamined) = (Vec::new(), 0);
        for process in processes {
            if self.interrupt.is_asked() {
                break;
            }
            match self.next(process) {
                // Without an output there is no use in examining the others.
                Ok(Some(visited)) => reports.push(self.hand_over(visited)?),
                Ok(None) => {}
                Err(why) => {
                    unexamined += 1;
                    output::to_stderr(&format!("not examined: {why}\n"));
                }
            }
        }
        if self.args.json {
            output::to_stdout(&crate::commands::json(&reports)?)?;
        } else {
            output::to_stdout(&overview(&reports))?;
        }
        if reports.iter().any(is_ill) {
            return Err(Failure::said(Code::Findings));
        }
        let unasked = reports.iter().filter(|report| is_unasked(report)).count();
        not_wholly(unexamined, unasked).map_or(Ok(()), Err)
    }

    /// The next of them: what came of it, nothing if it has ended, or why it was not examined.
    fn next(&self, listed: DotnetProcess) -> Result<Option<Visited>, String> {
        let who = who(&listed.name, listed.pid);
        if matches!(listed.reach, Reach::Forbidden) {
            return Err(format!("{who} belongs to another user"));
        }
        // The list is as old as the examinations before this one took.
        let process = match find(listed.pid, &Options::default()) {
            Ok(process) => redaction::shown(process),
            Err(FindError::NoSuchProcess { .. }) => {
                output::to_stderr(&format!("{who} has ended meanwhile\n"));
                return Ok(None);
            }
            Err(error) => return Err(format!("{who}: {error}")),
        };
        self.examine(&process).map(Some).map_err(|failure| format!("{who}: {}", failure.what()))
    }

    /// Shows one report, unless all are shown together, and keeps it. Whatever comes of that, the process is left as it was found.
    fn hand_over(&self, visited: Visited) -> Result<Report, Failure> {
        let Visited { report, session, stragglers, .. } = visited;
        let shown = if self.args.json {
            Ok(())
        } else {
            let text = reports::terminal::render(&report, &self.screen.report_style());
            output::to_stdout(&format!("{text}\n"))
        };
        if let Err(failure) = kept(session, &report, None) {
            let who = who(&report.target.name, report.target.pid);
            output::to_stderr(&format!("{who}: {}\n", failure.what()));
        }
        self.settle(&stragglers);
        shown.map(|()| report)
    }
}

/// The failure of those that could not be examined at all, or only from outside.
fn not_wholly(unexamined: usize, unasked: usize) -> Option<Failure> {
    let what = match unexamined + unasked {
        0 => return None,
        1 => "1 process could not be wholly examined".to_owned(),
        many => format!("{many} processes could not be wholly examined"),
    };
    let failure = Failure::new(Code::SomeUnexamined, what);
    let failure = match unexamined {
        0 => failure,
        _ => failure.next("run as root to examine those of other users"),
    };
    Some(failure.next("drdotnet checkup -p PID   says what is in the way"))
}

/// One line for each process, the worst first.
fn overview(reports: &[Report]) -> String {
    let worst = |report: &Report| report.findings.iter().map(|finding| finding.severity).max();
    let mut order: Vec<&Report> = reports.iter().collect();
    order.sort_by_key(|report| std::cmp::Reverse(worst(report)));
    let line = |report: &&Report| {
        let word = match worst(report).filter(|severity| *severity >= Severity::Warning) {
            _ if report.window.end == WindowEnd::TargetExited => "ended",
            Some(severity) => severity.word(),
            None if report.outcome.is_some_and(Outcome::is_healthy) => "healthy",
            None => "unclear",
        };
        let who = who(&report.target.name, report.target.pid);
        format!("{word:<9} {who}: {}\n", printable(&report.summary))
    };
    order.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_was_seen_from_outside_only_counts_as_not_examined() {
        assert!(not_wholly(0, 0).is_none());
        for (unexamined, unasked, what) in
            [(0, 1, "1 process could"), (1, 0, "1 process"), (1, 2, "3 processes")]
        {
            let failure = not_wholly(unexamined, unasked).unwrap();
            assert_eq!(failure.code, Code::SomeUnexamined);
            assert!(failure.what().starts_with(what), "{failure:?}");
        }
    }
}
