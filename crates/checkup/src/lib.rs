//! Names the illness of a .NET process without being told what to look for.
//!
//! ```text
//! process --> Signs: everything cheap, at once --> steps: closer looks that the signs call for --> rules --> merging --> Report
//! ```
//!
//! **In:** a process, what may be done to it, a control. **Out:** one [`model::Report`]: findings, worst first, vital signs,
//! what could not be looked at. Each illness is one file in `rules/`; each closer look is one line in `steps.rs`; what is cause and
//! what symptom is one table in `merging.rs`.
//!
//! It prints nothing and keeps nothing.
#![forbid(unsafe_code)]

mod looks;
mod merging;
mod report;
mod rules;
mod signs;
mod steps;
mod words;

use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use model::{Report, Timestamp};
use profilers::Control;

pub use report::{parameters, spec};
pub use rules::{Case, NAMES, RULES, Rule, Verdict, illness};
pub use signs::{
    Container, Course, Descriptors, Moment, Pauses, RuntimeSigns, Signs, Surroundings, System, Unseen, Values,
};
pub use steps::{LONGEST_PAUSE, Lane, Leave, Look, Looks, STEPS, Step, Taken};

/// How long the vital signs are watched.
pub const WINDOW: Duration = Duration::from_secs(4);
/// The same when more time is given.
pub const DEEP_WINDOW: Duration = Duration::from_secs(12);

/// Examines a process.
#[must_use]
pub fn examine(process: &DotnetProcess, leave: Leave, control: &dyn Control) -> Report {
    let started_at = Timestamp::now();
    let begin = Instant::now();
    let window = if leave.deep { DEEP_WINDOW } else { WINDOW };
    let signs = Signs::take(process, window, control);
    let looks = Looks::take(process, &signs, leave, begin, control);
    let case = Case { signs: &signs, looks: &looks, process, redaction: leave.redaction };
    let found = RULES.iter().flat_map(|rule| (rule.judge)(&case)).collect();
    let mut verdicts = merging::merge(found);
    merging::rank(&mut verdicts);
    report::report(&case, verdicts, leave, started_at, begin.elapsed())
}
