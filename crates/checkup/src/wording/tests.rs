//! What the rules put together, in words.

use facts::{Confidence, Culprit, CulpritKind, DescriptorKind, Descriptors, Severity, Sign};
use judgement::signs::Frozen;
use judgement::{Case, Signs, judge};
use model::ProcessId;

use super::*;

fn findings(signs: Signs) -> Vec<Finding> {
    let wording = Wording { reports: &[], pid: ProcessId(7) };
    judge(&Case { signs, ..Case::default() }).iter().map(|verdict| wording.finding(verdict)).collect()
}

#[test]
fn a_stopped_process_is_told_how_to_go_on() {
    let found = findings(Signs { frozen: Some(Frozen::Stopped), ..Signs::default() });
    assert_eq!(found[0].title, "The process stands still: it was stopped by a signal (SIGSTOP or SIGTSTP)");
    assert_eq!(found[0].advice[0], "kill -CONT 7   lets it go on.");
    assert_eq!(found[0].command.as_deref(), Some("drdotnet run deadlocks -p 7"));
    assert!(matches!(&found[0].facts[..], [Fact::Sign(Sign::Stopped)]));
}

#[test]
fn descriptors_are_called_by_their_kind() {
    let said = |kind| {
        let sign = Sign::Descriptors {
            open: Descriptors { total: 60, ..Descriptors::default() },
            near_limit: None,
            leaks: true,
            kind,
            growth: 40,
            seconds: 4.0,
            half_closed: 0,
            close_wait: 0,
            time_wait: None,
        };
        let finding = facts::Observation::new("descriptor-leak", Severity::Warning, Confidence::High)
            .culprit(Culprit::new(CulpritKind::Method, "Acme.Rates.Ask"))
            .fact(Fact::Sign(sign));
        let verdict =
            Verdict { finding, cost: 1.0, ground: Ground::Signs, symptoms: Vec::new(), causes: Vec::new() };
        Wording { reports: &[], pid: ProcessId(7) }.finding(&verdict).title
    };
    assert_eq!(
        said(DescriptorKind::Sockets),
        "Open sockets become more and more: 60 now, opened in Acme.Rates.Ask"
    );
    assert_eq!(
        said(DescriptorKind::Others),
        "Open descriptors become more and more: 60 now, opened in Acme.Rates.Ask"
    );
}
