//! The heaviest stacks of a report.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use model::{Body, Frame, Section, Stack, Stacks, Unit};

use crate::blame::is_plumbing;

/// A section with the heaviest stacks, at most this many; none if there is none to show.
pub(crate) fn stack_section(
    id: &str,
    title: &str,
    unit: Unit,
    stacks: impl IntoIterator<Item = (u64, Vec<Frame>)>,
    most: u64,
) -> Option<Section> {
    section_of(id, title, unit, heaviest(stacks, most))
}

/// The section of stacks that are chosen already.
pub(crate) fn section_of(id: &str, title: &str, unit: Unit, stacks: Vec<Stack>) -> Option<Section> {
    (!stacks.is_empty()).then(|| Section::new(id, title, Body::Stacks(Stacks { unit, stacks })))
}

/// The heaviest stacks, each once, at most this many.
pub(crate) fn heaviest(stacks: impl IntoIterator<Item = (u64, Vec<Frame>)>, most: u64) -> Vec<Stack> {
    let mut stacks = merged(stacks);
    stacks.sort_by(|(light, _), (heavy, _)| heavy.cmp(light));
    stacks.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    stacks.into_iter().map(|(weight, frames)| Stack { weight, threads: Vec::new(), frames }).collect()
}

/// A method that was compiled twice has two addresses, but one name.
fn merged(stacks: impl IntoIterator<Item = (u64, Vec<Frame>)>) -> Vec<(u64, Vec<Frame>)> {
    let mut merged: Vec<(u64, Vec<Frame>)> = Vec::new();
    let mut index: HashMap<Vec<(String, Option<u32>)>, usize> = HashMap::new();
    for (weight, frames) in stacks {
        let frames = shortened(frames);
        if frames.is_empty() {
            continue;
        }
        let key = frames.iter().map(|frame| (frame.name.clone(), frame.line)).collect();
        match index.entry(key) {
            Entry::Occupied(known) => merged[*known.get()].0 += weight,
            Entry::Vacant(new) => {
                new.insert(merged.len());
                merged.push((weight, frames));
            }
        }
    }
    merged
}

/// A module's file name says enough; its folder is the same for most frames.
fn shortened(frames: Vec<Frame>) -> Vec<Frame> {
    frames
        .into_iter()
        .skip_while(is_plumbing)
        .map(|mut frame| {
            if let Some(module) = &frame.module {
                let file = module.rsplit(['/', '\\']).next().unwrap_or(module);
                let name = file.strip_suffix(".dll").or_else(|| file.strip_suffix(".exe")).unwrap_or(file);
                frame.module = Some(name.to_owned());
            }
            frame
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::frame;

    #[test]
    fn stacks_of_one_name_are_one_and_the_heaviest_come_first() {
        let one = vec![frame("Shop.A", "/app/Shop.dll")];
        let two = vec![frame("System.Runtime.EH.RhThrowEx", "x"), frame("Shop.B", "/app/Shop.dll")];
        let bare = vec![frame("Shop.B", "/app/Shop.dll")];
        let stacks = [(2, one.clone()), (3, two), (9, Vec::new()), (4, bare), (1, one)];
        let section = stack_section("stacks", "Stacks", Unit::Count, stacks, 1).unwrap();
        let Body::Stacks(stacks) = section.body else { panic!("stacks") };
        assert_eq!((stacks.stacks.len(), stacks.stacks[0].weight), (1, 7));
        assert_eq!(stacks.stacks[0].frames[0].module.as_deref(), Some("Shop"));
        assert!(stack_section("stacks", "Stacks", Unit::Count, [], 1).is_none());
    }
}
