//! Folded stacks: one line for each stack, its frames from the outermost to the innermost, then its weight.

use std::io::{self, Write};

use stacks::{CallTree, Profile, ThreadSamples};

use crate::label;
use crate::registry::Grouping;
use crate::sink::Sink;

/// Longest name of a frame.
const LONGEST: usize = 1000;

pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut sink = Sink::new(to);
    for_each_tree(profile, grouping, |thread, tree| {
        let names = names(profile);
        for (place, node) in (0..).zip(&tree.nodes).filter(|(_, node)| node.own > 0) {
            let mut frames: Vec<usize> = tree.path(place).map(|frame| frame.0 as usize).collect();
            frames.reverse();
            let names = frames.iter().filter_map(|frame| names.get(*frame)).map(String::as_str);
            line(thread.iter().map(String::as_str).chain(names), node.own, &mut sink);
            sink.spill()?;
        }
        if tree.without_stack > 0 {
            line(thread.iter().map(String::as_str).chain([label::NO_STACK]), tree.without_stack, &mut sink);
        }
        sink.spill()
    })?;
    sink.finish()
}

fn line<'a>(names: impl Iterator<Item = &'a str>, weight: u64, sink: &mut Sink<'_>) {
    for (place, name) in names.enumerate() {
        sink.raw(if place == 0 { "" } else { ";" }).raw(name);
    }
    sink.raw(" ").number(weight).raw("\n");
}

/// Calls `each` with the tree of all threads, or with that of each thread and the frame that stands for it.
pub(crate) fn for_each_tree(
    profile: &Profile,
    grouping: Grouping,
    mut each: impl FnMut(Option<String>, &CallTree) -> io::Result<()>,
) -> io::Result<()> {
    match grouping {
        Grouping::Merged => each(None, &CallTree::new(profile, &profile.samples)),
        Grouping::PerThread => {
            let samples = ThreadSamples::new(profile);
            for (slot, thread) in label::threads(profile) {
                let name = harmless(&label::thread(thread));
                each(Some(name), &CallTree::new(profile, samples.of(slot)))?;
            }
            Ok(())
        }
    }
}

/// The names of all frames.
pub(crate) fn names(profile: &Profile) -> Vec<String> {
    profile.frames.iter().map(|frame| harmless(&label::frame(frame))).collect()
}

/// A name on one line and without what separates frames; the format has no way to escape it.
fn harmless(name: &str) -> String {
    reports::printable_within(name, LONGEST).replace(';', ":")
}
