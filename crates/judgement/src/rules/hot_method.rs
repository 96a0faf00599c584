//! `hot-method`: one method of the program uses most of the processor time.
//!
//! For: a process or thread that hardly rests, and a method with most of its time. Against: work that is spread over many
//! methods, as that of a program that computes is; a machine so crowded that whoever has anything to do never rests; time
//! that goes into sending: a server with much to answer.
//!
//! Who is to blame: the innermost method that does the work. If it is a helper which nobody but an async method of its own type
//! calls, that method is: it is what others await, and on the stack nobody is above it.

use facts::{Culprit, Doubt, Fact, Frame, Observation, Severity, is_async, method_name};

use super::regex_backtracking::is_regex;
use crate::case::running;
use crate::relations::blamed;
use crate::{Case, Look, Verdict};

/// Of the time in which its threads could run, the part without a processor, in per cent, from which the machine is crowded.
const CROWDED: f64 = 50.0;
/// Of one processor, in per cent: what a process gets even on a crowded machine if it is really busy.
const MIN_CROWDED: f64 = 40.0;
/// Of the time of a method, the part spent in sending, in per cent, from which it is busy because it has much to say.
const SENDING: f64 = 50.0;
/// Where the framework's connections live.
const CONNECTIONS: [&str; 2] = ["System.Net.Sockets.", "System.Net.Security."];
/// How its methods begin that send. Those that receive do not count: one that reads an ended connection over and over is ill.
const SENDS: [&str; 2] = ["Write", "Send"];

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let mut hot: Vec<Verdict> = Vec::new();
    for verdict in case.all("hot-method", case.cpu_share()).filter(|found| !is_regex(&found.finding)) {
        match hot.iter_mut().find(|known| is_on_behalf(case, &known.finding, &verdict.finding)) {
            Some(known) => known.finding.facts.extend(on_behalf(&verdict.finding)),
            None => hot.push(verdict),
        }
    }
    let crowded = case
        .signs
        .system
        .as_ref()
        .is_some_and(|system| system.starved_percent() >= CROWDED && system.cpu_percent() < MIN_CROWDED);
    hot.into_iter()
        .map(|verdict| {
            let sends = sends(&case.looks, &verdict.finding);
            let verdict = with_async_method(case, verdict);
            match verdict.finding.severity {
                Severity::Info => verdict,
                _ if crowded => verdict.doubted(Doubt::Crowded),
                _ if sends => verdict.doubted(Doubt::Sends),
                _ => verdict,
            }
        })
        .collect()
}

/// Whether a hot method is one that sends.
fn sends(looks: &[Look], hot: &Observation) -> bool {
    let is_sending = |method: &str| {
        let is_there = CONNECTIONS.iter().any(|prefix| method.starts_with(prefix));
        let word = method.rsplit('.').next().unwrap_or_default();
        is_there && SENDS.iter().any(|begin| word.starts_with(begin))
    };
    if mostly_called(hot).is_some_and(is_sending) {
        return true;
    }
    let (mut all, mut sending) = (0, 0);
    for stack in running(looks) {
        let mut names = stack.frames.iter().map(|frame| method_name(&frame.name));
        let Some(at) = names.position(|name| Some(name) == blamed(hot)) else { continue };
        all += stack.weight;
        if stack.frames.iter().take(at).any(|frame| is_sending(method_name(&frame.name))) {
            sending += stack.weight;
        }
    }
    all > 0 && sending as f64 / all as f64 * 100.0 >= SENDING
}

/// The stacks of running threads that a method is on, from it outwards, with their weights.
pub(super) fn above<'a>(case: &'a Case, method: &str) -> Vec<(u64, &'a [Frame])> {
    let from = |frames: &'a [Frame]| frames.iter().position(|frame| method_name(&frame.name) == method);
    let stacks = case.running().iter();
    stacks.filter_map(|stack| Some((stack.weight, stack.frames.get(from(&stack.frames)?..)?))).collect()
}

/// Whether a hot async method is what a hot method works for, or that method itself.
fn is_on_behalf(case: &Case, hot: &Observation, found: &Observation) -> bool {
    let (hot, found) = (blamed(hot).unwrap_or_default(), blamed(found).unwrap_or_default());
    let is_found = |frame: &Frame| method_name(&frame.name) == found;
    hot == found || above(case, hot).iter().any(|(_, frames)| frames.iter().any(is_found))
}

/// What the look at async paths adds: who awaits the method, unless nobody does most of the time.
fn on_behalf(found: &Observation) -> Option<Fact> {
    let callers = found.facts.iter().find_map(|fact| match fact {
        Fact::AwaitedBy { callers, .. } => Some(callers),
        _ => None,
    })?;
    let has_most = callers.first().is_some_and(|most| most.method.is_some());
    let method = blamed(found).map(str::to_owned);
    has_most.then(|| Fact::AwaitedBy { method, callers: callers.clone() })
}

/// The method that the hot one calls for most of its time.
pub(super) fn mostly_called(hot: &Observation) -> Option<&str> {
    hot.facts.iter().find_map(|fact| match fact {
        Fact::MostlyCalls { method, .. } => Some(method.as_str()),
        _ => None,
    })
}

/// Blames the async method of which the hot one is a part.
fn with_async_method(case: &Case, verdict: Verdict) -> Verdict {
    let Some(frame) = blamed(&verdict.finding).and_then(|hot| async_caller(case, hot)) else {
        return verdict;
    };
    let name = method_name(&frame.name).to_owned();
    verdict.culprit(Culprit { name, ..Culprit::of(frame) })
}

/// The async method of the same type that is the only one to call a method.
fn async_caller<'a>(case: &'a Case, method: &str) -> Option<&'a Frame> {
    let of_type = |name: &str| name.rsplit_once('.').map(|(class, _)| class.to_owned());
    let stacks = above(case, method);
    let heaviest = stacks.iter().max_by_key(|(weight, _)| *weight)?.1.get(1)?;
    let is_only =
        stacks.iter().all(|(_, frames)| frames.get(1).is_some_and(|caller| caller.name == heaviest.name));
    let is_part = is_async(&heaviest.name) && of_type(method_name(&heaviest.name)) == of_type(method);
    (is_only && is_part).then_some(heaviest)
}

/// The async method that a hot method of the program works for, however far above it on the stack.
#[must_use]
pub fn async_above(looks: &[Look]) -> Option<&str> {
    let found = &looks.iter().find(|look| look.id == "cpu")?.found;
    let hot = found.iter().find(|finding| finding.id == "hot-method" && !sends(looks, finding))?;
    let frames = running(looks).iter().find_map(|stack| {
        let mut names = stack.frames.iter().map(|frame| method_name(&frame.name));
        let at = names.position(|name| Some(name) == blamed(hot))?;
        stack.frames.get(at..)
    })?;
    frames.iter().find(|frame| is_async(&frame.name)).map(|frame| method_name(&frame.name))
}
