//! `regex-backtracking`: a regular expression tries combination after combination.
//!
//! For: most of the processor time in one method that spends it in the framework's regular expressions. Matching alone is
//! fast: about 10 ns a character, so a program that is not a search engine never is busy with it. Against: time spent in making
//! expressions rather than in matching.

use model::{Confidence, Finding};

use super::{Case, Verdict};

/// Where the framework's regular expressions live.
const REGEX: &str = "System.Text.RegularExpressions.";
/// What of them makes expressions.
const MAKING: &[&str] = &[
    "Regex..ctor",
    "Regex..cctor",
    "Regex.Init",
    "RegexParser.",
    "RegexWriter.",
    "RegexCompiler.",
    "RegexLWCGCompiler.",
    "RegexCache.",
];

/// Whether a hot method is hot because regular expressions match.
pub(super) fn is_regex(finding: &Finding) -> bool {
    let called = finding.evidence.iter().filter_map(|evidence| evidence.seen.strip_prefix(REGEX));
    called.into_iter().any(|method| !MAKING.iter().any(|making| method.starts_with(making)))
}

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    // Only the looks at processors say what a method calls, and one of them at most is taken.
    let hot = case.all_found("hot-method").map(|(_, finding)| finding).filter(is_regex);
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
