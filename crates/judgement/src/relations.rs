//! What connects two findings: who calls whom, which threads stand still, what collections were for.

use std::collections::{BTreeMap, BTreeSet};

use facts::{Fact, Frame, Observation, PauseCause, is_framework, method_name};

use crate::Case;

/// What was seen that connects findings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relations {
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

impl Relations {
    /// From what the looks and the runtime say.
    pub(crate) fn of(case: &Case) -> Relations {
        let mut relations = Relations::default();
        for stack in case.running() {
            relations.add_stack(&stack.frames);
        }
        let own = case.still().filter_map(|thread| thread.frames.iter().find(|frame| is_own(frame)));
        relations.still.extend(own.map(|frame| method_name(&frame.name).to_owned()));
        if let Some(runtime) = &case.signs.runtime {
            relations.forced = runtime.percent(runtime.forced_ns);
            relations.young = runtime.percent(runtime.young_ns);
            relations.unforced =
                runtime.percent(runtime.gc_pauses.total_ns.saturating_sub(runtime.forced_ns));
        }
        relations
    }

    /// Innermost frame first.
    pub(crate) fn add_stack(&mut self, frames: &[Frame]) {
        let names: Vec<&str> = frames.iter().map(|frame| method_name(&frame.name)).collect();
        for (at, name) in names.iter().enumerate() {
            let above = names.iter().skip(at + 1).map(|name| (*name).to_owned());
            self.callers.entry((*name).to_owned()).or_default().extend(above);
        }
    }

    /// Whether one calls what the other blames, or is about it, or includes it, or both are about one thread.
    pub(crate) fn related(&self, one: &Observation, other: &Observation) -> bool {
        if includes(one, other) || includes(other, one) || !threads(one).is_disjoint(&threads(other)) {
            return true;
        }
        let (Some(first), Some(second)) = (blamed(one), blamed(other)) else { return false };
        let calls =
            |outer: &str, inner: &str| self.callers.get(inner).is_some_and(|above| above.contains(outer));
        calls(first, second)
            || calls(second, first)
            || is_about(one, second)
            || is_about(other, first)
            || of_type(first, second)
    }

    /// Whether a thread stands still for ever in a method.
    pub(crate) fn stands_still(&self, method: &str) -> bool {
        self.still.contains(method_name(method))
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

/// Whom a finding blames, without the mark of async methods.
pub(crate) fn blamed(finding: &Observation) -> Option<&str> {
    finding.culprit.as_ref().map(|culprit| method_name(&culprit.name))
}

/// Whether a frame is of the program, or of a library it brought along, and has a name.
fn is_own(frame: &Frame) -> bool {
    frame.name != "?" && !is_framework(frame)
}

/// The threads that a finding is about.
fn threads(finding: &Observation) -> BTreeSet<u32> {
    let of = |fact: &Fact| match fact {
        Fact::Threads { ids } => ids.clone(),
        _ => Vec::new(),
    };
    finding.facts.iter().flat_map(of).collect()
}

/// Whether another finding is a part of what proves one.
fn includes(one: &Observation, other: &Observation) -> bool {
    let other = other.related();
    one.facts.iter().any(|fact| matches!(fact, Fact::Includes { finding } if *finding == other))
}

/// Whether a finding is about a method or type that it does not blame.
fn is_about(finding: &Observation, name: &str) -> bool {
    let has = |known: &String| has_name(known, name);
    finding.facts.iter().any(|fact| match fact {
        Fact::Names { names } => names.iter().any(has),
        Fact::MostlyCalls { method, .. } => has(method),
        Fact::AwaitedBy { callers, .. } => {
            callers.iter().filter_map(|caller| caller.method.as_ref()).any(has)
        }
        _ => false,
    })
}

/// Whether a full name is another, or a member of it, or has it as a type argument: `List<Acme.Cart>`.
fn has_name(full: &str, name: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    full.match_indices(name).any(|(at, _)| {
        let before = full.get(..at).and_then(|text| text.chars().next_back());
        let after = full.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|letter| is_part(letter) || letter == '.') && !after.is_some_and(is_part)
    })
}

/// Whether one is a type and the other a member of it.
fn of_type(one: &str, other: &str) -> bool {
    let member = |whole: &str, of: &str| whole.strip_prefix(of).is_some_and(|rest| rest.starts_with('.'));
    member(one, other) || member(other, one)
}

/// Whether the longest pause that a finding is about is that of a full collection.
pub(crate) fn longest_is_full(pauses: &Observation) -> bool {
    causes(pauses).any(PauseCause::is_full)
}

/// Whether it is that of a young collection.
pub(crate) fn longest_is_young(pauses: &Observation) -> bool {
    causes(pauses).any(PauseCause::is_young)
}

fn causes(pauses: &Observation) -> impl Iterator<Item = PauseCause> + '_ {
    pauses.facts.iter().filter_map(|fact| match fact {
        Fact::LongestPause { cause, .. } => Some(*cause),
        _ => None,
    })
}

#[cfg(test)]
impl Relations {
    /// Threads stand still in these methods.
    pub(crate) fn with_still(methods: &[&str]) -> Relations {
        Relations { still: methods.iter().map(|name| (*name).to_owned()).collect(), ..Relations::default() }
    }

    /// Time in collections, in per cent.
    pub(crate) fn with_collections(forced: f64, unforced: f64, young: f64) -> Relations {
        Relations { forced, unforced, young, ..Relations::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_not_found_within_a_longer_one() {
        assert!(has_name("Acme.Cart", "Acme.Cart") && has_name("Acme.Cart.Add", "Acme.Cart"));
        assert!(has_name("System.Collections.Generic.List<Acme.Cart>", "Acme.Cart"));
        assert!(!has_name("Acme.Cart.AddAll", "Acme.Cart.Add"));
        assert!(!has_name("My.Acme.Cart.Add", "Acme.Cart.Add"));
        assert!(of_type("Acme.Cart", "Acme.Cart.Add") && !of_type("Acme.Cart", "Acme.Carton.Add"));
    }
}
