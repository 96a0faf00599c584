//! A finding: what is wrong, who does it, what proves it, what to do.
//!
//! ```text
//! critical  Two threads wait for each other and will never go on
//!           method Shop.Orders.OrderBook.Add (src/OrderBook.cs:42)
//!           Waiting since  3 m 20 s
//!           -> Take both locks in the same order everywhere.
//!           $ drdotnet run deadlocks -p 4242
//! ```

use model::{Finding, Severity};

use super::page::{Ink, Page};
use super::text::{Align, pad, width};
use crate::hostile::{LONGEST_PROSE, printable, printable_within};
use crate::phrases;

/// Columns of the longest severity word and a gap.
const INDENT: usize = 10;

/// Widest name of an observation that others are aligned to.
const WIDEST_WHAT: usize = 28;

pub(super) fn draw(page: &mut Page, finding: &Finding) {
    let word = pad(finding.severity.word(), INDENT, Align::Left);
    let title = printable_within(&finding.title, LONGEST_PROSE);
    let title = match phrases::doubt(finding.confidence) {
        Some(doubt) => format!("{title} ({doubt})"),
        None => title,
    };
    page.hanging(&[(severity_ink(finding.severity), &word)], INDENT, Ink::Strong, &title);
    let margin = " ".repeat(INDENT);
    if let Some(culprit) = &finding.culprit {
        let name = printable(&culprit.name);
        let place = phrases::culprit_place(culprit)
            .map_or(String::new(), |place| format!(" ({})", printable(&place)));
        let text = format!("{} {name}{place}", phrases::culprit_kind(culprit.kind));
        page.hanging(&[(Ink::Plain, &margin)], INDENT + 2, Ink::Plain, &text);
    }
    let whats: Vec<String> = finding.evidence.iter().map(|evidence| printable(&evidence.what)).collect();
    let widest =
        whats.iter().map(|what| width(what)).filter(|width| *width <= WIDEST_WHAT).max().unwrap_or(0);
    for (what, evidence) in whats.iter().zip(&finding.evidence) {
        let seen = printable_within(&evidence.seen, LONGEST_PROSE);
        if width(what) > WIDEST_WHAT {
            page.hanging(&[(Ink::Plain, &margin)], INDENT + 2, Ink::Plain, &format!("{what}: {seen}"));
        } else {
            let what = pad(what, widest + 2, Align::Left);
            page.hanging(
                &[(Ink::Plain, &margin), (Ink::Faint, &what)],
                INDENT + widest + 2,
                Ink::Plain,
                &seen,
            );
        }
    }
    for advice in &finding.advice {
        let advice = printable_within(advice, LONGEST_PROSE);
        page.hanging(&[(Ink::Plain, &margin), (Ink::Advice, "-> ")], INDENT + 3, Ink::Plain, &advice);
    }
    if let Some(command) = &finding.command {
        let command = printable(command);
        page.hanging(&[(Ink::Plain, &margin), (Ink::Advice, "$ ")], INDENT + 2, Ink::Strong, &command);
    }
}

fn severity_ink(severity: Severity) -> Ink {
    match severity {
        Severity::Critical => Ink::Critical,
        Severity::Warning => Ink::Warning,
        Severity::Info => Ink::Info,
    }
}
