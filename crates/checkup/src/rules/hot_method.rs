//! `hot-method`: one method of the program uses most of the processor time.
//!
//! For: a process or thread that hardly rests, and a method with most of its time. Against: work that is spread over many
//! methods, as that of a program that computes is.

use super::{Case, Verdict};

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.found("hot-method").into_iter();
    found
        .filter(|finding| !super::regex_backtracking::is_regex(finding))
        .map(|finding| Verdict { finding, cost: case.cpu_share() })
        .collect()
}
