//! Conditions that the kernel tells about: processor time and memory of the target.

use std::time::{Duration, Instant};

use model::ProcessId;
use process_view::{Clock, Process};

use crate::condition::{Condition, Gauge};
use crate::live::Fired;
use crate::watch::holds_long_enough;

/// How often they are looked at; shorter, and processor time would be a matter of luck.
const PERIOD: Duration = Duration::from_secs(1);

/// Looks at a process from outside.
pub struct Gauges {
    process: Process,
    conditions: Vec<Condition>,
    since: Vec<Option<Instant>>,
    last: Option<(Instant, Duration)>,
}

impl Gauges {
    /// Those of the conditions that the kernel tells about.
    #[must_use]
    pub fn new(process: ProcessId, conditions: &[Condition]) -> Gauges {
        let outside = |condition: &&Condition| {
            matches!(condition, Condition::Level { gauge: Gauge::Cpu | Gauge::Memory, .. })
        };
        let conditions: Vec<Condition> = conditions.iter().filter(outside).cloned().collect();
        let since = vec![None; conditions.len()];
        Gauges { process: Process::new(process), conditions, since, last: None }
    }

    /// The condition that holds, if one does. May be asked as often as one likes.
    pub fn look(&mut self) -> Option<Fired> {
        if self.conditions.is_empty() || self.last.is_some_and(|(moment, _)| moment.elapsed() < PERIOD) {
            return None;
        }
        let stat = self.process.stat().ok()?;
        let used = Clock::now().duration(stat.cpu_ticks());
        let now = Instant::now();
        let before = self.last.replace((now, used));
        let cpu = before.map(|(moment, earlier)| {
            used.saturating_sub(earlier).as_secs_f64() * 100.0 / now.duration_since(moment).as_secs_f64()
        });
        #[expect(clippy::cast_precision_loss, reason = "compared with a threshold")]
        let memory =
            self.process.status().ok().and_then(|status| status.resident_bytes).map(|bytes| bytes as f64);
        let mut fired = None;
        for (condition, since) in self.conditions.iter().zip(&mut self.since) {
            let Condition::Level { gauge, .. } = condition else { continue };
            let (value, seen) = match gauge {
                Gauge::Cpu => (cpu, cpu.map(|cpu| format!("{cpu:.0} % of a core"))),
                _ => (memory, memory.map(|bytes| format!("{:.0} MB", bytes / 1e6))),
            };
            let (Some(value), Some(seen)) = (value, seen) else { continue };
            if holds_long_enough(condition, value, since) && fired.is_none() {
                fired = Some(Fired { condition: condition.to_string(), seen });
            }
        }
        fired
    }
}
