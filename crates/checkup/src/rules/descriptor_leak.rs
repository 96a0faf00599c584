//! `descriptor-leak`: files, sockets or other descriptors are opened and not closed.
//!
//! For: open descriptors that became more at nearly every look and never fewer; or that are near the limit; or sockets that stay
//! open though the other side has closed them. Against: waves, as those of connections.

use model::{Confidence, Finding, Severity, TargetText};

use super::{Case, Verdict};
use crate::looks::{HTTP_CALLER, OPENER};
use crate::signs::{Descriptors, System};
use crate::words::percent;

/// Growth within the window that is more than chance.
const GROWTH: u64 = 8;
/// Of the limit, in per cent: from here on the next burst fails.
const NEAR_LIMIT: f64 = 80.0;
/// Sockets that were half closed for all of the window. A client keeps some dozens for reuse and finds out when it next needs
/// them.
pub(crate) const HALF_CLOSED: u64 = 100;
/// Connections that wait out their end: from here on they are worth a word. A machine has some 28,000 ports for them.
const LINGERING: u64 = 1_000;
/// It breaks nothing until the limit.
const COST: f64 = 22.0;

/// What most of them are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Pipes, event descriptors and the like.
    Others,
    Sockets,
    Files,
}

impl Kind {
    /// Of those that came in the window.
    fn of_new(system: &System) -> Kind {
        let (files, sockets) = system.opened();
        Kind::most(files, sockets, system.open.growth().saturating_sub(files + sockets))
    }

    /// Of all that are open.
    fn of_all(open: &Descriptors) -> Kind {
        Kind::most(open.files, open.sockets, open.pipes + open.others)
    }

    fn most(files: u64, sockets: u64, others: u64) -> Kind {
        let counts = [(others, Kind::Others), (sockets, Kind::Sockets), (files, Kind::Files)];
        counts.into_iter().max().map_or(Kind::Others, |(_, kind)| kind)
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Files => "files",
            Kind::Sockets => "sockets",
            Kind::Others => "descriptors",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Kind::Files => "Put what opens them into a using statement, so that it is closed on every path.",
            Kind::Sockets => {
                "One HttpClient for the life of the program, not one for each call; close other connections on every path \
                 (using)."
            }
            Kind::Others => {
                "They are neither files nor sockets: dispose of what has pipes and the like, such as child processes and \
                 watchers of files, on every path (using)."
            }
        }
    }
}

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let found = case.adopt("descriptor-leak", COST);
    let Some(system) = case.signs.system.as_ref().filter(|_| found.is_empty()) else { return found };
    let Some(open) = &system.descriptors else { return found };
    let used = open.limit.filter(|limit| *limit > 0).map(|limit| open.total as f64 / limit as f64 * 100.0);
    let near = used.is_some_and(|used| used >= NEAR_LIMIT);
    let leaks = system.open.growth() >= GROWTH && system.open.only_grows();
    let half_closed = case.signs.half_closed;
    if !near && !leaks && half_closed < HALF_CLOSED {
        return found;
    }
    let kind = match (leaks, near) {
        (true, _) => Kind::of_new(system),
        (false, true) => Kind::of_all(open),
        (false, false) => Kind::Sockets,
    };
    let (severity, title) = match used {
        Some(used) if near => (
            Severity::Critical,
            format!("{} of the file descriptors that it may have are in use", percent(used)),
        ),
        _ if leaks => {
            (Severity::Warning, format!("Open {} become more and more: {} now", kind.words(), open.total))
        }
        _ => (
            Severity::Warning,
            format!("{half_closed} sockets are not closed, though the other side has closed them"),
        ),
    };
    let confidence = if leaks { Confidence::High } else { Confidence::Medium };
    let mut finding = Finding::new("descriptor-leak", severity, confidence, title)
        .evidence(
            "Open",
            format!(
                "{} files, {} sockets, {} pipes, {} others",
                open.files, open.sockets, open.pipes, open.others
            ),
        )
        .evidence(
            "More than at the start",
            format!("{} in {:.0} s", system.open.growth(), system.window.as_secs_f64()),
        );
    if let Some((folder, count)) = open.busiest_folder.as_ref().filter(|_| kind == Kind::Files) {
        finding = finding.evidence(
            "Most files are in",
            format!("{} ({count})", TargetText::new(folder).shown(case.redaction)),
        );
    }
    finding = with_connections(case, with_culprit(case, kind, finding)).advice(kind.advice());
    let cost = if near { 95.0 } else { COST };
    vec![Verdict { finding, cost }]
}

/// Who opens what stays open. Connections for HTTP calls are opened by the framework, on threads of its own: who calls is to blame.
fn with_culprit(case: &Case<'_>, kind: Kind, mut finding: Finding) -> Finding {
    let of = |id: &str| {
        case.looks.taken.iter().flat_map(|taken| &taken.report.findings).find(|known| known.id == id)
    };
    let calls = kind == Kind::Sockets && case.has_look("openers");
    let opener = of(OPENER).or_else(|| of(HTTP_CALLER).filter(|_| calls));
    let Some((opener, culprit)) = opener.and_then(|opener| Some((opener, opener.culprit.clone()?))) else {
        return finding;
    };
    finding.title = format!("{}, opened in {}", finding.title, culprit.name);
    finding.evidence.extend(opener.evidence.iter().cloned());
    finding.culprit(culprit)
}

fn with_connections(case: &Case<'_>, mut finding: Finding) -> Finding {
    let connections = &case.signs.connections;
    if !connections.half_closed.is_empty() {
        finding = finding.evidence(
            "Closed by the other side, not by it",
            format!("{} connections (CLOSE_WAIT)", connections.half_closed.len()),
        );
    }
    if connections.lingering >= LINGERING {
        finding = finding.evidence(
            "Connections that wait out their end",
            format!("{} on this network (TIME_WAIT): ports may run out", connections.lingering),
        );
    }
    finding
}
