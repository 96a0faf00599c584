//! `descriptor-leak`: files or sockets are opened and not closed.
//!
//! For: open descriptors that became more at nearly every look and never fewer, or that are near the limit. Against: waves, as
//! those of connections.

use model::{Confidence, Finding, Severity, TargetText};

use super::{Case, Verdict};
use crate::words::percent;

/// Growth within the window that is more than chance.
const GROWTH: u64 = 8;
/// Of the limit, in per cent: from here on the next burst fails.
const NEAR_LIMIT: f64 = 80.0;
/// It breaks nothing until the limit.
const COST: f64 = 22.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("descriptor-leak", COST);
    let Some(system) = case.signs.system.as_ref().filter(|_| found.is_empty()) else { return found };
    let Some(open) = &system.descriptors else { return found };
    let used = open.limit.filter(|limit| *limit > 0).map(|limit| open.total as f64 / limit as f64 * 100.0);
    let near = used.is_some_and(|used| used >= NEAR_LIMIT);
    let leaks = system.open.growth() >= GROWTH && system.open.only_grows();
    if !near && !leaks {
        return found;
    }
    let kind = if open.files >= open.sockets { "files" } else { "sockets" };
    let (severity, title) = match used {
        Some(used) if near => (
            Severity::Critical,
            format!("{} of the file descriptors that it may have are in use", percent(used)),
        ),
        _ => (Severity::Warning, format!("Open {kind} become more and more: {} now", open.total)),
    };
    let confidence = if leaks { Confidence::High } else { Confidence::Medium };
    let mut finding = Finding::new("descriptor-leak", severity, confidence, title)
        .evidence("Open", format!("{} files, {} sockets, {} pipes", open.files, open.sockets, open.pipes))
        .evidence(
            "More than at the start",
            format!("{} in {:.0} s", system.open.growth(), system.window.as_secs_f64()),
        );
    if let Some((folder, count)) = &open.busiest_folder {
        finding = finding.evidence(
            "Most files are in",
            format!("{} ({count})", TargetText::new(folder).shown(case.redaction)),
        );
    }
    finding = finding
        .advice("Put what opens them into a using statement, so that it is closed on every path.")
        .advice("One HttpClient for the life of the program, not one for each call.");
    let cost = if near { 95.0 } else { COST };
    vec![Verdict { finding, cost }]
}
