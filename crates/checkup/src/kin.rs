//! What connects two findings: who calls whom, which threads stand still, what collections were for.

use std::collections::{BTreeMap, BTreeSet};

use model::{Body, Cell, Finding, Frame, Report, Stack, Table};

use crate::signs::RuntimeSigns;
use crate::steps::Looks;

/// What names say of async methods.
pub(crate) const ASYNC: &str = " [async]";

/// What was seen that connects findings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kin {
    /// Who is on the stack above a method that uses the processors.
    callers: BTreeMap<String, BTreeSet<String>>,
    /// Methods in which threads stand still for ever.
    still: BTreeSet<String>,
    /// Time in collections that the program asked for, in per cent of the window.
    forced: f64,
    /// Time in other collections, in per cent of the window.
    unforced: f64,
    /// Time in young collections that the program did not ask for, in per cent of the window.
    young: f64,
}

impl Kin {
    /// From what the looks and the runtime say.
    pub(crate) fn of(looks: &Looks, told: Option<&RuntimeSigns>) -> Kin {
        let mut kin = Kin::default();
        for stack in looks.report("cpu").into_iter().flat_map(stacks) {
            kin.add_stack(&stack.frames);
        }
        if let Some(report) = looks.report("deadlocks") {
            kin.still.extend(cells(report, "waits").map(|place| bare(without_line(place)).to_owned()));
        }
        if let Some(told) = told {
            kin.forced = told.percent(told.forced_ns);
            kin.young = told.percent(told.young_ns);
            kin.unforced = told.percent(told.gc_pauses.total_ns.saturating_sub(told.forced_ns));
        }
        kin
    }

    /// Innermost frame first.
    pub(crate) fn add_stack(&mut self, frames: &[Frame]) {
        let names: Vec<&str> = frames.iter().map(|frame| bare(&frame.name)).collect();
        for (at, name) in names.iter().enumerate() {
            let above = names.iter().skip(at + 1).map(|name| (*name).to_owned());
            self.callers.entry((*name).to_owned()).or_default().extend(above);
        }
    }

    /// Whether one calls what the other blames, or names it, or quotes it, or both name one thread.
    pub(crate) fn related(&self, one: &Finding, other: &Finding) -> bool {
        let quotes = |quoting: &Finding, quoted: &Finding| {
            quoting.evidence.iter().any(|evidence| evidence.seen == quoted.title)
        };
        if quotes(one, other) || quotes(other, one) || !threads(one).is_disjoint(&threads(other)) {
            return true;
        }
        let blamed =
            |finding: &Finding| finding.culprit.as_ref().map(|culprit| bare(&culprit.name).to_owned());
        let (Some(first), Some(second)) = (blamed(one), blamed(other)) else { return false };
        let calls =
            |outer: &str, inner: &str| self.callers.get(inner).is_some_and(|above| above.contains(outer));
        calls(&first, &second)
            || calls(&second, &first)
            || names(one, &second)
            || names(other, &first)
            || of_type(&first, &second)
    }

    /// Whether a thread stands still for ever in a method.
    pub(crate) fn stands_still(&self, method: &str) -> bool {
        self.still.contains(bare(method))
    }

    /// Whether collections that the program asked for are most of all.
    pub(crate) fn mostly_forced(&self) -> bool {
        self.forced > self.unforced
    }

    /// Time in collections that the program did not ask for, in per cent.
    pub(crate) fn unforced_percent(&self) -> f64 {
        self.unforced
    }

    /// Time in young collections that the program did not ask for, in per cent.
    pub(crate) fn young_percent(&self) -> f64 {
        self.young
    }
}

/// A method without the mark of async ones.
pub(crate) fn bare(name: &str) -> &str {
    name.trim_end_matches(ASYNC)
}

fn without_line(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((name, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => place,
    }
}

/// The threads that a finding is about, as the looks at locks and finalizers name them: `.NET Finalizer (4711)`, `4711 waits`.
fn threads(finding: &Finding) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for evidence in &finding.evidence {
        let first = evidence.seen.split(' ').next().filter(|_| evidence.what == "Thread");
        found.extend(first.and_then(|number| number.parse::<u32>().ok()));
        for text in [&evidence.what, &evidence.seen] {
            let inside = text.split('(').skip(1).filter_map(|rest| rest.split(')').next());
            found.extend(inside.filter_map(|number| number.parse::<u32>().ok()));
        }
    }
    found
}

