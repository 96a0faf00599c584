//! `settings`: settings of the collector that do not fit the container.
//!
//! For: more heaps of the server collector than processors, or little memory for each; a hard limit of the heap that lies above
//! the container's. Against: large machines, for which the server collector is made; a collector that adapts the number of its
//! heaps by itself (.NET 9, unless it is switched off).

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};

use super::{Case, Verdict};
use crate::signs::{hexadecimal, is_on};
use crate::words::bytes;

/// Heaps that a processor can serve: one each is what the runtime makes.
const HEAPS_PER_PROCESSOR: f64 = 2.0;
/// Memory for each heap of the server collector, in bytes, below which its budgets do not fit.
const LEAST_MEMORY_PER_HEAP: u64 = 128 << 20;
/// From this version on the server collector adapts its heaps unless told not to.
const ADAPTS_SINCE: u32 = 9;
/// They cost something, but nobody falls ill of them alone.
const COST: f64 = 5.0;
/// The kernel kills it without the collector having tried.
const COST_OF_A_KILL: f64 = 30.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    [server_collector(case), hard_limit(case)].into_iter().flatten().collect()
}

/// Heaps of the server collector, and how that is known. None without it.
fn heaps(case: &Case<'_>) -> Option<(u64, &'static str)> {
    let surroundings = &case.signs.surroundings;
    let asked = surroundings.setting("gcheapcount").and_then(hexadecimal).filter(|count| *count > 0);
    let version = case.process.runtime_version.as_deref().unwrap_or_default();
    let major: u32 = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let may_adapt = match surroundings.setting("gcdynamicadaptationmode") {
        Some(mode) => is_on(mode),
        None => major >= ADAPTS_SINCE,
    };
    // A number that was asked for stays.
    if may_adapt && asked.is_none() {
        return None;
    }
    if let Some(heaps) = case.signs.told().and_then(|told| told.heaps).map(u64::from) {
        return (heaps > 1).then_some((heaps, "the collector says so"));
    }
    if surroundings.collector_threads > 0 {
        return Some((surroundings.collector_threads as u64, "it has as many threads"));
    }
    surroundings.setting("gcserver").filter(|value| is_on(value))?;
    let processors = Some(case.signs.processors()).filter(|count| count.is_finite());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of processors")]
    let each = processors.map(|count| count.ceil().clamp(1.0, 1024.0) as u64);
    asked.map(|count| (count, "DOTNET_GCHeapCount")).or(each.map(|count| (count, "one for each processor")))
}

fn server_collector(case: &Case<'_>) -> Option<Verdict> {
    let (heaps, known) = heaps(case)?;
    let processors = case.signs.processors();
    let memory = case.signs.container.memory_limit;
    let crowded = processors.is_finite() && heaps as f64 > processors.ceil() * HEAPS_PER_PROCESSOR;
    let cramped = memory.is_some_and(|memory| memory / heaps.max(1) < LEAST_MEMORY_PER_HEAP);
    if !crowded && !cramped {
        return None;
    }
    let title = match cramped {
        true => "The server collector does not fit the memory of this container",
        false => "The server collector has more heaps than this container has processors",
    };
    let mut finding = Finding::new("settings", Severity::Warning, Confidence::Medium, title)
        .culprit(Culprit::new(CulpritKind::Setting, "System.GC.Server"))
        .evidence("Heaps", format!("{heaps} ({known})"));
    if processors.is_finite() {
        finding = finding.evidence("Processors it may use", format!("{processors:.1}"));
    }
    if let Some(memory) = memory {
        finding = finding.evidence("Memory it may use", bytes(memory as f64));
    }
    let finding = finding
        .advice("DOTNET_gcServer=0 uses the workstation collector; or DOTNET_GCHeapCount limits the heaps.")
        .advice("DOTNET_GCDynamicAdaptationMode=1 (.NET 8) lets the collector choose.");
    Some(Verdict { finding, cost: COST })
}

fn hard_limit(case: &Case<'_>) -> Option<Verdict> {
    let text = case.signs.surroundings.setting("gcheaphardlimit")?;
    let (hard, memory) = (hexadecimal(text)?, case.signs.container.memory_limit?);
    if hard < memory {
        return None;
    }
    let title = "The heap may grow beyond the memory of this container";
    let finding = Finding::new("settings", Severity::Warning, Confidence::High, title)
        .culprit(Culprit::new(CulpritKind::Setting, "DOTNET_GCHeapHardLimit"))
        .evidence("DOTNET_GCHeapHardLimit", format!("{text} (hexadecimal): {}", bytes(hard as f64)))
        .evidence("Memory it may use", bytes(memory as f64))
        .advice(
            "Set it below the container's limit (75 % is what the runtime takes without it), or unset it.",
        );
    Some(Verdict { finding, cost: COST_OF_A_KILL })
}
