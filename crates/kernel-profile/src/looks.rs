//! Stacks of threads that wait, taken from outside while they wait.

use std::time::Duration;

use native_symbols::MemoryMap;
use perf_sampler::{KernelFrames, OpenWait, Timestamp, Wait};
use unwinding::{Code, Reached};

use crate::blocked::{Look, Looked, MOST_BYTES};
use crate::estimate::Chances;
use crate::followed::{Followed, Walker, is_code};
use crate::memory::Memory;
use crate::samples::{Place, Taken};
use crate::waiting::SeenWaiting;
use crate::{Intake, Side, WaitQuality, estimate};

impl Intake {
    /// Looks at a thread that should be waiting. Its stack is given to the wait that turns out to have lasted from
    /// before the look until after it.
    pub fn look(&mut self, wait: &OpenWait, kernel: KernelFrames) -> Looked {
        let (followed, walker) = self.of(wait.thread);
        let looked = followed.look(wait, kernel, walker);
        let counts = &mut followed.quality.waits;
        match looked {
            Looked::Seen => counts.looks += 1,
            Looked::Runnable => followed.waiting.runs(wait.thread.id.0, Timestamp::now()),
            Looked::Moved => counts.looks_too_late += 1,
            Looked::Refused => counts.looks_refused += 1,
        }
        looked
    }

    /// Says how waits come to a stack: how often threads are looked at, and of how many switches one has a stack, if any.
    pub fn sampled(&mut self, looks_every: Duration, stack_every: Option<u32>) {
        let looks_every = u64::try_from(looks_every.as_nanos()).unwrap_or(u64::MAX);
        self.chances = Chances { looks_every, stack_every: stack_every.unwrap_or(0) };
    }
}

/// Code of a process, for the unwinder.
struct CodeOf<'a> {
    memory: &'a Memory,
    map: &'a MemoryMap,
}

impl Code for CodeOf<'_> {
    fn read(&self, address: u64, most: usize) -> Vec<u8> {
        self.memory.read(address, most)
    }

    fn is_code(&self, address: u64) -> bool {
        is_code(self.map, address)
    }
}

impl Followed {
    fn look(&mut self, wait: &OpenWait, kernel: KernelFrames, walker: &mut Walker) -> Looked {
        let look = match Look::begin(wait.thread) {
            Ok(look) => look,
            Err(looked) => return looked,
        };
        let frames = &mut walker.frames;
        let memory = self.memory.get_or_insert_with(|| Memory::of(wait.thread.process));
        let code = CodeOf { memory, map: &self.map };
        let entry = look.entry;
        let mut copy = look.memory(memory, 0);
        if copy.is_empty() {
            return if memory.is_open() { Looked::Moved } else { Looked::Refused };
        }
        let reached = loop {
            let reached = self.unwinder.walk_blocked(entry.instruction, entry.stack, &copy, &code, frames);
            if reached != Reached::EndOfCopy || copy.len() >= MOST_BYTES {
                break reached;
            }
            let longer = look.memory(memory, copy.len());
            if longer.len() <= copy.len() {
                break reached;
            }
            copy = longer;
        };
        let functions = if kernel == KernelFrames::Wanted { look.kernel() } else { Vec::new() };
        let Some((from, to)) = look.end() else { return Looked::Moved };

        self.judge(reached, frames, Side::OffCpu);
        let mut top = None;
        if self.may_be_managed(entry.instruction) {
            let map = &self.map;
            top = self.tops.keep(&copy, |word| is_code(map, word));
        }
        let kernel: Vec<u64> =
            functions.into_iter().filter_map(|function| self.told.address(function)).collect();
        let place = Place::new(self.keep(frames, kernel.into_iter()), top);
        self.waiting.looked(wait.thread.id.0, SeenWaiting { since: wait.since, from, to, place });
        Looked::Seen
    }

    /// Where a thread was in a wait that is over.
    pub(crate) fn place_of(&mut self, wait: &Wait) -> Option<Place> {
        let (copied, looked) = self.waiting.over(wait);
        // A look reads as much of the stack as there is, a copy may be too short.
        let complete = |place: Place| place.stack().is_some_and(|stack| self.is_complete(stack));
        match (copied, looked) {
            (Some(copied), Some(looked)) if complete(looked) && !complete(copied) => Some(looked),
            (copied, looked) => copied.or(looked),
        }
    }

    /// Gives the time of all waits to those with a stack, and says how good that is.
    pub(crate) fn settle(&mut self, samples: &mut Vec<Taken>, chances: Chances) {
        let given = estimate::settle(samples, chances);
        let mut waits = WaitQuality {
            waited_ns: 0,
            estimated_ns: given,
            without_stack_ns: 0,
            complete_ns: 0,
            ..self.quality.waits
        };
        for taken in samples.iter().filter(|taken| taken.side == Side::OffCpu) {
            waits.waited_ns += taken.weight_ns;
            match taken.place.stack() {
                Some(stack) if self.is_complete(stack) => waits.complete_ns += taken.weight_ns,
                Some(_) => {}
                None => waits.without_stack_ns += taken.weight_ns,
            }
        }
        self.quality.waits = waits;
    }
}
