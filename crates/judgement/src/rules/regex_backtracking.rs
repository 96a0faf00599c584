//! `regex-backtracking`: a regular expression tries combination after combination.
//!
//! For: most of the processor time in one method that spends it in the framework's regular expressions. Matching alone is
//! fast: about 10 ns a character, so a program that is not a search engine never is busy with it. Against: time spent in making
//! expressions rather than in matching.

use facts::{Confidence, Observation, Sign};

use super::hot_method::mostly_called;
use crate::{Case, Verdict};

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
pub(super) fn is_regex(finding: &Observation) -> bool {
    let called = mostly_called(finding).and_then(|method| method.strip_prefix(REGEX));
    called.is_some_and(|method| !MAKING.iter().any(|making| method.starts_with(making)))
}

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let cost = case.cpu_share();
    // Only the looks at processors say what a method calls, and one of them at most is taken.
    let hot = case.all("hot-method", cost).filter(|verdict| is_regex(&verdict.finding));
    hot.map(|mut verdict| {
        let method = mostly_called(&verdict.finding).unwrap_or_default().to_owned();
        verdict.finding.id = "regex-backtracking".to_owned();
        verdict.finding.confidence = Confidence::Medium;
        verdict.with_sign(Sign::Backtracking { method })
    })
    .collect()
}
