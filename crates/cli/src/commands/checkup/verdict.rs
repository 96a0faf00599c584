//! What a report comes to: its exit code.

use model::{Report, Severity, WindowEnd};

use super::who;
use crate::exit_code::Code;
use crate::explain::Failure;

/// The exit code of a report.
pub(super) fn verdict(report: &Report) -> Result<(), Failure> {
    if is_ill(report) {
        return Err(Failure::said(Code::Findings));
    }
    if is_unasked(report) {
        let who = who(&report.target.name, report.target.pid);
        return Err(Failure::new(Code::SomeUnexamined, format!("the runtime of {who} could not be asked"))
            .why("nothing wrong was found from outside, but that does not make it healthy")
            .next("the report says what could not be looked at, and how to allow it"));
    }
    Ok(())
}

/// Whether something is wrong that somebody should do something about.
pub(super) fn is_ill(report: &Report) -> bool {
    report.findings.iter().any(|finding| finding.severity >= Severity::Warning)
}

/// Whether nothing wrong was found, by a whole examination that had to do without the runtime.
pub(super) fn is_unasked(report: &Report) -> bool {
    let is_whole = report.window.end == WindowEnd::Completed;
    is_whole && !is_ill(report) && !report.summary.starts_with(checkup::HEALTHY)
}

#[cfg(test)]
mod tests {
    use model::{Confidence, Finding};

    use super::super::changes::tests::report;
    use super::*;

    const UNASKED: &str = "Nothing wrong was found from outside, but the runtime could not be asked.";

    fn code(severity: Option<Severity>, summary: &str, end: WindowEnd) -> Option<Code> {
        let finding = severity.map(|severity| Finding::new("settings", severity, Confidence::High, "title"));
        let mut report = report(finding.into_iter().collect());
        report.summary = summary.to_owned();
        report.window.end = end;
        verdict(&report).err().map(|failure| failure.code)
    }

    #[test]
    fn only_who_could_be_asked_is_healthy() {
        let healthy = "Healthy as far as was seen: 1 thing could not be looked at.";
        assert_eq!(code(None, healthy, WindowEnd::Completed), None);
        assert_eq!(code(Some(Severity::Info), healthy, WindowEnd::Completed), None);
        assert_eq!(code(None, UNASKED, WindowEnd::Completed), Some(Code::SomeUnexamined));
        assert_eq!(code(Some(Severity::Info), UNASKED, WindowEnd::Completed), Some(Code::SomeUnexamined));
        assert_eq!(
            code(Some(Severity::Warning), "1 illness: title.", WindowEnd::Completed),
            Some(Code::Findings)
        );
    }

    #[test]
    fn an_end_before_the_time_is_no_failure_to_ask() {
        assert_eq!(code(None, UNASKED, WindowEnd::Cancelled), None);
        assert_eq!(code(None, "The process ended.", WindowEnd::TargetExited), None);
        assert_eq!(code(Some(Severity::Critical), "1 illness", WindowEnd::Cancelled), Some(Code::Findings));
    }
}
