//! Looking at events while they are recorded: conditions, and the event that ends a recording.

use std::time::{Duration, Instant};

use nettrace::{Event, EventMetadata, MetadataId, Timestamp, TraceInfo};
use runtime_events::counters::CounterReading;
use runtime_events::gc::SuspendReason;
use runtime_events::{RuntimeEvent, decode, provider};

use crate::condition::{Condition, Gauge, Side};
use crate::live::{Fired, Live};
use crate::stopping_event::{Likeness, StoppingEvent};

/// What is to be looked for in events. Most recordings look for nothing.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    conditions: Vec<Condition>,
    stopping: Option<StoppingEvent>,
}

impl Watch {
    /// Looks for these.
    #[must_use]
    pub fn new(conditions: Vec<Condition>, stopping: Option<StoppingEvent>) -> Watch {
        Watch { conditions, stopping }
    }
}

/// Kinds of events that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Condition,
    Stop,
    Both,
}

/// Watches one session.
pub(crate) struct Watcher {
    watch: Watch,
    /// By the number of the kind.
    kinds: Vec<(MetadataId, Look)>,
    trace: Option<TraceInfo>,
    pause_began: Option<Timestamp>,
    /// Since when each condition holds.
    since: Vec<Option<Instant>>,
    field_was_missed: bool,
}

impl Watcher {
    pub fn new(watch: Watch) -> Watcher {
        let since = vec![None; watch.conditions.len()];
        Watcher { watch, kinds: Vec::new(), trace: None, pause_began: None, since, field_was_missed: false }
    }

    pub fn trace(&mut self, trace: &TraceInfo) {
        self.trace = Some(trace.clone());
    }

    /// Notes a kind of event if it will have to be looked at.
    pub fn metadata(&mut self, metadata: &EventMetadata) {
        let condition = self.watch.conditions.iter().any(|condition| concerns(condition, metadata));
        let stop = self.watch.stopping.as_ref().is_some_and(|stopping| stopping.may_be(metadata));
        let look = match (condition, stop) {
            (true, true) => Look::Both,
            (true, false) => Look::Condition,
            (false, true) => Look::Stop,
            (false, false) => return,
        };
        self.kinds.push((metadata.id, look));
    }

    /// Looks at an event, if it is of a kind to be looked at.
    pub fn event(&mut self, event: &Event<'_>, live: &Live) {
        // A handful of kinds at most, so a list is faster than a table.
        let Some((_, look)) = self.kinds.iter().find(|(id, _)| *id == event.header.metadata) else { return };
        let look = *look;
        if look != Look::Stop {
            self.check(event, live);
        }
        if look == Look::Condition || self.field_was_missed {
            return;
        }
        match self.watch.stopping.as_ref().map(|stopping| stopping.compare(event)) {
            Some(Likeness::Same) => live.stopping_event_seen(),
            Some(Likeness::NoSuchField(field)) => {
                self.field_was_missed = true;
                live.warn(format!(
                    "the stopping event has no field '{field}', so it cannot end the recording"
                ));
            }
            _ => {}
        }
    }

    fn check(&mut self, event: &Event<'_>, live: &Live) {
        match decode(event) {
            Ok(Some(RuntimeEvent::SuspendBegin(begin)))
                if matches!(begin.reason, SuspendReason::Gc | SuspendReason::GcPrepare) =>
            {
                self.pause_began = Some(event.header.timestamp);
            }
            Ok(Some(RuntimeEvent::RestartEnd(_))) => {
                let Some(began) = self.pause_began.take() else { return };
                let pause = self.trace.as_ref().map(|trace| trace.between(began, event.header.timestamp));
                self.pause(pause.unwrap_or_default(), live);
            }
            Ok(Some(RuntimeEvent::ExceptionThrown(thrown))) => {
                let name = thrown.type_name.to_string();
                let holds = |condition: &&Condition| matches!(condition, Condition::Exception(wanted) if is_like(&name, wanted));
                if let Some(condition) = self.watch.conditions.iter().find(holds) {
                    live.fire(Fired { condition: condition.to_string(), seen: name });
                }
            }
            Ok(Some(RuntimeEvent::EventCounter(counter))) => {
                let value = match counter.reading {
                    CounterReading::Mean { mean, .. } => mean,
                    CounterReading::Increment(increment) => increment,
                    _ => return,
                };
                self.counter(&event.metadata.provider, &counter.name.to_string(), value, live);
            }
            _ => {}
        }
    }

    fn pause(&self, pause: Duration, live: &Live) {
        let holds = |condition: &&Condition| matches!(condition, Condition::GcPause(limit) if pause > *limit);
        if let Some(condition) = self.watch.conditions.iter().find(holds) {
            let seen = format!("a pause of {}", model::format_duration(pause));
            live.fire(Fired { condition: condition.to_string(), seen });
        }
    }

    fn counter(&mut self, from: &str, name: &str, value: f64, live: &Live) {
        for (condition, since) in self.watch.conditions.iter().zip(&mut self.since) {
            let Condition::Level { gauge, .. } = condition else { continue };
            if let Some((wanted_provider, wanted, scale)) = gauge.counter()
                && (wanted_provider, wanted) == (from, name)
                && holds_long_enough(condition, value * scale, since)
            {
                let seen = match gauge {
                    Gauge::Heap => format!("{value:.0} MB"),
                    _ => format!("{name} is {}", shortened(value)),
                };
                live.fire(Fired { condition: condition.to_string(), seen });
            }
        }
    }
}

/// Whole numbers as they are, others with two decimals.
fn shortened(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") }
}

/// Whether a level is on its side of the threshold, and has been for as long as it must.
pub(crate) fn holds_long_enough(condition: &Condition, value: f64, since: &mut Option<Instant>) -> bool {
    let Condition::Level { side, threshold, lasting, .. } = condition else { return false };
    let holds = match side {
        Side::Above => value > *threshold,
        Side::Below => value < *threshold,
    };
    if !holds {
        *since = None;
        return false;
    }
    since.get_or_insert_with(Instant::now).elapsed() >= *lasting
}

/// Whether a condition has to do with a kind of event.
fn concerns(condition: &Condition, metadata: &EventMetadata) -> bool {
    let is_runtime = metadata.provider == provider::RUNTIME;
    match condition {
        Condition::GcPause(_) => is_runtime && matches!(metadata.event.0, 3 | 9),
        Condition::Exception(_) => is_runtime && metadata.event.0 == 80,
        Condition::Level { gauge, .. } => gauge.counter().is_some_and(|(provider, ..)| {
            metadata.provider == provider && metadata.name == provider::EVENT_COUNTERS
        }),
    }
}

fn is_like(name: &str, wanted: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => name == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_must_last() {
        let condition = Condition::parse("cpu>50% for 1h").unwrap();
        let mut since = None;
        assert!(!holds_long_enough(&condition, 60.0, &mut since));
        assert!(since.is_some());
        since = Instant::now().checked_sub(Duration::from_secs(3600));
        assert!(holds_long_enough(&condition, 60.0, &mut since));
        assert!(!holds_long_enough(&condition, 40.0, &mut since));
        assert!(since.is_none());
        let below = Condition::parse("cpu<50%").unwrap();
        assert!(holds_long_enough(&below, 40.0, &mut None));
    }

    #[test]
    fn a_star_stands_for_the_rest_of_a_name() {
        assert!(is_like("System.FormatException", "System.*"));
        assert!(is_like("System.FormatException", "*"));
        assert!(!is_like("System.FormatException", "System.Format"));
    }
}
