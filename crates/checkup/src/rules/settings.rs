//! `settings`: settings of the collector that do not fit the container.
//!
//! For: the server collector with one processor or little memory; no background collections in a program whose full collections
//! are long. Against: large machines, for which the server collector is made.

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};

use super::{Case, Verdict};
use crate::signs::is_on;
use crate::words::bytes;

/// Heaps that a processor can serve: one each is what the runtime makes.
const HEAPS_PER_PROCESSOR: f64 = 2.0;
/// Memory for each heap of the server collector, in bytes, below which its budgets do not fit.
const LEAST_MEMORY_PER_HEAP: u64 = 128 << 20;
/// They cost something, but nobody falls ill of them alone.
const COST: f64 = 5.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    server_collector(case).into_iter().collect()
}

fn server_collector(case: &Case<'_>) -> Option<Verdict> {
    let heaps = case.signs.told().and_then(|told| told.heaps);
    let asked = case.signs.surroundings.setting("gcserver").is_some_and(is_on);
    let heaps = heaps.filter(|heaps| *heaps > 1).or(asked.then_some(1))?;
    let processors = case.signs.processors();
    let memory = case.signs.container.memory_limit;
    let crowded = processors.is_finite() && f64::from(heaps) > processors.ceil() * HEAPS_PER_PROCESSOR;
    let cramped = memory.is_some_and(|memory| memory / u64::from(heaps) < LEAST_MEMORY_PER_HEAP);
    if !crowded && !cramped {
        return None;
    }
    let mut finding = Finding::new(
        "settings",
        Severity::Warning,
        Confidence::Medium,
        "The server collector does not fit this container",
    )
    .culprit(Culprit::new(CulpritKind::Setting, "System.GC.Server"))
    .evidence("Heaps", heaps.to_string())
    .evidence("Processors it may use", format!("{processors:.1}"));
    if let Some(memory) = memory {
        finding = finding.evidence("Memory it may use", bytes(memory as f64));
    }
    let finding = finding
        .advice("DOTNET_gcServer=0 uses the workstation collector; or DOTNET_GCHeapCount limits the heaps.")
        .advice("DOTNET_GCDynamicAdaptationMode=1 (.NET 8) lets the collector choose.");
    Some(Verdict { finding, cost: COST })
}
