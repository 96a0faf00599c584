//! What a report comes to: its exit code.

use model::{Outcome, Report};

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
    report.outcome == Some(Outcome::Ill)
}

/// Whether nothing wrong was found, by a whole examination that had to do without the runtime.
pub(super) fn is_unasked(report: &Report) -> bool {
    report.outcome == Some(Outcome::OutsideOnly)
}

#[cfg(test)]
mod tests {
    use super::super::changes::tests::report;
    use super::*;

    fn code(outcome: Outcome) -> Option<Code> {
        let report = Report { outcome: Some(outcome), ..report(Vec::new()) };
        verdict(&report).err().map(|failure| failure.code)
    }

    #[test]
    fn only_who_could_be_asked_is_healthy() {
        assert_eq!(code(Outcome::Healthy), None);
        assert_eq!(code(Outcome::HealthyAsFarAsSeen), None);
        assert_eq!(code(Outcome::OutsideOnly), Some(Code::SomeUnexamined));
        assert_eq!(code(Outcome::Ill), Some(Code::Findings));
    }

    #[test]
    fn an_end_before_the_time_is_no_failure_to_ask() {
        assert_eq!(code(Outcome::Unfinished), None);
    }
}
