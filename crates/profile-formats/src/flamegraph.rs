//! A flame graph as SVG, which a browser shows without anything else.

use std::fmt::Write as _;
use std::io::{self, Write};

use inferno::flamegraph::{Options, from_lines};
use stacks::{CallTree, Profile, Weight};

use crate::folded::{for_each_tree, names};
use crate::label;
use crate::registry::Grouping;

/// Frames narrower than this part of the whole cannot be seen. Their weight is shown as their caller's, so that all else
/// is as wide as it should be, and a large profile makes no larger picture.
const NARROWEST: u64 = 10_000;

pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut lines: Vec<String> = Vec::new();
    let least = profile.total() / NARROWEST;
    let names = names(profile);
    for_each_tree(profile, grouping, |thread, tree| {
        wide_stacks(tree, least, |stack, weight| {
            let mut line = String::new();
            let frames = stack.iter().filter_map(|frame| names.get(*frame)).map(String::as_str);
            for name in thread.iter().map(String::as_str).chain(frames) {
                let _ = write!(line, "{}{name}", if line.is_empty() { "" } else { ";" });
            }
            let _ = write!(line, " {weight}");
            lines.push(line);
        });
        if tree.without_stack > 0 {
            let frame =
                thread.map_or(label::NO_STACK.to_owned(), |thread| format!("{thread};{}", label::NO_STACK));
            lines.push(format!("{frame} {}", tree.without_stack));
        }
        Ok(())
    })?;
    let mut options = options(profile);
    if lines.is_empty() {
        // A picture of nothing is still a picture.
        lines.push(format!("{} 1", label::NO_STACK));
    }
    from_lines(&mut options, lines.iter().map(String::as_str), to)
}

/// Writes a picture of a change: folded stacks, each with its weight before and after. Widths are of after; colours say
/// what became more (red) and what less (blue).
pub fn write_difference(
    title: &str,
    weight: Weight,
    stacks: &[(String, u64, u64)],
    to: &mut dyn Write,
) -> io::Result<()> {
    // The writer's own factor would not be applied to the change.
    let divisor = if weight == Weight::Nanoseconds { 1000 } else { 1 };
    let scaled = |weight: u64| (weight + divisor / 2) / divisor;
    let line = |(stack, before, after): &(String, u64, u64)| {
        format!("{stack} {} {}", scaled(*before), scaled(*after))
    };
    let mut lines: Vec<String> = stacks.iter().map(line).collect();
    if !stacks.iter().any(|(_, _, after)| *after > 0) {
        lines = vec![format!("{} 1 1", label::NO_STACK)];
    }
    let mut options = options_for(title.to_owned(), weight);
    options.hash = false;
    if divisor > 1 {
        "\u{b5}s".clone_into(&mut options.count_name);
        options.factor = 1.0;
    }
    from_lines(&mut options, lines.iter().map(String::as_str), to)
}

fn options(profile: &Profile) -> Options<'static> {
    let title = match profile.process {
        Some(process) => format!("{} of process {process}", profile.title),
        None => profile.title.clone(),
    };
    options_for(title, profile.weight)
}

fn options_for(title: String, weight: Weight) -> Options<'static> {
    let mut options = Options::default();
    options.title = title;
    // The same method has the same colour in every picture.
    options.hash = true;
    options.deterministic = true;
    let (unit, factor) = match weight {
        Weight::Nanoseconds => ("ms", 1e-6),
        Weight::Bytes => ("bytes", 1.0),
        Weight::Count => ("times", 1.0),
    };
    unit.clone_into(&mut options.count_name);
    options.factor = factor;
    options
}

/// Stacks, the outermost frame first, that are wide enough or hold what is too narrow below them.
fn wide_stacks(tree: &CallTree, least: u64, mut found: impl FnMut(&[usize], u64)) {
    let mut own: Vec<u64> = tree.nodes.iter().map(|node| node.own).collect();
    for (place, node) in tree.nodes.iter().enumerate().rev() {
        if node.total < least
            && let Some(caller) = node.caller
        {
            own[caller as usize] = own[caller as usize].saturating_add(std::mem::take(&mut own[place]));
        }
    }
    for (place, weight) in (0..).zip(own).filter(|(_, weight)| *weight > 0) {
        let mut stack: Vec<usize> = tree.path(place).map(|frame| frame.0 as usize).collect();
        stack.reverse();
        found(&stack, weight);
    }
}
