//! `jit-storm`: the just-in-time compiler never rests, or does more than it should.
//!
//! For: methods compiled all the time, for one place of the program. Against: a program that has just started.

use facts::{Confidence, Culprit, CulpritKind, Severity, Sign};

use crate::{Case, Verdict};

/// Methods compiled a second without a place to blame.
const STORM: f64 = 100.0;
/// A program compiles what it needs in its first minute.
const STARTED_SECONDS: u64 = 60;
/// A method takes about 0.3 ms.
const SECONDS_EACH: f64 = 0.000_3;
/// Starts are slow, and nothing is lost after that.
const COST_OF_STARTS: f64 = 0.5;

pub(super) fn judge(case: &Case) -> Vec<Verdict> {
    let compiled = case.signs.runtime.as_ref().map_or(0.0, crate::signs::RuntimeSigns::compiled_rate);
    let cost = (compiled * SECONDS_EACH * 100.0).clamp(1.0, 100.0);
    let mut verdicts = case.adopt("jit-storm", cost);
    let started = case.subject.uptime.is_none_or(|uptime| uptime.as_secs() >= STARTED_SECONDS);
    if verdicts.is_empty() && !case.has_look("compilations") && compiled >= STORM && started {
        let sign = Sign::Compiled { per_second: compiled };
        verdicts.push(Verdict::of_sign("jit-storm", (Severity::Warning, Confidence::Medium), sign, cost));
    }
    verdicts.extend(without_tiers(case));
    verdicts
}

/// Tiered compilation switched off: every method is optimised at its first call, which makes starts slow.
fn without_tiers(case: &Case) -> Option<Verdict> {
    let set = case.signs.surroundings.setting("tieredcompilation")?;
    if crate::signs::is_on(set) {
        return None;
    }
    let sign = Sign::TiersOff { value: set.to_owned() };
    let verdict = Verdict::of_sign("jit-storm", (Severity::Info, Confidence::Medium), sign, COST_OF_STARTS);
    Some(verdict.culprit(Culprit::new(CulpritKind::Setting, "DOTNET_TieredCompilation")))
}
