//! Names the illness of a .NET process without a hint what to look for.
//!
//! ```text
//! process --> vital signs, at once --> closer looks that they call for --> judgement (its own crate) --> wording --> Report
//! ```
//!
//! **In:** a process, what may be done to it, a control. **Out:** one [`model::Report`]: findings, worst first, vital signs,
//! what could not be looked at. Each closer look is one line in `steps/mod.rs`. What is ill is judged by the crate `judgement` from
//! facts alone; `wording/` puts its verdicts into words.
//!
//! It prints nothing and keeps nothing.
#![forbid(unsafe_code)]

mod clock;
mod dependencies;
mod looks;
mod report;
mod signs;
mod steps;
mod wording;
mod words;

use discovery::DotnetProcess;
use model::{Report, Timestamp};
use profilers::Control;

use clock::{Clock, DEEP_WINDOW, WINDOW};
use judgement::{Case, Subject};
use signs::Vitals;
use steps::Looks;

pub use clock::{Stragglers, expected};
pub use judgement::{RULES, Rule, illness};
pub use report::{parameters, spec};
pub use steps::{Leave, Look, STEPS, Step};

/// What came of a checkup.
#[derive(Debug)]
pub struct Examined {
    /// The report.
    pub report: Report,
    /// All that it was judged by.
    pub case: Case,
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
    let mut vitals = Vitals::take(process, window, control, leave.redaction, &mut stragglers);
    let mut looks = Looks::take(process, &vitals, leave, &clock, control);
    stragglers.extend(std::mem::take(&mut looks.stragglers));
    vitals.look_again(process);
    let subject = Subject { runtime: process.runtime_major(), uptime: process.uptime };
    let signs = std::mem::take(&mut vitals.signs);
    let (seen, untaken) = (std::mem::take(&mut looks.seen), std::mem::take(&mut looks.untaken));
    let case = Case { subject, signs, looks: seen, untaken };
    let examined = report::Examination { process, vitals: &vitals, looks: &looks, case: &case, leave };
    let mut report = examined.report(&judgement::judge(&case), started_at, clock.elapsed());
    // Not what this process did before: prepare a demo, or examine others.
    let host = &mut report.cost.host;
    host.cpu_ns = host.cpu_ns.saturating_sub(u64::try_from(used_before.as_nanos()).unwrap_or(u64::MAX));
    Examined { report, case, stragglers }
}