/// Whether a finding's own words name a method or type.
fn names(finding: &Finding, name: &str) -> bool {
    let texts = finding.evidence.iter().map(|evidence| evidence.seen.as_str());
    texts.chain([finding.title.as_str()]).any(|text| has_word(text, name))
}

/// Whether a name stands in a text, and is not a part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|letter| is_part(letter) || letter == '.') && !after.is_some_and(is_part)
    })
}

/// Whether one is a type and the other a member of it.
fn of_type(one: &str, other: &str) -> bool {
    let member = |whole: &str, of: &str| whole.strip_prefix(of).is_some_and(|rest| rest.starts_with('.'));
    member(one, other) || member(other, one)
}

/// Whether the longest pause that a finding is about is that of a full collection, as the looks at pauses say it.
pub(crate) fn longest_is_full(pauses: &Finding) -> bool {
    longest_is_of(pauses, &["gen 2"])
}

/// Whether it is that of a young collection. It may be neither: a debugger or profiler stops all threads, too.
pub(crate) fn longest_is_young(pauses: &Finding) -> bool {
    longest_is_of(pauses, &["gen 0", "gen 1"])
}

fn longest_is_of(pauses: &Finding, generations: &[&str]) -> bool {
    let longest = pauses.evidence.iter().filter(|evidence| evidence.what == "Longest");
    longest.into_iter().any(|evidence| generations.iter().any(|name| evidence.seen.starts_with(name)))
}

/// All stacks of a report.
pub(crate) fn stacks(report: &Report) -> impl Iterator<Item = &Stack> {
    report.sections.iter().flat_map(|section| match &section.body {
        Body::Stacks(stacks) => stacks.stacks.as_slice(),
        _ => &[],
    })
}

/// A table of a report.
fn table<'a>(report: &'a Report, id: &str) -> Option<&'a Table> {
    report.sections.iter().find_map(|section| match &section.body {
        Body::Table(table) if section.id == id => Some(table),
        _ => None,
    })
}

/// One column of a table, row by row.
pub(crate) fn column<'a>(report: &'a Report, section: &str, column: &str) -> impl Iterator<Item = &'a Cell> {
    let found = table(report, section).and_then(|table| {
        let at = table.columns.iter().position(|known| known.id == column)?;
        Some(table.rows.iter().filter_map(move |row| row.get(at)))
    });
    found.into_iter().flatten()
}

/// A number, if it is one.
pub(crate) fn number(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    }
}

/// All texts of a table.
fn cells<'a>(report: &'a Report, section: &str) -> impl Iterator<Item = &'a str> {
    let rows = table(report, section).map_or(&[][..], |table| &table.rows);
    rows.iter().flatten().filter_map(|cell| match cell {
        Cell::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

#[cfg(test)]
impl Kin {
    /// Threads stand still in these methods.
    pub(crate) fn with_still(methods: &[&str]) -> Kin {
        Kin { still: methods.iter().map(|name| (*name).to_owned()).collect(), ..Kin::default() }
    }

    /// Time in collections, in per cent.
    pub(crate) fn with_collections(forced: f64, unforced: f64, young: f64) -> Kin {
        Kin { forced, unforced, young, ..Kin::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_not_found_within_a_longer_one() {
        assert!(has_word("in Acme.Cart.Add:12", "Acme.Cart.Add"));
        assert!(has_word("Acme.Cart", "Acme.Cart"));
        assert!(!has_word("in Acme.Cart.AddAll", "Acme.Cart.Add"));
        assert!(!has_word("in My.Acme.Cart.Add", "Acme.Cart.Add"));
        assert!(of_type("Acme.Cart", "Acme.Cart.Add") && !of_type("Acme.Cart", "Acme.Carton.Add"));
        assert_eq!(without_line("Acme.Cart.Add:12"), "Acme.Cart.Add");
    }
}
