//! Waits: from a start and a stop on the same thread to one sample.

use std::collections::BTreeMap;

use stacks::{Sample, StackKey, ThreadSlot};

/// Waits that have begun, one at most on each thread.
#[derive(Default)]
pub(crate) struct Waits {
    open: BTreeMap<u32, (u64, Option<StackKey>)>,
}

impl Waits {
    /// A thread begins to wait.
    pub fn start(&mut self, thread: ThreadSlot, at_ns: u64, stack: Option<StackKey>) {
        self.open.insert(thread.0, (at_ns, stack));
    }

    /// The wait is over. `length_ns` is what the runtime says; a wait that began before the trace has `stack` for where.
    pub fn stop(
        &mut self,
        thread: ThreadSlot,
        at_ns: u64,
        length_ns: Option<u64>,
        stack: Option<StackKey>,
    ) -> Option<Sample> {
        let start = self.open.remove(&thread.0);
        let weight = length_ns.or(start.map(|(start, _)| at_ns.saturating_sub(start)))?;
        let at_ns = start.map_or(at_ns.saturating_sub(weight), |(start, _)| start);
        Some(Sample { at_ns, weight, thread, stack: start.map_or(stack, |(_, stack)| stack) })
    }

    /// Waits that last beyond the end of the trace, up to that end.
    pub fn finish(self, end_ns: u64) -> impl Iterator<Item = Sample> {
        self.open.into_iter().map(move |(thread, (at_ns, stack))| Sample {
            at_ns,
            weight: end_ns.saturating_sub(at_ns),
            thread: ThreadSlot(thread),
            stack,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_paired_by_thread() {
        let mut waits = Waits::default();
        let (one, two) = (ThreadSlot(1), ThreadSlot(2));
        waits.start(one, 100, Some(StackKey(1)));
        waits.start(two, 110, Some(StackKey(2)));
        let sample = waits.stop(one, 150, Some(48), Some(StackKey(9))).unwrap();
        assert_eq!((sample.at_ns, sample.weight, sample.stack), (100, 48, Some(StackKey(1))));
        // The runtime of .NET Core 3.1 does not say how long.
        let sample = waits.stop(two, 170, None, None).unwrap();
        assert_eq!((sample.at_ns, sample.weight, sample.stack), (110, 60, Some(StackKey(2))));
        // It began before the trace.
        let sample = waits.stop(two, 300, Some(250), Some(StackKey(3))).unwrap();
        assert_eq!((sample.at_ns, sample.weight, sample.stack), (50, 250, Some(StackKey(3))));
        assert_eq!(waits.stop(two, 400, None, None), None);
    }

    #[test]
    fn a_wait_without_end_lasts_to_the_end_of_the_trace() {
        let mut waits = Waits::default();
        waits.start(ThreadSlot(1), 100, None);
        let open: Vec<Sample> = waits.finish(1000).collect();
        assert_eq!((open.len(), open[0].weight), (1, 900));
    }
}
