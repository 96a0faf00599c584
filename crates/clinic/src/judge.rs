//! What the checkup said against what the patients have.

use facts::{Observation, Severity};
use testbed::{Kind, Patient};

use crate::row::Answer;

/// The part of a report that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Judged {
    pub found: Option<Answer>,
    pub culprit: Option<Answer>,
    pub false_findings: Vec<String>,
    /// Findings with their culprits, as they came.
    pub said: Vec<String>,
}

fn culprit(finding: &Observation) -> &str {
    finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str())
}

/// Holds the findings against what the patients' headers say. A finding of severity warning or above is false if nobody has that illness,
/// or if it blames somebody else although the one to blame was found, too.
pub(crate) fn judge(patients: &[&Patient], findings: &[Observation]) -> Judged {
    let expected: Vec<(&Patient, &str)> = patients
        .iter()
        .filter(|patient| patient.kind == Kind::Illness)
        .flat_map(|patient| patient.findings.iter().map(|id| (*patient, judgement::illness(id))))
        .collect();
    let ill: Vec<&Observation> =
        findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect();
    let is_right = |finding: &Observation, (patient, id): &(&Patient, &str)| {
        finding.id == *id && patient.culprits.contains(&culprit(finding))
    };
    let is_found = |(_, id): &(&Patient, &str)| ill.iter().any(|finding| finding.id == *id);
    let is_blamed = |one: &(&Patient, &str)| ill.iter().any(|finding| is_right(finding, one));
    let is_false = |finding: &&&Observation| {
        let mut same = expected.iter().filter(|(_, id)| finding.id == *id).peekable();
        let nobody = same.peek().is_none();
        nobody || same.all(|one| is_blamed(one) && !is_right(finding, one))
    };
    let words = |finding: &&Observation| format!("{} ({})", finding.id, culprit(finding));
    let answer = |yes: bool| (!expected.is_empty()).then_some(if yes { Answer::Yes } else { Answer::No });
    Judged {
        found: answer(expected.iter().all(is_found)),
        culprit: answer(expected.iter().all(is_blamed)),
        false_findings: ill.iter().filter(is_false).map(words).collect(),
        said: ill.iter().map(words).collect(),
    }
}

#[cfg(test)]
mod tests {
    use facts::{Confidence, Culprit, CulpritKind};

    use super::*;

    fn said(findings: &[(&str, &str)]) -> Vec<Observation> {
        let finding = |(id, culprit): &(&str, &str)| {
            Observation::new(*id, Severity::Warning, Confidence::High)
                .culprit(Culprit::new(CulpritKind::Method, *culprit))
        };
        findings.iter().map(finding).collect()
    }

    #[test]
    fn both_of_a_pair_must_be_found_with_their_culprits() {
        let pair = testbed::named("deadlock-ab-ba+handle-leak").unwrap();
        let both = [("memory-leak", "Scanning.JobContext"), ("deadlock", "Bank.Ledger.Transfer")];
        let judged = judge(&pair, &said(&both));
        assert_eq!((judged.found, judged.culprit), (Some(Answer::Yes), Some(Answer::Yes)));
        assert!(judged.false_findings.is_empty());

        let one = judge(&pair, &said(&both[..1]));
        assert_eq!(one.found, Some(Answer::No));

        let elsewhere = judge(&pair, &said(&[both[1], ("memory-leak", "Other.Type")]));
        assert_eq!((elsewhere.found, elsewhere.culprit), (Some(Answer::Yes), Some(Answer::No)));
        assert!(elsewhere.false_findings.is_empty(), "a wrong culprit counts once");
    }

    #[test]
    fn what_nobody_has_is_false() {
        let pair = testbed::named("deadlock-ab-ba").unwrap();
        let all = [("deadlock", "Bank.Ledger.Transfer"), ("deadlock", "Other.Run"), ("pinning", "nobody")];
        let judged = judge(&pair, &said(&all));
        assert_eq!(judged.culprit, Some(Answer::Yes));
        assert_eq!(judged.false_findings, ["deadlock (Other.Run)", "pinning (nobody)"]);
        let healthy = judge(&testbed::named("healthy-burst").unwrap(), &said(&[]));
        assert_eq!((healthy.found, healthy.false_findings.len()), (None, 0));
    }
}
