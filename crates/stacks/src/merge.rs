//! Making a profile small: what looks the same is kept once.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::Frame;

use crate::profile::{FrameId, Profile, StackNode, Weight};
use crate::table::StackKey;

impl Profile {
    /// Drops stacks, frames and threads without samples; merges stacks that have the same frames; and where weights
    /// are time, joins samples of a thread that stayed on the same stack. [`StackKey`]s of before mean nothing now.
    pub fn tidy(&mut self) {
        self.merge_stacks();
        self.drop_idle_threads();
        if self.weight == Weight::Nanoseconds {
            self.join_neighbours();
        }
    }

    fn merge_stacks(&mut self) {
        let mut used = vec![false; self.nodes.len()];
        for stack in self.samples.iter().filter_map(|sample| sample.stack) {
            if let Some(used) = used.get_mut(stack.0 as usize) {
                *used = true;
            }
        }
        for (place, node) in self.nodes.iter().enumerate().rev() {
            if used[place]
                && let Some(caller) = node.caller.and_then(|caller| used.get_mut(caller.0 as usize))
            {
                *caller = true;
            }
        }
        let mut kept = Kept::default();
        let mut new_keys = vec![None; self.nodes.len()];
        for place in 0..self.nodes.len() {
            if used[place] {
                let StackNode { caller, frame } = self.nodes[place];
                let caller = caller.and_then(|caller| *new_keys.get(caller.0 as usize)?);
                new_keys[place] = kept.node(caller, frame, &self.frames);
            }
        }
        for sample in &mut self.samples {
            sample.stack = sample.stack.and_then(|stack| *new_keys.get(stack.0 as usize)?);
        }
        self.nodes = kept.nodes;
        self.frames = kept.frames;
    }

    fn drop_idle_threads(&mut self) {
        let mut new_slots = vec![None; self.threads.len()];
        for sample in &self.samples {
            if let Some(slot) = new_slots.get_mut(sample.thread.0 as usize) {
                *slot = Some(sample.thread);
            }
        }
        let mut places = new_slots.iter().map(Option::is_some);
        self.threads.retain(|_| places.next() == Some(true));
        for (number, slot) in (0..).zip(new_slots.iter_mut().flatten()) {
            slot.0 = number;
        }
        self.samples.retain_mut(|sample| match new_slots.get(sample.thread.0 as usize) {
            Some(Some(slot)) => {
                sample.thread = *slot;
                true
            }
            _ => false,
        });
    }

    fn join_neighbours(&mut self) {
        // The last sample of each thread that is kept.
        let mut last: Vec<Option<usize>> = vec![None; self.threads.len()];
        let mut kept = 0;
        for place in 0..self.samples.len() {
            let sample = self.samples[place];
            let Some(last) = last.get_mut(sample.thread.0 as usize) else { continue };
            if let Some(before) = last.and_then(|last| self.samples.get_mut(last))
                && before.stack == sample.stack
                && before.at_ns.checked_add(before.weight) == Some(sample.at_ns)
            {
                before.weight = before.weight.saturating_add(sample.weight);
                continue;
            }
            *last = Some(kept);
            self.samples[kept] = sample;
            kept += 1;
        }
        self.samples.truncate(kept);
    }
}

/// The nodes and frames that are kept.
#[derive(Default)]
struct Kept {
    nodes: Vec<StackNode>,
    frames: Vec<Frame>,
    by_node: HashMap<(Option<StackKey>, FrameId), StackKey, RandomState>,
    new_frames: HashMap<FrameId, FrameId, RandomState>,
}

impl Kept {
    fn node(&mut self, caller: Option<StackKey>, frame: FrameId, old: &[Frame]) -> Option<StackKey> {
        let frame = match self.new_frames.get(&frame) {
            Some(frame) => *frame,
            None => {
                let new = FrameId(u32::try_from(self.frames.len()).ok()?);
                self.frames.push(old.get(frame.0 as usize)?.clone());
                self.new_frames.insert(frame, new);
                new
            }
        };
        let new = StackKey(u32::try_from(self.nodes.len()).ok()?);
        let nodes = &mut self.nodes;
        Some(*self.by_node.entry((caller, frame)).or_insert_with(|| {
            nodes.push(StackNode { caller, frame });
            new
        }))
    }
}
