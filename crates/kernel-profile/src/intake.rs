//! Taking in records as they come: every stack is walked at once and kept as addresses.

use std::collections::BTreeMap;

use model::ProcessId;
use perf_sampler::{Leaving, Record, SwitchOut, Thread, Timestamp, Wait};

use crate::estimate::Chances;
use crate::followed::{Followed, Walker};
use crate::samples::{Place, Taken};
use crate::waiting::Open;

/// Which time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// It ran.
    OnCpu,
    /// It waited.
    OffCpu,
    /// It could have run, but others had the processors.
    Ready,
}

impl Side {
    fn of(leaving: Leaving) -> Side {
        match leaving {
            Leaving::Preempted => Side::Ready,
            Leaving::Blocked | Leaving::Unknown => Side::OffCpu,
        }
    }
}

/// Takes in records of any number of processes.
#[derive(Default)]
pub struct Intake {
    pub(crate) processes: BTreeMap<ProcessId, Followed>,
    walker: Walker,
    pub(crate) chances: Chances,
}

impl Intake {
    /// Nothing yet. `max_frames` is where the kernel cuts a stack.
    #[must_use]
    pub fn new(max_frames: u32) -> Intake {
        Intake { processes: BTreeMap::new(), walker: Walker::new(max_frames), chances: Chances::default() }
    }

    /// Begins with a process that is there already.
    pub fn follow(&mut self, pid: ProcessId) {
        self.processes.entry(pid).or_insert_with(|| Followed::new(pid));
    }

    /// Tells of a method's code before its names are asked for: some callers are found only if it is known where methods
    /// begin. Code that took the place of a running method is not to be told of.
    pub fn method(&mut self, pid: ProcessId, start: u64, bytes: u32) {
        if let Some(followed) = self.processes.get_mut(&pid) {
            followed.unwinder.methods.add(start, bytes);
        }
    }

    /// Takes in a record.
    pub fn take(&mut self, record: &Record<'_>) {
        match record {
            Record::OnCpu(sample) => {
                let (followed, walker) = self.of(sample.thread);
                let place = followed.walk(walker, &sample.stack, Side::OnCpu);
                let weight_ns = u64::try_from(sample.weight.as_nanos()).unwrap_or(u64::MAX);
                followed.samples.add(Taken::running(sample.thread.id.0, place, sample.time, weight_ns));
            }
            Record::SwitchOut(out) => self.left(out),
            Record::OffCpu(wait) => self.waited(wait),
            Record::Ended { thread, .. } => {
                if let Some(followed) = self.processes.get_mut(&thread.process) {
                    followed.waiting.ended(thread.id.0);
                }
            }
            Record::Mapped(mapped) => self.of(mapped.thread).0.mapped(mapped),
            Record::Named { thread, name, exec, .. } => {
                let followed = self.of(*thread).0;
                if *exec {
                    followed.restart();
                }
                followed.name_thread(thread.id.0, name);
            }
            _ => {}
        }
    }

    fn left(&mut self, out: &SwitchOut<'_>) {
        let (followed, walker) = self.of(out.thread);
        let side = Side::of(out.leaving);
        let place = followed.walk(walker, &out.stack, side);
        followed.waiting.leaves(out.thread.id.0, Open { id: out.id, place, from: out.time, side });
    }

    fn waited(&mut self, wait: &Wait) {
        let (followed, _) = self.of(wait.thread);
        let place = followed.place_of(wait);
        followed.quality.waits.without_stack += u64::from(place.is_none());
        let weight_ns = u64::try_from(wait.duration().as_nanos()).unwrap_or(u64::MAX);
        let (thread, place) = (wait.thread.id.0, place.unwrap_or(Place::NOWHERE));
        let side = followed.waiting.side(wait);
        followed.samples.add(Taken::wait(thread, side, place, wait.from, weight_ns));
    }

    /// Drops what had ended by a moment, for a live view that goes on for hours. What was dropped is in no later
    /// snapshot and not in what [`Intake::finish`] makes.
    pub fn forget_before(&mut self, at: Timestamp) {
        self.processes.values_mut().for_each(|followed| followed.forget_before(at));
    }

    pub(crate) fn of(&mut self, thread: Thread) -> (&mut Followed, &mut Walker) {
        let followed = self.processes.entry(thread.process).or_insert_with(|| Followed::new(thread.process));
        (followed, &mut self.walker)
    }
}
