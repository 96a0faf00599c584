//! How much the target's threads were slowed down by a lack of processors.
//!
//! A thread that is ready but has to wait for a processor looks slow whatever it does: the lock it holds is held for
//! longer, the collection it makes takes longer. That is the machine's illness, or the container's, and not the
//! program's; findings about the program take it into account.

use std::collections::HashMap;

use model::ThreadId as TaskId;
use nettrace::ThreadId;
use process_view::{Process, ProcessorTime};

use crate::profiler::Run;

/// From this factor on a reader should know.
const WORTH_A_WORD: f64 = 1.5;
/// Threads that ran for less than this say nothing.
const LEAST_RUN_NS: u64 = 1_000_000;

/// Processor time of each thread at one moment.
#[derive(Debug, Default)]
pub(crate) struct Moment {
    threads: HashMap<TaskId, ProcessorTime>,
    /// The runtime's numbers of threads are the kernel's.
    same_numbers: bool,
}

impl Moment {
    /// Looks at the target's threads; nothing is known of a process in another namespace.
    pub(crate) fn of(run: &Run<'_>) -> Moment {
        if !run.process.visible {
            return Moment::default();
        }
        let tasks = Process::new(run.process.pid).tasks().unwrap_or_default();
        let time = |task: &process_view::Task| Some((task.id, task.processor_time()?));
        Moment {
            threads: tasks.iter().filter_map(time).collect(),
            same_numbers: run.process.pid.0 == run.process.pid_inside,
        }
    }

    /// What happened between this moment and a later one.
    pub(crate) fn until(&self, later: &Moment) -> Shortage {
        let mut threads = HashMap::new();
        let mut all = ProcessorTime::default();
        for (id, after) in &later.threads {
            let before = self.threads.get(id).copied().unwrap_or_default();
            let spent = ProcessorTime {
                ran_ns: after.ran_ns.saturating_sub(before.ran_ns),
                waited_ns: after.waited_ns.saturating_sub(before.waited_ns),
            };
            all.ran_ns += spent.ran_ns;
            all.waited_ns += spent.waited_ns;
            if later.same_numbers {
                threads.insert(ThreadId(id.0.into()), spent);
            }
        }
        Shortage { all, threads }
    }
}

/// How long threads ran, and how long they were ready but had no processor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shortage {
    all: ProcessorTime,
    threads: HashMap<ThreadId, ProcessorTime>,
}

impl Shortage {
    /// A shortage as a test wants it.
    #[cfg(test)]
    pub(crate) fn fixed(ran_ns: u64, waited_ns: u64) -> Shortage {
        Shortage { all: ProcessorTime { ran_ns, waited_ns }, threads: HashMap::new() }
    }

    /// How many times longer everything took than on a free machine; 1 if that is not known.
    pub(crate) fn slowdown(&self) -> f64 {
        slowdown(self.all)
    }

    /// The same of some threads.
    pub(crate) fn slowdown_of<'a>(&self, threads: impl IntoIterator<Item = &'a ThreadId>) -> f64 {
        let mut sum = ProcessorTime::default();
        for time in threads.into_iter().filter_map(|thread| self.threads.get(thread)) {
            sum.ran_ns += time.ran_ns;
            sum.waited_ns += time.waited_ns;
        }
        if sum.ran_ns < LEAST_RUN_NS { self.slowdown() } else { slowdown(sum) }
    }

    /// What a reader should know of it.
    pub(crate) fn note(&self) -> Option<String> {
        let factor = self.slowdown();
        (factor >= WORTH_A_WORD).then(|| {
            format!(
                "the process is short of CPU: its threads took {factor:.1} times as long as on a free machine, because \
                 others had the processors; times here are longer for that"
            )
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "a factor for people to read")]
fn slowdown(time: ProcessorTime) -> f64 {
    if time.ran_ns < LEAST_RUN_NS {
        return 1.0;
    }
    1.0 + time.waited_ns as f64 / time.ran_ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(ran_ns: u64, waited_ns: u64) -> Moment {
        let threads = HashMap::from([
            (TaskId(1), ProcessorTime { ran_ns, waited_ns }),
            (TaskId(2), ProcessorTime { ran_ns: 5_000_000, waited_ns: 0 }),
        ]);
        Moment { threads, same_numbers: true }
    }

    #[test]
    fn a_thread_that_waits_as_long_as_it_runs_takes_twice_as_long() {
        let shortage = moment(0, 0).until(&moment(10_000_000, 10_000_000));
        assert!((shortage.slowdown() - 2.0).abs() < 0.01, "{shortage:?}");
        assert!(shortage.note().is_some());
        assert!((shortage.slowdown_of(&[ThreadId(1)]) - 2.0).abs() < 0.01);
    }

    #[test]
    fn what_is_not_known_changes_nothing() {
        assert!((Shortage::default().slowdown() - 1.0).abs() < f64::EPSILON);
        assert_eq!(Shortage::default().note(), None);
        assert!((Shortage::fixed(1_000_000, 3_000_000).slowdown_of(&[ThreadId(9)]) - 4.0).abs() < 0.01);
    }
}
