//! Who is examined, on which runtime.

use std::fmt;

use testbed::{Kind, Patient, Runtime, Testbed, TestbedError, patients};

use crate::unmet;

/// The name of the program that is not ours.
const STRANGER: &str = "stranger";

/// Two illnesses of different families in one process, and where they are examined.
#[rustfmt::skip]
pub const PAIRS: &[(&str, &[Runtime])] = &[
    ("deadlock-ab-ba+leak-event-handlers", &Runtime::ALL),
    ("exception-storm+leak-static-collection", &Runtime::ALL),
    ("hot-method+stuck-tasks", &[Runtime::Net8, Runtime::Net9, Runtime::Net10]),
    ("lock-contention+leak-timers", &[Runtime::Net8, Runtime::Net9, Runtime::Net10]),
    ("pool-starvation+descriptor-leak", &[Runtime::Net9, Runtime::Net10]),
    ("regex-backtracking+zombie-threads", &[Runtime::Net31, Runtime::Net9, Runtime::Net10]),
    ("forced-collections+await-circle", &[Runtime::Net8, Runtime::Net9, Runtime::Net10]),
    ("jit-storm+orphaned-lock", &[Runtime::Net9, Runtime::Net10]),
    ("slow-http+leak-cache", &[Runtime::Net8, Runtime::Net9, Runtime::Net10]),
    ("pinned-buffers+deadlock-three-party", &[Runtime::Net31, Runtime::Net9, Runtime::Net10]),
];

/// Patients that want a processor for themselves. Two of them at once would take it from each other, which is an illness of its own.
const BUSY: &[&str] = &[
    "allocation-pressure",
    "aspnet-two-routes",
    "async-hot-path",
    "exception-storm",
    "forced-collections",
    "healthy-allocation",
    "healthy-busy-aspnet",
    "healthy-busy-web",
    "healthy-computation",
    "healthy-mixed-load",
    "healthy-short-locks",
    "hot-method",
    "jit-storm",
    "lock-contention",
    "lock-contention-lock-type",
    "long-gc-pauses",
    "pool-starvation",
    "regex-backtracking",
    "timer-flood",
    "web-two-routes",
];

/// What a program is to the clinic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// It has one illness, or several of one patient.
    Ill,
    /// Nothing is wrong with it.
    Healthy,
    /// Two patients in one process.
    Pair,
}

/// One program on one runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// A patient's id, several joined by `+`, or `stranger`.
    pub ids: &'static str,
    /// The runtime.
    pub runtime: Runtime,
}

impl Visit {
    /// Those who share the process; nobody we know for the stranger.
    pub fn patients(&self) -> Vec<&'static Patient> {
        testbed::named(self.ids).unwrap_or_default()
    }

    /// What it is to the clinic.
    pub fn group(&self) -> Group {
        match self.patients().as_slice() {
            [one] if one.kind == Kind::Illness => Group::Ill,
            [] | [_] => Group::Healthy,
            _ => Group::Pair,
        }
    }

    /// Whether it wants a processor for itself.
    pub fn is_busy(&self) -> bool {
        self.ids.split('+').any(|id| BUSY.contains(&id))
    }

    /// The target, not started yet.
    pub(crate) fn start(
        &self,
        testbed: &Testbed,
        work: Option<&std::path::Path>,
    ) -> Result<testbed::Target, TestbedError> {
        let builder = match self.ids {
            STRANGER => testbed.stranger(),
            ids => testbed.target(ids, self.runtime),
        };
        work.into_iter().fold(builder, |builder, path| builder.env("PATIENT_WORK", path)).start()
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.ids, self.runtime)
    }
}

/// Everybody on every runtime: the ill, the healthy, the stranger, the pairs.
pub fn all() -> Vec<Visit> {
    let each = |kind: Kind| {
        patients().iter().filter(move |patient| patient.kind == kind).flat_map(|patient| {
            patient.runtimes.iter().map(|runtime| Visit { ids: patient.id, runtime: *runtime })
        })
    };
    let stranger = Visit { ids: STRANGER, runtime: Runtime::Net10 };
    let pairs = PAIRS
        .iter()
        .flat_map(|(ids, runtimes)| runtimes.iter().map(|runtime| Visit { ids, runtime: *runtime }));
    each(Kind::Illness).chain(pairs).chain(each(Kind::Control)).chain([stranger]).collect()
}

/// Everybody once, for a test that has minutes: one after the other on the next runtime, so that each runtime has its part. The seed
/// says who begins. What is known not to be found somewhere is looked for elsewhere.
pub fn chosen(seed: usize) -> Vec<Visit> {
    let mut by_ids: Vec<(&'static str, Vec<Visit>)> = Vec::new();
    for visit in all() {
        match by_ids.last_mut().filter(|(ids, _)| *ids == visit.ids) {
            Some((_, visits)) => visits.push(visit),
            None => by_ids.push((visit.ids, vec![visit])),
        }
    }
    let mut turn = seed;
    let mut chosen = Vec::new();
    for (_, visits) in by_ids {
        let met: Vec<Visit> = visits.iter().copied().filter(|visit| unmet::reason(visit).is_none()).collect();
        chosen.extend(met.get(turn % met.len().max(1)));
        // Who runs in one place takes no turn.
        turn += usize::from(visits.len() > 1);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_busy_ones_exist() {
        for (ids, runtimes) in PAIRS {
            let pair = testbed::named(ids).unwrap();
            assert!(pair.iter().all(|patient| patient.kind == Kind::Illness), "{ids}");
            assert!(
                pair.iter().all(|patient| runtimes.iter().all(|one| patient.runtimes.contains(one))),
                "{ids}"
            );
            assert!(runtimes.contains(&Runtime::Net9), "{ids}");
        }
        for id in BUSY {
            assert!(testbed::named(id).is_ok(), "{id}");
        }
    }

    #[test]
    fn everybody_is_chosen_once_on_runtimes_in_turn() {
        let (all, chosen) = (all(), chosen(7));
        for visit in &all {
            let times = chosen.iter().filter(|one| one.ids == visit.ids).count();
            let everywhere =
                all.iter().filter(|one| one.ids == visit.ids).all(|one| unmet::reason(one).is_some());
            assert_eq!(times, usize::from(!everywhere), "{visit}");
        }
        for runtime in Runtime::ALL {
            let here = chosen.iter().filter(|visit| visit.runtime == runtime).count();
            assert!(here * 6 > chosen.len(), "{here} of {} on {runtime}", chosen.len());
        }
    }

    #[test]
    fn with_every_seed_in_turn_everybody_is_examined_everywhere() {
        let all = all();
        let seen: Vec<Visit> = (0..12).flat_map(chosen).collect();
        for visit in all.iter().filter(|visit| unmet::reason(visit).is_none()) {
            assert!(seen.contains(visit), "{visit}");
        }
    }
}
