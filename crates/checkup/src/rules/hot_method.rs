//! `hot-method`: one method of the program uses most of the processor time.
//!
//! For: a process or thread that hardly rests, and a method with most of its time. Against: work that is spread over many
//! methods, as that of a program that computes is; a machine so crowded that whoever has anything to do never rests.

use model::{Confidence, Severity};

use super::{Case, Verdict};

/// Of the time in which its threads could run, the part without a processor, in per cent, from which the machine is crowded.
const CROWDED: f64 = 50.0;
/// Of one processor, in per cent: what a process gets even on a crowded machine if it is really busy.
const LEAST_CROWDED: f64 = 40.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let hot =
        case.found("hot-method").into_iter().filter(|found| !super::regex_backtracking::is_regex(found));
    let crowded =
        case.signs.system.as_ref().is_some_and(|system| {
            system.starved_percent() >= CROWDED && system.cpu_percent() < LEAST_CROWDED
        });
    hot.map(|mut finding| {
        if crowded {
            finding.severity = Severity::Info;
            finding.confidence = Confidence::Low;
            finding = finding
                .evidence("Against it", "the machine is crowded, so it may only be behind with its work");
        }
        Verdict { finding, cost: case.cpu_share() }
    })
    .collect()
}
