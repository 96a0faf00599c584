//! `regex-backtracking`: a regular expression tries combination after combination.
//!
//! For: most of the processor time in one method that spends it in the framework's regular expressions. Matching alone is
//! fast: about 10 ns a character, so a program that is not a search engine never is busy with it. Against: time spent in making
//! expressions rather than in matching.

use model::{Confidence, Finding};

use super::{Case, Verdict};

/// Where the framework's regular expressions live.
const REGEX: &str = "System.Text.RegularExpressions.";

/// Whether a hot method is hot because of regular expressions.
pub(super) fn is_regex(finding: &Finding) -> bool {
    finding.evidence.iter().any(|evidence| evidence.seen.starts_with(REGEX))
}

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let hot = case.found("hot-method").into_iter().filter(is_regex);
    hot.map(|mut finding| {
        let name = finding.culprit.as_ref().map(|culprit| culprit.name.clone()).unwrap_or_default();
        finding.id = "regex-backtracking".to_owned();
        finding.title = format!("{name} is busy in a regular expression that backtracks");
        finding.confidence = Confidence::Medium;
        finding.advice = vec![
            "Look for nested repetition in its pattern, such as (a+)+ or (\\w|-)*, and make it unambiguous."
                .to_owned(),
            "Give it a timeout (matchTimeout), or RegexOptions.NonBacktracking (.NET 7).".to_owned(),
        ];
        Verdict { finding, cost: case.cpu_share() }
    })
    .collect()
}
