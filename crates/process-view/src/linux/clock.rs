//! From the kernel's ticks since boot to moments and durations.

use std::time::Duration;

use model::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Processor time that this process itself has used, finer than the ticks of /proc.
#[must_use]
pub fn own_cpu_time() -> Duration {
    duration_of(clock_gettime(ClockId::ProcessCPUTime))
}

/// The clock that only goes forward, as runtimes stamp their events with it.
#[must_use]
pub fn monotonic_now() -> Duration {
    duration_of(clock_gettime(ClockId::Monotonic))
}

fn duration_of(time: rustix::time::Timespec) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Converts ticks; taken once per look so that all rows of a list agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    ticks_per_second: u64,
    since_boot: Duration,
    now: Timestamp,
}

impl Clock {
    /// The clock as it stands now.
    #[must_use]
    pub fn now() -> Self {
        Clock {
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
            since_boot: duration_of(clock_gettime(ClockId::Boottime)),
            now: Timestamp::now(),
        }
    }

    /// Length of a number of ticks.
    #[must_use]
    pub fn duration(&self, ticks: u64) -> Duration {
        Duration::from_nanos(ticks.saturating_mul(1_000_000_000 / self.ticks_per_second))
    }

    /// How long ago a thing began that started `ticks` after boot.
    #[must_use]
    pub fn age(&self, start_ticks: u64) -> Duration {
        self.since_boot.saturating_sub(self.duration(start_ticks))
    }

    /// The moment of a start that lies `ticks` after boot.
    #[must_use]
    pub fn moment(&self, start_ticks: u64) -> Timestamp {
        self.now.checked_sub(self.age(start_ticks)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_started_after_boot_and_before_now() {
        let clock = Clock::now();
        let stat = crate::Process::this().stat().unwrap();
        assert!(clock.age(stat.start_ticks) < clock.since_boot);
        assert!(clock.moment(stat.start_ticks) <= clock.now);
    }
}
