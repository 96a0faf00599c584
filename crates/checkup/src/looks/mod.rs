//! Looks that only a checkup takes: they answer half a question, for a rule that has the other half.

mod calls;
mod compilations;
mod openers;

use facts::method_name;
use model::{Culprit, Finding, Frame};
use profilers::{Answer, EventStacks, culprit_of};

pub(crate) use calls::Calls;
pub(crate) use compilations::{Compilations, JITTING_STARTED};
pub(crate) use openers::Opened;

/// The place of the program's own code that most events come from, their word, how many they are, and how many there are in all.
fn heaviest(seen: &EventStacks) -> Option<(Culprit, String, u64, u64)> {
    let all = seen.counts.iter().map(|(_, _, count)| *count).sum();
    let mut places: Vec<(Culprit, String, u64)> = Vec::new();
    for (word, frames, count) in &seen.counts {
        let Some(frame) = frames.iter().find(|frame| !symbols::is_framework(frame)) else { continue };
        let culprit = method(frame);
        match places.iter_mut().find(|(known, to, _)| culprit.name == known.name && to == word) {
            Some(place) => place.2 += count,
            None => places.push((culprit, word.clone(), *count)),
        }
    }
    let (culprit, word, count) = places.into_iter().max_by_key(|(_, _, count)| *count)?;
    Some((culprit, word, count, all))
}

fn method(frame: &Frame) -> Culprit {
    // The part of an async method that runs is the method.
    Culprit { name: method_name(&frame.name).to_owned(), ..culprit_of(frame) }
}

fn answer(seen: EventStacks, summary: String, finding: Option<Finding>) -> Answer {
    Answer {
        summary,
        findings: finding.into_iter().collect(),
        sections: Vec::new(),
        notes: seen.notes,
        cost: seen.cost,
        measured: seen.measured,
        end: seen.end,
        ..Answer::default()
    }
}
