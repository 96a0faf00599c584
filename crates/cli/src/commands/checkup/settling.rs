//! After the report: looks that had not ended in time are to leave the process as they found it.

use std::time::{Duration, Instant};

use checkup::Stragglers;

use super::Examination;
use crate::output;

/// How long they may take, after the report was shown.
const LEAVING: Duration = Duration::from_secs(30);
/// How quickly a wish is noticed.
const GLANCE: Duration = Duration::from_millis(50);

impl Examination<'_> {
    /// Waits for looks that had not ended in time, unless the user has had enough.
    pub(super) fn settle(&self, stragglers: &Stragglers) {
        if stragglers.count() == 0 {
            return;
        }
        // Whoever asked before wanted the report; a second wish ends the tool, but not where a program was started.
        let was_asked = self.interrupt.is_asked();
        let can_be_left = !was_asked || self.args.target.command.is_empty();
        let way_out = if can_be_left { " (Ctrl+C leaves it)" } else { "" };
        output::to_stderr(&format!("waiting for a look at the process that has not ended yet{way_out}\n"));
        let has_enough = || !was_asked && self.interrupt.is_asked();
        if wait(LEAVING, |slice| stragglers.wait(slice), has_enough) == Waited::TimeOver {
            output::to_stderr("it does not end; the process may be hung\n");
        }
    }
}

/// How waiting came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// What was waited for has ended.
    Ended,
    /// It has not, and the time is over.
    TimeOver,
    /// The user has had enough.
    Left,
}

/// Waits in slices, and looks after each whether the user has had enough.
fn wait(
    most: Duration,
    mut has_ended: impl FnMut(Duration) -> bool,
    has_enough: impl Fn() -> bool,
) -> Waited {
    let end = Instant::now() + most;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if has_ended(left.min(GLANCE)) {
            return Waited::Ended;
        }
        if has_enough() {
            return Waited::Left;
        }
        if left.is_zero() {
            return Waited::TimeOver;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_user_who_has_had_enough_is_not_kept_waiting() {
        let slices = Cell::new(0);
        let in_vain = |slice: Duration| {
            assert!(slice <= GLANCE);
            slices.set(slices.get() + 1);
            false
        };
        assert_eq!(wait(LONG, in_vain, || slices.get() == 3), Waited::Left);
    }

    #[test]
    fn waiting_ends_with_the_looks_or_with_the_time() {
        let mut slices = 0;
        let at_the_third = |_| {
            slices += 1;
            slices == 3
        };
        assert_eq!(wait(LONG, at_the_third, || false), Waited::Ended);
        assert_eq!(wait(Duration::ZERO, |_| false, || false), Waited::TimeOver);
    }
}
