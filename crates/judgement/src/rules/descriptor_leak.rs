//! `descriptor-leak`: files, sockets or other descriptors are opened and not closed.
//!
//! For: open descriptors that became more at nearly every look and never fewer; or that are near the limit; or sockets that stay
//! open though the other side has closed them. Against: waves, as those of connections.

use facts::{Confidence, DescriptorKind, Descriptors, Fact, Severity, Sign};

use crate::signs::System;
use crate::{Case, Verdict};

/// Growth within the window that is more than chance.
const GROWTH: u64 = 8;
/// Of the limit, in per cent: from here on the next burst fails.
const NEAR_LIMIT: f64 = 80.0;
/// Sockets that were half closed for all of the window. A client keeps some dozens for reuse and finds out when it next needs
/// them.
pub const HALF_CLOSED: u64 = 100;
/// Connections that wait out their end: from here on they are worth a word. A machine has some 28,000 ports for them.
const LINGERING: u64 = 1_000;
/// It breaks nothing until the limit.
const COST: f64 = 22.0;
/// Near the limit.
const COST_NEAR: f64 = 95.0;

/// Of those that came in the window.
fn of_new(system: &System) -> DescriptorKind {
    let (files, sockets) = system.opened();
    most(files, sockets, system.open.growth().saturating_sub(files + sockets))
}

/// Of all that are open.
fn of_all(open: &Descriptors) -> DescriptorKind {
    most(open.files, open.sockets, open.pipes + open.others)
}

fn most(files: u64, sockets: u64, others: u64) -> DescriptorKind {
    let counts = [
        (others, DescriptorKind::Others),
        (sockets, DescriptorKind::Sockets),
        (files, DescriptorKind::Files),
    ];
    counts.into_iter().max().map_or(DescriptorKind::Others, |(_, kind)| kind)
}

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let found = case.adopt("descriptor-leak", COST);
    let Some(system) = case.signs.system.as_ref().filter(|_| found.is_empty()) else { return found };
    let Some(open) = &system.descriptors else { return found };
    let used = open.limit.filter(|limit| *limit > 0).map(|limit| open.total as f64 / limit as f64 * 100.0);
    let near_limit = used.filter(|used| *used >= NEAR_LIMIT);
    let leaks = system.open.growth() >= GROWTH && system.open.only_grows();
    let half_closed = case.signs.half_closed;
    if near_limit.is_none() && !leaks && half_closed < HALF_CLOSED {
        return found;
    }
    let kind = match (leaks, near_limit) {
        (true, _) => of_new(system),
        (false, Some(_)) => of_all(open),
        (false, None) => DescriptorKind::Sockets,
    };
    let severity = if near_limit.is_some() { Severity::Critical } else { Severity::Warning };
    let confidence = if leaks { Confidence::High } else { Confidence::Medium };
    let cost = if near_limit.is_some() { COST_NEAR } else { COST };
    let sign = Sign::Descriptors {
        open: open.clone(),
        near_limit,
        leaks,
        kind,
        growth: system.open.growth(),
        seconds: system.window.as_secs_f64(),
        half_closed,
        close_wait: case.signs.connections.half_closed,
        time_wait: Some(case.signs.connections.lingering).filter(|count| *count >= LINGERING),
    };
    vec![with_culprit(case, kind, Verdict::of_sign("descriptor-leak", (severity, confidence), sign, cost))]
}

/// Who opens what stays open. Connections for HTTP calls are opened by the framework, on threads of its own: who calls is to blame.
fn with_culprit(case: &Case, kind: DescriptorKind, verdict: Verdict) -> Verdict {
    let of = |is_it: fn(&Fact) -> bool| {
        let mut found = case.looks.iter().flat_map(|look| &look.found);
        found.find(|known| known.facts.iter().any(is_it))
    };
    let calls = kind == DescriptorKind::Sockets && case.has_look("openers");
    let opener = of(|fact| matches!(fact, Fact::Opened { .. }));
    let opener = opener.or_else(|| of(|fact| matches!(fact, Fact::CallsTo { .. })).filter(|_| calls));
    let Some((opener, culprit)) = opener.and_then(|opener| Some((opener, opener.culprit.clone()?))) else {
        return verdict;
    };
    opener.facts.iter().cloned().fold(verdict.culprit(culprit), Verdict::fact)
}
