//! From samples to calls: which frame begins when, which ends when.

use stacks::{FrameId, Profile, Sample, StackKey};

/// A frame begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Open { frame: FrameId, stack: StackKey, at_ns: u64 },
    Close { frame: FrameId, at_ns: u64 },
}

/// Hands out the edges of one thread in order: every frame that is opened is closed, inner ones first. A frame that is
/// on two samples with no time between them stays open. An error of `found` ends it.
pub(crate) fn edges<'a, E>(
    profile: &Profile,
    samples: impl Iterator<Item = &'a Sample>,
    mut found: impl FnMut(Edge) -> Result<(), E>,
) -> Result<(), E> {
    // Frames that are open, the outermost first; and the stack of the next sample, in the same order.
    let mut open: Vec<FrameId> = Vec::new();
    let mut next: Vec<(StackKey, FrameId)> = Vec::new();
    let mut end = 0;
    for sample in samples.filter(|sample| sample.weight > 0) {
        // What overlaps (it should not) is cut: times must not go back.
        let at_ns = sample.at_ns.max(end);
        let sample_end = sample.at_ns.saturating_add(sample.weight);
        if sample_end <= at_ns {
            continue;
        }
        if at_ns > end {
            close(&mut open, 0, end, &mut found)?;
        }
        next.clear();
        let mut key = sample.stack;
        while let Some((at, node)) = key.and_then(|key| Some((key, profile.nodes.get(key.0 as usize)?))) {
            next.push((at, node.frame));
            key = node.caller;
        }
        next.reverse();
        let shared = open.iter().zip(&next).take_while(|(open, (_, frame))| *open == frame).count();
        close(&mut open, shared, at_ns, &mut found)?;
        for &(stack, frame) in next.iter().skip(shared) {
            found(Edge::Open { frame, stack, at_ns })?;
            open.push(frame);
        }
        end = sample_end;
    }
    close(&mut open, 0, end, &mut found)
}

/// Closes all but the outermost `keep` frames.
fn close<E>(
    open: &mut Vec<FrameId>,
    keep: usize,
    at_ns: u64,
    found: &mut impl FnMut(Edge) -> Result<(), E>,
) -> Result<(), E> {
    while open.len() > keep {
        let Some(frame) = open.pop() else { break };
        found(Edge::Close { frame, at_ns })?;
    }
    Ok(())
}
