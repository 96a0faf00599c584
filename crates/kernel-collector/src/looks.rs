//! Looking at threads while they wait: those that were parked before we came, and those whose wait lasts.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kernel_profile::{Intake, Looked};
use model::{ProcessId, ThreadId};
use perf_sampler::{Granted, KernelFrames, OffCpu, OpenWait, Sampler, Timestamp};

/// How often there is a look.
const EVERY: Duration = Duration::from_millis(50);
/// Waits that have lasted so long get their look before others.
const LONG: Duration = Duration::from_millis(50);
/// Looks of one round; others come in the next. See docs/kernel-profiles.md for what a look
/// takes. They are counted and not timed, for on a busy machine time passes without us.
const ROUND: usize = 16;
/// The same while threads are left that were there at the start, and how soon the next round comes then.
const FIRST_ROUNDS: usize = 256;
const SOON: Duration = Duration::from_millis(5);
/// Looks that are remembered; beyond, those at threads that have gone on are forgotten.
const MOST_REMEMBERED: usize = 1 << 14;

/// The looks of one recording.
pub(crate) struct Looks {
    kernel: KernelFrames,
    last: Option<Instant>,
    /// The wait that was looked at, by thread.
    done: HashMap<ThreadId, Timestamp>,
    refused: Vec<ProcessId>,
    rounds: usize,
    took: Duration,
    /// Stacks that looks gave.
    stacks: u64,
    /// Whether time was too short for some that were there at the start.
    first_left: bool,
}

impl Looks {
    /// `None` when waits are not recorded.
    pub(crate) fn for_what_is_granted(
        granted: &Granted,
        kernel: KernelFrames,
        intake: &mut Intake,
    ) -> Option<Looks> {
        let stack_every = match granted.off_cpu? {
            OffCpu::WithStacks(_) => Some(granted.wait_stack_every),
            OffCpu::TimesOnly => None,
        };
        intake.sampled(EVERY, stack_every);
        let (done, refused) = (HashMap::new(), Vec::new());
        let took = Duration::ZERO;
        Some(Looks { kernel, last: None, done, refused, rounds: 0, took, stacks: 0, first_left: false })
    }

    /// How long until the next round.
    pub(crate) fn next(&self) -> Duration {
        let every = if self.first_left { SOON } else { EVERY };
        self.last.map_or(Duration::ZERO, |last| every.saturating_sub(last.elapsed()))
    }

    /// How long all looks took.
    pub(crate) fn took(&self) -> Duration {
        self.took
    }

    /// Stacks that looks have given so far.
    pub(crate) fn stacks(&self) -> u64 {
        self.stacks
    }

    /// Looks at those that wait, if it is time.
    pub(crate) fn round(&mut self, sampler: &Sampler, intake: &mut Intake) {
        if !self.next().is_zero() {
            return;
        }
        let begin = Instant::now();
        let (now, started) = (Timestamp::now(), sampler.started());
        if self.done.len() > MOST_REMEMBERED {
            let waiting: HashMap<ThreadId, Timestamp> =
                sampler.waiting().map(|wait| (wait.thread.id, wait.since)).collect();
            self.done.retain(|thread, since| waiting.get(thread) == Some(since));
        }
        let mut waits: Vec<OpenWait> = sampler.waiting().filter(|wait| self.is_wanted(wait)).collect();
        // First those that were there before we came, then those that last; the others in turn, so that chance is fair
        // when time is short.
        waits.sort_by_key(|wait| wait.thread.id);
        if !waits.is_empty() {
            let turn = self.rounds.wrapping_mul(31) % waits.len();
            waits.rotate_left(turn);
        }
        waits.sort_by_key(|wait| (wait.since > started, now.since(wait.since) < LONG));
        self.first_left = false;
        let mut looks = 0;
        for wait in waits {
            if self.refused.contains(&wait.thread.process) {
                continue;
            }
            let first = wait.since <= started;
            if looks >= if first { FIRST_ROUNDS } else { ROUND } {
                self.first_left = first;
                break;
            }
            looks += 1;
            match intake.look(&wait, self.kernel) {
                Looked::Seen => {
                    self.stacks += 1;
                    self.done.insert(wait.thread.id, wait.since);
                }
                Looked::Refused => self.refused.push(wait.thread.process),
                Looked::Runnable | Looked::Moved => {}
            }
        }
        self.rounds += 1;
        self.took += begin.elapsed();
        self.last = Some(Instant::now());
    }

    fn is_wanted(&self, wait: &OpenWait) -> bool {
        !wait.has_stack
            && self.done.get(&wait.thread.id) != Some(&wait.since)
            && !self.refused.contains(&wait.thread.process)
    }
}
