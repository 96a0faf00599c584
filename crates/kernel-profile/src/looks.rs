//! Stacks of threads that wait, taken from outside while they wait.

use std::time::Duration;

use nettrace::CodeAddress;
use perf_sampler::{KernelFrames, Thread};
use unwinding::{Reached, Registers, Snapshot};

use crate::blocked::{Look, Looked, MOST_BYTES};
use crate::intake::{Followed, Intake, Walked, words};
use crate::memory::Memory;
use crate::waiting::SeenWaiting;

/// The frame register of a blocked thread is not told. This leads nowhere: a walk that needs it ends there, and one
/// that finds it saved on the stack goes on.
const UNKNOWN_FRAME: u64 = 1;

impl Intake {
    /// Looks at a thread that should be waiting. Its stack is given to the wait that turns out to have lasted from
    /// before the look until after it.
    pub fn look(&mut self, thread: Thread, kernel: KernelFrames) -> Looked {
        let (followed, frames) = self.of(thread);
        match followed.look(thread, kernel, frames) {
            Ok(seen) => {
                followed.quality.waits.looks += 1;
                followed.waiting.looked(thread.id.0, seen);
                Looked::Seen
            }
            Err(looked) => {
                followed.quality.waits.looks_too_late += u64::from(looked == Looked::Moved);
                followed.quality.waits.looks_refused += u64::from(looked == Looked::Refused);
                looked
            }
        }
    }

    /// Says that no stack comes with waits, so that looks are all there is, and how often they come.
    pub fn only_looks(&mut self, every: Duration) {
        self.only_looks = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    }
}

impl Followed {
    fn look(
        &mut self,
        thread: Thread,
        kernel: KernelFrames,
        frames: &mut Vec<u64>,
    ) -> Result<SeenWaiting, Looked> {
        let look = Look::begin(thread)?;
        let memory = self.memory.get_or_insert_with(|| Memory::of(thread.process));
        let mut copy = look.memory(memory, 0);
        if copy.is_empty() {
            return Err(Looked::Refused);
        }
        let entry = look.entry;
        let registers =
            Registers { instruction: entry.instruction, stack: entry.stack, frame: UNKNOWN_FRAME };
        let mut reached;
        loop {
            let snapshot = Snapshot { registers, stack: &copy, chain: &[], chain_limit: usize::MAX };
            reached = self.unwinder.walk(&snapshot, frames);
            if reached != Reached::EndOfCopy || copy.len() >= MOST_BYTES {
                break;
            }
            let longer = look.memory(memory, copy.len());
            if longer.len() <= copy.len() {
                break;
            }
            copy = longer;
        }
        let functions = if kernel == KernelFrames::Wanted { look.kernel() } else { Vec::new() };
        let (from, to) = look.end().ok_or(Looked::Moved)?;

        let complete = reached == Reached::Start && self.is_start(frames.last());
        self.quality.stacks += 1;
        self.quality.complete += u64::from(complete);
        let top = if self.is_managed(entry.instruction) {
            self.tops.push(words(&copy));
            u32::try_from(self.tops.len() - 1).ok()
        } else {
            None
        };
        let kernel: Vec<u64> =
            functions.into_iter().filter_map(|function| self.told.address(function)).collect();
        let kernel_frames = u16::try_from(kernel.len()).unwrap_or(u16::MAX);
        let all: Vec<CodeAddress> =
            kernel.into_iter().chain(frames.iter().copied()).map(CodeAddress).collect();
        let walked = Walked { stack: self.table.intern(all.into_iter()), top, kernel_frames, complete };
        Ok(SeenWaiting { from, to, walked })
    }
}
