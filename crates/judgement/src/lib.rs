//! What is ill, by facts alone.
//!
//! ```text
//! Case: vital signs, what closer looks found ---> rules ---> merging: cause and symptom ---> Verdicts, worst first
//! ```
//!
//! **In:** a [`Case`], which can be written to a file and judged again. **Out:** [`Verdict`]s: what is ill, who is to blame, how bad
//! it is, and what shows it. Each illness is one file in `rules/`; what is cause and what symptom is one table in `merging.rs`.
//!
//! There is no sentence here, and none can be read: this crate depends on `facts` alone. It opens nothing and prints nothing.
#![forbid(unsafe_code)]

mod case;
mod file;
mod merging;
mod relations;
mod rules;
pub mod signs;
mod verdict;

pub use case::{Case, Look, Subject, Untaken, WhyUntaken};
pub use file::{CaseError, KeptCase};
pub use rules::hot_method::async_above;
pub use rules::{HALF_CLOSED, MIN_STARVATIONS, RULES, Rule, illness, mean_call_seconds};
pub use signs::Signs;
pub use verdict::{Ground, Verdict};

/// Judges a case: what is ill, the worst first.
#[must_use]
pub fn judge(case: &Case) -> Vec<Verdict> {
    let found = RULES.iter().flat_map(|rule| (rule.judge)(case)).collect();
    let mut verdicts = merging::merge(found, &relations::Relations::of(case));
    merging::rank(&mut verdicts);
    verdicts
}
