//! Names the illness of a .NET process without being told what to look for.
//!
//! ```text
//! process --> Signs: everything cheap, at once --> steps: closer looks that the signs call for --> rules --> merging --> Report
//! ```
//!
//! **In:** a process, what may be done to it, a control. **Out:** one [`model::Report`]: findings, worst first, vital signs,
//! what could not be looked at. Each illness is one file in `rules/`; each closer look is one line in `steps/mod.rs`; what is cause and
//! what symptom is one table in `merging.rs`.
//!
//! It prints nothing and keeps nothing.
#![forbid(unsafe_code)]

mod clock;
mod dependencies;
mod kin;
mod looks;
mod merging;
mod report;
mod rules;
mod signs;
mod steps;
mod words;

use discovery::DotnetProcess;
use model::{Report, Timestamp};
use profilers::Control;

use clock::{Clock, DEEP_WINDOW, WINDOW};
use rules::Case;
use signs::Signs;
use steps::Looks;

pub use clock::{Stragglers, expected};
pub use report::{HEALTHY, parameters, spec};
pub use rules::{RULES, Rule, illness};
pub use steps::{Leave, Look, STEPS, Step};

/// What came of a checkup.
#[derive(Debug)]
pub struct Examined {
    /// The report.
    pub report: Report,
    /// Looks that have not ended yet.
    pub stragglers: Stragglers,
}

/// Examines a process. The report is there when the time is over, whatever the process does.
#[must_use]
pub fn examine(process: &DotnetProcess, leave: Leave, control: &dyn Control) -> Examined {
    let started_at = Timestamp::now();
    let used_before = process_view::own_cpu_time();
    let clock = Clock::start(leave);
    let window = if leave.deep { DEEP_WINDOW } else { WINDOW };
    let mut stragglers = Stragglers::default();
    let mut signs = Signs::take(process, window, control, &mut stragglers);
    let mut looks = Looks::take(process, &signs, leave, &clock, control);
    stragglers.extend(std::mem::take(&mut looks.stragglers));
    signs.look_again(process);
    let case = Case { signs: &signs, looks: &looks, process, redaction: leave.redaction };
    let found = RULES.iter().flat_map(|rule| (rule.judge)(&case)).collect();
    let mut verdicts = merging::merge(found, &kin::Kin::of(&looks, signs.told()));
    merging::rank(&mut verdicts);
    let mut report = report::report(&case, verdicts, leave, started_at, clock.elapsed());
    // Not what this process did before: prepare a demo, or examine others.
    let host = &mut report.cost.host;
    host.cpu_ns = host.cpu_ns.saturating_sub(u64::try_from(used_before.as_nanos()).unwrap_or(u64::MAX));
    Examined { report, stragglers }
}
