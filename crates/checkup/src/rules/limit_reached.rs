//! `limit-reached`: the container is out of memory or processors, or nearly.
//!
//! For: use near the limit, the kernel's counts of denied processor time and of killed processes. Against: file cache, which is
//! given up at once and is not counted here.

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};

use super::{Case, Verdict};
use crate::words::{bytes, percent};

/// Of the memory limit, in per cent.
const NEAR: f64 = 90.0;
/// Of its periods, in per cent, in which it was stopped. A burst is stopped now and then.
const THROTTLED: f64 = 20.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    [memory(case), processors(case)].into_iter().flatten().collect()
}

fn memory(case: &Case<'_>) -> Option<Verdict> {
    let container = &case.signs.container;
    let (used, limit) = (container.memory_used?, container.memory_limit.filter(|limit| *limit > 0)?);
    let share = used as f64 / limit as f64 * 100.0;
    if share < NEAR && case.signs.killed == 0 {
        return None;
    }
    let title = match case.signs.killed {
        0 => format!("The container uses {} of the memory it may have", percent(share)),
        1 => "The kernel killed a process of the container for lack of memory".to_owned(),
        killed => format!("The kernel killed {killed} processes of the container for lack of memory"),
    };
    let mut finding = Finding::new("limit-reached", Severity::Critical, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, "memory limit of the container"))
        .evidence("In use", format!("{} of {}", bytes(used as f64), bytes(limit as f64)));
    if let Some(resident) = case.signs.system.as_ref().map(|system| system.resident.last()) {
        finding = finding.evidence("Of it, this process", bytes(resident as f64));
    }
    if let Some(heap) = case.signs.told().and_then(crate::signs::RuntimeSigns::heap_bytes) {
        finding = finding.evidence("Of that, its heap", bytes(heap));
    }
    if case.signs.killed > 0 {
        finding =
            finding.evidence("Killed for lack of memory while we looked", case.signs.killed.to_string());
    }
    finding = finding
        .advice("At the limit the kernel kills the process: raise the limit, or find what takes the memory.")
        .advice("DOTNET_GCHeapHardLimitPercent makes the collector keep a distance.");
    Some(Verdict { finding, cost: 85.0 })
}

fn processors(case: &Case<'_>) -> Option<Verdict> {
    let throttled = case.signs.throttled.filter(|share| *share >= THROTTLED)?;
    let limit = case.signs.container.processors?;
    let title = format!("The container's CPU limit stops it in {} of its periods", percent(throttled));
    let finding = Finding::new("limit-reached", Severity::Warning, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, "CPU limit of the container"))
        .evidence("Limit", format!("{limit:.1} processors"))
        .evidence("Stopped in", format!("{} of its periods", percent(throttled)))
        .evidence("This process used", used(case))
        .advice("Raise the limit, or make the program use less: each stop adds up to 0.1 s to whatever runs.")
        .advice("drdotnet cpu says what uses it.");
    Some(Verdict { finding, cost: throttled })
}

fn used(case: &Case<'_>) -> String {
    let used = case.signs.system.as_ref().map_or(0.0, crate::signs::System::cpu_percent);
    format!("{} of one processor", percent(used))
}
