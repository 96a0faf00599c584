//! The time that a checkup has. Somebody is waiting for it: what does not fit is left out and named, whatever the target does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use profilers::{Control, Stop};

use crate::steps::{Leave, STEPS};

/// How long the vital signs are watched.
pub const WINDOW: Duration = Duration::from_secs(4);
/// The same when more time is given.
pub const DEEP_WINDOW: Duration = Duration::from_secs(12);
/// How much longer looks are when more time is given.
pub(crate) const DEEPER: f64 = 3.0;

/// When the last closer look is asked to end.
const BUDGET: Duration = Duration::from_millis(13_000);
/// When the report is made of what there is: 15 s are promised, and a report wants to be made and written.
const LIMIT: Duration = Duration::from_millis(14_300);
/// For each look of a deep checkup, beside its own time: bringing in and leading out the agent, naming.
const DEEP_OVERHEAD: Duration = Duration::from_millis(500);
/// How many times what it is expected to take a deep checkup may take.
const DEEP_PATIENCE: u32 = 3;
/// How quickly a wish is noticed.
const GLANCE: Duration = Duration::from_millis(50);

/// The time that a checkup has.
#[derive(Clone, Debug)]
pub struct Clock {
    begin: Instant,
    budget: Duration,
    limit: Duration,
    asked: Arc<AtomicBool>,
}

impl Clock {
    /// Begins now.
    #[must_use]
    pub fn start(leave: Leave) -> Clock {
        let (budget, limit) = match leave.deep {
            true => (expected(leave), expected(leave) * DEEP_PATIENCE),
            false => (BUDGET, LIMIT),
        };
        Clock { begin: Instant::now(), budget, limit, asked: Arc::default() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// What it is to take.
    pub(crate) fn budget(&self) -> Duration {
        self.budget
    }

    /// How much is left for closer looks.
    pub(crate) fn left(&self) -> Duration {
        self.budget.saturating_sub(self.elapsed())
    }

    /// How much is left until the report is made of what there is.
    pub(crate) fn until_over(&self) -> Duration {
        self.limit.saturating_sub(self.elapsed())
    }

    /// Whether the report is to be made, whoever has not ended yet.
    pub(crate) fn is_over(&self) -> bool {
        self.elapsed() >= self.limit
    }

    /// The user wants the report now.
    pub(crate) fn end_early(&self) {
        self.asked.store(true, Ordering::Release);
    }

    pub(crate) fn is_ended_early(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// How a look is held to the time; it is asked to end when this much has gone by.
    pub(crate) fn reins(&self, most: Duration) -> Reins {
        let until = Instant::now() + most.min(self.until_over());
        Reins { until, asked: Arc::clone(&self.asked), pulled: AtomicBool::new(false) }
    }
}

/// About how long it takes.
#[must_use]
pub fn expected(leave: Leave) -> Duration {
    if !leave.deep {
        return BUDGET;
    }
    let looks = |one_by_one: bool| {
        let steps = STEPS.iter().filter(move |step| step.lane.is_one_by_one() == one_by_one);
        steps.map(|step| Duration::from_secs_f64(step.seconds * DEEPER) + DEEP_OVERHEAD)
    };
    DEEP_WINDOW + looks(true).sum::<Duration>() + looks(false).max().unwrap_or_default()
}

/// The control of one look: it waits, and knows when to end.
pub(crate) struct Reins {
    until: Instant,
    asked: Arc<AtomicBool>,
    pulled: AtomicBool,
}

impl Reins {
    /// Whether the look had to end because its time was over.
    pub(crate) fn were_pulled(&self) -> bool {
        self.pulled.load(Ordering::Acquire)
    }
}

impl Control for Reins {
    fn wait(&self, time: Duration) -> Stop {
        let end = Instant::now() + time;
        loop {
            if self.asked.load(Ordering::Acquire) {
                return Stop::Cancelled;
            }
            let now = Instant::now();
            if now >= self.until {
                self.pulled.store(true, Ordering::Release);
                return Stop::Cancelled;
            }
            if now >= end {
                return Stop::TimeOver;
            }
            std::thread::sleep((end - now).min(GLANCE).min(self.until - now));
        }
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

/// Looks that had not ended when the report was made. They end by themselves; whoever looks at the same process again, or ends,
/// waits for them first, so that they leave it as they found it.
#[derive(Debug, Default)]
#[must_use]
pub struct Stragglers(Vec<JoinHandle<()>>);

impl Stragglers {
    pub(crate) fn add(&mut self, handle: JoinHandle<()>) {
        if !handle.is_finished() {
            self.0.push(handle);
        }
    }

    /// Takes over those of another.
    pub(crate) fn extend(&mut self, other: Stragglers) {
        self.0.extend(other.0);
    }

    /// How many there still are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().filter(|handle| !handle.is_finished()).count()
    }

    /// Waits for them, at most this long, and says whether all have ended.
    pub fn wait(&self, most: Duration) -> bool {
        let end = Instant::now() + most;
        while self.count() > 0 {
            if Instant::now() >= end {
                return false;
            }
            std::thread::sleep(GLANCE);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_asked_to_end_when_its_time_is_over() {
        let clock = Clock::start(Leave::default());
        let reins = clock.reins(Duration::from_millis(1));
        assert_eq!(reins.wait(Duration::from_secs(3600)), Stop::Cancelled);
        assert!(reins.were_pulled());
        let free = clock.reins(Duration::from_secs(5));
        assert_eq!(free.wait(Duration::ZERO), Stop::TimeOver);
        assert!(!free.were_pulled());
    }

    #[test]
    fn the_user_ends_all_looks_at_once() {
        let clock = Clock::start(Leave::default());
        let reins = clock.reins(Duration::from_secs(5));
        clock.clone().end_early();
        assert_eq!(reins.wait(Duration::from_secs(3600)), Stop::Cancelled);
        assert!(!reins.were_pulled() && clock.is_ended_early());
    }

    #[test]
    fn a_deep_checkup_takes_longer_and_says_how_long() {
        let deep = expected(Leave { deep: true, ..Leave::default() });
        assert!(deep > Duration::from_secs(60) && deep < Duration::from_secs(180), "{deep:?}");
    }

    #[test]
    fn stragglers_are_waited_for() {
        let mut stragglers = Stragglers::default();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        stragglers.add(std::thread::spawn(move || assert!(ended.recv().is_err())));
        assert!(!stragglers.wait(Duration::ZERO));
        drop(end);
        assert!(stragglers.wait(Duration::from_secs(60)));
    }
}
