//! `settings`: settings of the collector that do not fit the container.
//!
//! For: more heaps of the server collector than processors, or little memory for each; a hard limit of the heap that lies above
//! the container's. Against: large machines, for which the server collector is made; a collector that adapts the number of its
//! heaps by itself (.NET 9, unless it is switched off).

use facts::{Confidence, Culprit, CulpritKind, HeapsKnownBy, Severity, Sign};

use crate::signs::{hexadecimal, is_on};
use crate::{Case, Verdict};

/// Heaps that a processor can serve: one each is what the runtime makes.
const HEAPS_PER_PROCESSOR: f64 = 2.0;
/// Memory for each heap of the server collector, in bytes, below which its budgets do not fit.
const MIN_MEMORY_PER_HEAP: u64 = 128 << 20;
/// From this version on the server collector adapts its heaps unless a setting forbids it.
const ADAPTS_SINCE: u32 = 9;
/// They cost something, but nobody falls ill of them alone.
const COST: f64 = 5.0;
/// The kernel kills it without the collector having tried.
const COST_OF_A_KILL: f64 = 30.0;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    [server_collector(case), hard_limit(case)].into_iter().flatten().collect()
}

/// Heaps of the server collector, and how that is known. None without it.
fn heaps(case: &Case) -> Option<(u64, HeapsKnownBy)> {
    let surroundings = &case.signs.surroundings;
    let asked = surroundings.setting("gcheapcount").and_then(hexadecimal).filter(|count| *count > 0);
    let may_adapt = match surroundings.setting("gcdynamicadaptationmode") {
        Some(mode) => is_on(mode),
        None => case.subject.runtime.is_some_and(|major| major >= ADAPTS_SINCE),
    };
    // A number that was asked for stays.
    if may_adapt && asked.is_none() {
        return None;
    }
    if let Some(heaps) = case.signs.runtime.as_ref().and_then(|runtime| runtime.heaps).map(u64::from) {
        return (heaps > 1).then_some((heaps, HeapsKnownBy::Collection));
    }
    if surroundings.collector_threads > 0 {
        return Some((surroundings.collector_threads as u64, HeapsKnownBy::Threads));
    }
    surroundings.setting("gcserver").filter(|value| is_on(value))?;
    let processors = Some(case.signs.processors()).filter(|count| count.is_finite());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of processors")]
    let each = processors.map(|count| count.ceil().clamp(1.0, 1024.0) as u64);
    let each = each.map(|count| (count, HeapsKnownBy::Processors));
    asked.map(|count| (count, HeapsKnownBy::Setting)).or(each)
}

fn server_collector(case: &Case) -> Option<Verdict> {
    let (heaps, known_by) = heaps(case)?;
    let processors = Some(case.signs.processors()).filter(|count| count.is_finite());
    let memory = case.signs.container.memory_limit;
    let crowded = processors.is_some_and(|count| heaps as f64 > count.ceil() * HEAPS_PER_PROCESSOR);
    let cramped = memory.is_some_and(|memory| memory / heaps.max(1) < MIN_MEMORY_PER_HEAP);
    if !crowded && !cramped {
        return None;
    }
    let sign = Sign::ServerCollector { heaps, known_by, processors, memory, cramped };
    let verdict = Verdict::of_sign("settings", (Severity::Warning, Confidence::Medium), sign, COST);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "System.GC.Server")))
}

fn hard_limit(case: &Case) -> Option<Verdict> {
    let value = case.signs.surroundings.setting("gcheaphardlimit")?;
    let (bytes, memory) = (hexadecimal(value)?, case.signs.container.memory_limit?);
    if bytes < memory {
        return None;
    }
    let sign = Sign::HeapHardLimit { value: value.to_owned(), bytes, memory };
    let verdict = Verdict::of_sign("settings", (Severity::Warning, Confidence::High), sign, COST_OF_A_KILL);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "DOTNET_GCHeapHardLimit")))
}
