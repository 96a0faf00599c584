//! What is known not to be reached, with the reason. Everything else in the table must be as it should.

use testbed::Runtime;

use crate::visits::Visit;

/// One thing that is not reached.
pub struct Unmet {
    /// Whose.
    pub ids: &'static str,
    /// Where.
    pub runtimes: &'static [Runtime],
    /// Why.
    pub why: &'static str,
}

/// All of them: an entry is a patient, runtimes and one sentence.
pub const UNMET: &[Unmet] = &[];

/// Why this visit is not expected to end well, if it is not.
pub fn reason(visit: &Visit) -> Option<&'static str> {
    let mut known =
        UNMET.iter().filter(|unmet| unmet.ids == visit.ids && unmet.runtimes.contains(&visit.runtime));
    known.next().map(|unmet| unmet.why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visits::all;

    #[test]
    fn each_is_about_a_visit() {
        for Unmet { ids, runtimes, why } in UNMET {
            assert!(!why.is_empty() && !runtimes.is_empty(), "{ids}");
            for runtime in *runtimes {
                assert!(
                    all().iter().any(|visit| visit.ids == *ids && visit.runtime == *runtime),
                    "{ids} on {runtime}"
                );
            }
        }
    }
}
