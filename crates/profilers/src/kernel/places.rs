//! Places in the source, and short paths to them.

use std::collections::{BTreeMap, HashMap};

use model::{Frame, Section, Stack, Unit};
use stacks::StackKey;

use crate::blame;
use crate::sampling::{Calls, MethodId};
use crate::stack_section::{heaviest, section_of};

/// Paths of a report.
const MOST_PATHS: u64 = 3;
/// Frames of a path: the innermost.
const LONGEST_PATH: usize = 8;

/// The place in the source where each method spends most, as `Orders.cs:42`.
pub(super) fn places(calls: &Calls, times: &HashMap<StackKey, u64>) -> HashMap<MethodId, String> {
    let mut lines: BTreeMap<MethodId, BTreeMap<(&str, u32), u64>> = BTreeMap::new();
    let mut seen = Vec::new();
    for (stack, ns) in times {
        seen.clear();
        for (method, frame) in calls.frames(*stack) {
            // The innermost of a method that calls itself.
            if let (Some(file), Some(line), false) = (&frame.file, frame.line, seen.contains(&method)) {
                seen.push(method);
                *lines.entry(method).or_default().entry((file, line)).or_default() += ns;
            }
        }
    }
    let heaviest = |lines: BTreeMap<(&str, u32), u64>| {
        let ((file, line), _) = lines.into_iter().max_by_key(|(_, ns)| *ns)?;
        Some(format!("{}:{line}", file.rsplit(['/', '\\']).next().unwrap_or(file)))
    };
    lines.into_iter().filter_map(|(method, lines)| Some((method, heaviest(lines)?))).collect()
}

/// The heaviest paths through the program's own code, each with the framework method that it ends in.
pub(super) fn heaviest_paths(calls: &Calls, times: &HashMap<StackKey, u64>) -> Vec<Stack> {
    heaviest(times.iter().map(|(stack, ns)| (*ns, path(calls, *stack))), MOST_PATHS)
}

/// The same as a section.
pub(super) fn paths(calls: &Calls, times: &HashMap<StackKey, u64>, title: &str) -> Option<Section> {
    path_section(heaviest_paths(calls, times), title)
}

pub(super) fn path_section(paths: Vec<Stack>, title: &str) -> Option<Section> {
    section_of("paths", title, Unit::Nanoseconds, paths)
}

fn path(calls: &Calls, stack: StackKey) -> Vec<Frame> {
    let mut path: Vec<Frame> = Vec::new();
    let mut called: Option<&Frame> = None;
    for (_, frame) in calls.frames(stack) {
        if !blame::is_own(frame) {
            if path.is_empty() {
                called = Some(frame);
            }
            continue;
        }
        if path.is_empty() {
            // What only says what kind of code it is, says nothing of where.
            path.extend(called.filter(|frame| !frame.name.starts_with('(')).cloned());
        }
        if path.last().is_none_or(|last| last.name != frame.name) {
            path.push(frame.clone());
        }
        if path.len() == LONGEST_PATH {
            break;
        }
    }
    path
}
