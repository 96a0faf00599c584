//! `limit-reached`: the container is out of memory or processors, or nearly.
//!
//! For: use near the limit, the kernel's counts of denied processor time and of killed processes. Against: file cache, which is
//! given up at once and is not counted here.

use facts::{Confidence, Culprit, CulpritKind, Severity, Sign};

use crate::signs::{RuntimeSigns, System};
use crate::{Case, Verdict};

/// Of the memory limit, in per cent.
const NEAR: f64 = 90.0;
/// Of its periods, in per cent, in which it was stopped. A burst is stopped now and then.
const THROTTLED: f64 = 20.0;
/// Whoever wants more memory is killed.
const COST_OF_MEMORY: f64 = 85.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    [memory(case), processors(case)].into_iter().flatten().collect()
}

fn memory(case: &Case) -> Option<Verdict> {
    let container = &case.signs.container;
    let (used, limit) = (container.memory_used?, container.memory_limit.filter(|limit| *limit > 0)?);
    let killed = case.signs.killed;
    if (used as f64 / limit as f64 * 100.0) < NEAR && killed == 0 {
        return None;
    }
    let resident = case.signs.system.as_ref().map(|system| system.resident.last());
    let heap = case.signs.runtime.as_ref().and_then(RuntimeSigns::heap_bytes);
    let sign = Sign::MemoryLimit { used, limit, resident, heap, killed };
    let verdict =
        Verdict::of_sign("limit-reached", (Severity::Critical, Confidence::High), sign, COST_OF_MEMORY);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "memory limit of the container")))
}

fn processors(case: &Case) -> Option<Verdict> {
    let stopped = case.signs.throttled.filter(|share| *share >= THROTTLED)?;
    let processors = case.signs.container.processors?;
    let used = case.signs.system.as_ref().map_or(0.0, System::cpu_percent);
    let sign = Sign::ProcessorLimit { processors, stopped, used };
    let verdict = Verdict::of_sign("limit-reached", (Severity::Warning, Confidence::High), sign, stopped);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "CPU limit of the container")))
}
