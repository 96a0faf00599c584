//! `hot-method`: one method of the program uses most of the processor time.
//!
//! For: a process or thread that hardly rests, and a method with most of its time. Against: work that is spread over many
//! methods, as that of a program that computes is; a machine so crowded that whoever has anything to do never rests; time
//! that goes into sending: a server with much to answer.
//!
//! Who is to blame: the innermost method that does the work. If it is a helper which nobody but an async method of its own type
//! calls, that method is: it is what others await, and on the stack nobody is above it.

use model::{Confidence, Culprit, Finding, Frame, Severity};
use profilers::culprit_of;

use super::{Case, Verdict};
use crate::kin::{ASYNC, bare, stacks};
use crate::steps::Looks;

/// Of the time in which its threads could run, the part without a processor, in per cent, from which the machine is crowded.
const CROWDED: f64 = 50.0;
/// Of one processor, in per cent: what a process gets even on a crowded machine if it is really busy.
const LEAST_CROWDED: f64 = 40.0;
/// Of the time of a method, the part spent in sending, in per cent, from which it is busy because it has much to say.
const SENDING: f64 = 50.0;
/// Where the framework's connections live.
const CONNECTIONS: [&str; 2] = ["System.Net.Sockets.", "System.Net.Security."];
/// How its methods begin that send. Those that receive do not count: one that reads an ended connection over and over is ill.
const SENDS: [&str; 2] = ["Write", "Send"];
/// What the looks at processors say of the method that is called.
const MOSTLY_IN: &str = "It is mostly in";
/// Who awaits the async method, in the words of the look at async paths.
const AWAITED_BY: &str = "Awaited by";
/// How it begins if nobody awaits it.
const NOBODY: &str = "nobody ";

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let all = case.all_found("hot-method").map(|(_, finding)| finding);
    let mut hot: Vec<Finding> = Vec::new();
    for finding in all.filter(|found| !super::regex_backtracking::is_regex(found)) {
        match hot.iter_mut().find(|known| is_on_behalf(case, known, &finding)) {
            Some(known) => known.evidence.extend(on_behalf(&finding)),
            None => hot.push(finding),
        }
    }
    let crowded =
        case.signs.system.as_ref().is_some_and(|system| {
            system.starved_percent() >= CROWDED && system.cpu_percent() < LEAST_CROWDED
        });
    hot.into_iter()
        .map(|finding| {
            let sends = sends(case.looks, &finding);
            let mut finding = with_async_method(case, finding);
            if crowded {
                finding = doubted(finding, "the machine is crowded, so it may only be behind with its work");
            }
            if sends {
                finding =
                    doubted(finding, "most of it goes into sending, so it may only have much to answer");
            }
            Verdict { finding, cost: case.cpu_share() }
        })
        .collect()
}

fn doubted(mut finding: Finding, why: &str) -> Finding {
    if finding.severity == Severity::Info {
        return finding;
    }
    finding.severity = Severity::Info;
    finding.confidence = Confidence::Low;
    finding.evidence("Against it", why)
}

/// Whether a hot method is one that sends.
fn sends(looks: &Looks, hot: &Finding) -> bool {
    let is_sending = |method: &str| {
        let is_there = CONNECTIONS.iter().any(|prefix| method.starts_with(prefix));
        let word = method.rsplit('.').next().unwrap_or_default();
        is_there && SENDS.iter().any(|begin| word.starts_with(begin))
    };
    if hot.evidence.iter().any(|evidence| evidence.what == MOSTLY_IN && is_sending(&evidence.seen)) {
        return true;
    }
    let (mut all, mut sending) = (0, 0);
    for stack in looks.report("cpu").into_iter().flat_map(stacks) {
        let mut frames = stack.frames.iter().map(|frame| bare(&frame.name));
        let Some(at) = frames.position(|name| name == blamed(hot)) else { continue };
        all += stack.weight;
        if stack.frames.iter().take(at).any(|frame| is_sending(bare(&frame.name))) {
            sending += stack.weight;
        }
    }
    all > 0 && sending as f64 / all as f64 * 100.0 >= SENDING
}

fn blamed(finding: &Finding) -> &str {
    finding.culprit.as_ref().map_or("", |culprit| bare(&culprit.name))
}

/// The stacks of running threads that a method is on, from it outwards, with their weights.
pub(super) fn above<'a>(case: &'a Case<'_>, method: &str) -> Vec<(u64, &'a [Frame])> {
    let report = case.looks.report("cpu");
    let from = |frames: &'a [Frame]| frames.iter().position(|frame| bare(&frame.name) == method);
    let stacks = report.into_iter().flat_map(stacks);
    stacks.filter_map(|stack| Some((stack.weight, stack.frames.get(from(&stack.frames)?..)?))).collect()
}

/// Whether a hot async method is what a hot method works for, or that method itself.
fn is_on_behalf(case: &Case<'_>, hot: &Finding, found: &Finding) -> bool {
    let stacks = above(case, blamed(hot));
    blamed(hot) == blamed(found)
        || stacks.iter().any(|(_, frames)| frames.iter().any(|frame| bare(&frame.name) == blamed(found)))
}

/// What the look at async paths adds.
fn on_behalf(found: &Finding) -> impl Iterator<Item = model::Evidence> + '_ {
    let is_known =
        |evidence: &&model::Evidence| evidence.what == AWAITED_BY && !evidence.seen.starts_with(NOBODY);
    found.evidence.iter().filter(is_known).map(|evidence| model::Evidence {
        what: format!("{} is awaited by", blamed(found)),
        seen: evidence.seen.clone(),
    })
}

/// Blames the async method of which the hot one is a part.
fn with_async_method(case: &Case<'_>, mut finding: Finding) -> Finding {
    let Some(frame) = async_caller(case, blamed(&finding)) else { return finding };
    let name = bare(&frame.name).to_owned();
    finding.title = format!("{name} keeps processors busy: {}", finding.title);
    finding.culprit = Some(Culprit { name, ..culprit_of(frame) });
    finding
}

/// The async method of the same type that is the only one to call a method.
fn async_caller<'a>(case: &'a Case<'_>, method: &str) -> Option<&'a Frame> {
    let of_type = |name: &str| name.rsplit_once('.').map(|(class, _)| class.to_owned());
    let stacks = above(case, method);
    let heaviest = stacks.iter().max_by_key(|(weight, _)| *weight)?.1.get(1)?;
    let is_only =
        stacks.iter().all(|(_, frames)| frames.get(1).is_some_and(|caller| caller.name == heaviest.name));
    let is_part = heaviest.name.ends_with(ASYNC) && of_type(bare(&heaviest.name)) == of_type(method);
    (is_only && is_part).then_some(heaviest)
}

/// The async method that a hot method of the program works for, however far above it on the stack.
pub(crate) fn async_above(looks: &Looks) -> Option<String> {
    let report = looks.report("cpu")?;
    let hot = report.findings.iter().find(|finding| finding.id == "hot-method" && !sends(looks, finding))?;
    let frames = stacks(report).find_map(|stack| {
        let at = stack.frames.iter().position(|frame| bare(&frame.name) == blamed(hot))?;
        stack.frames.get(at..)
    })?;
    frames.iter().find(|frame| frame.name.ends_with(ASYNC)).map(|frame| bare(&frame.name).to_owned())
}
