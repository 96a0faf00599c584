//! `jit-storm`: the just-in-time compiler never rests, or does more than it should.
//!
//! For: methods compiled all the time, for one place of the program. Against: a program that has just started.

use model::{Confidence, Culprit, CulpritKind, Finding, Severity};

use super::{Case, Verdict};
use crate::words::rate;

/// Methods compiled a second without a place to blame.
const STORM: f64 = 100.0;
/// A program compiles what it needs in its first minute.
const STARTED_SECONDS: u64 = 60;
/// A method takes about 0.3 ms.
const SECONDS_EACH: f64 = 0.000_3;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let compiled = case.signs.told().map_or(0.0, crate::signs::RuntimeSigns::compiled_rate);
    let cost = (compiled * SECONDS_EACH * 100.0).clamp(1.0, 100.0);
    let mut verdicts = case.adopt("jit-storm", cost);
    let started = case.process.uptime.is_none_or(|uptime| uptime.as_secs() >= STARTED_SECONDS);
    if verdicts.is_empty() && !case.has_look("compilations") && compiled >= STORM && started {
        let title = format!("Methods are compiled {}", rate(compiled));
        let finding = Finding::new("jit-storm", Severity::Warning, Confidence::Medium, title)
            .evidence("Compiled", rate(compiled))
            .advice("Compile expressions, rules and regular expressions once, and keep the delegate.");
        verdicts.push(Verdict { finding, cost });
    }
    verdicts.extend(without_tiers(case));
    verdicts
}

/// Tiered compilation switched off: every method is optimised at its first call, which makes starts slow.
fn without_tiers(case: &Case<'_>) -> Option<Verdict> {
    let set = case.signs.surroundings.setting("tieredcompilation")?;
    if crate::signs::is_on(set) {
        return None;
    }
    let finding = Finding::new("jit-storm", Severity::Info, Confidence::Medium, "Tiered compilation is switched off")
        .culprit(Culprit::new(CulpritKind::Setting, "DOTNET_TieredCompilation"))
        .evidence("DOTNET_TieredCompilation", set)
        .advice("Leave it on, unless a measurement says otherwise: starts are faster, and so is hot code (dynamic PGO).");
    Some(Verdict { finding, cost: 0.5 })
}
