//! How good a profile is.

use crate::Side;

/// How good a profile is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Stacks that were walked.
    pub stacks: u64,
    /// Of those, the ones that reach the place where threads begin.
    pub complete: u64,
    /// Of those, the ones that end at the kernel's limit of frames.
    pub at_limit: u64,
    /// Of the stacks, those of threads that ran.
    pub running: u64,
    /// Of those, the ones that reach the place where threads begin.
    pub running_complete: u64,
    /// Of the stacks, those of threads that blocked.
    pub blocked: u64,
    /// Of those, the ones that reach the place where threads begin.
    pub blocked_complete: u64,
    /// Innermost frames whose caller frame pointers miss, and which was put back.
    pub callers_put_back: u64,
    /// Samples with managed code in them.
    pub managed_samples: u64,
    /// Of those, the ones whose innermost managed frame has no name.
    pub managed_samples_unnamed: u64,
    /// Managed frames of all samples.
    pub managed_frames: u64,
    /// Of those, the ones without a name.
    pub managed_unnamed: u64,
    /// Native frames of all samples.
    pub native_frames: u64,
    /// Of those, the ones of which only the library is known.
    pub native_unnamed: u64,
    /// Stubs of the runtime among the innermost frames: they have no method.
    pub stubs: u64,
    /// Time off the CPU.
    pub waits: WaitQuality,
}

/// How good the profile of time off the CPU is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitQuality {
    /// Time that threads waited, all of it.
    pub waited_ns: u64,
    /// Of that, the time of waits without a stack that was given to other waits of the same thread, about as long.
    pub estimated_ns: u64,
    /// Of that, the time that could be given to no stack.
    pub without_stack_ns: u64,
    /// Of that, the time on stacks that reach the place where threads begin.
    pub complete_ns: u64,
    /// Waits that had no stack of their own.
    pub without_stack: u64,
    /// Stacks of threads that were read while they waited.
    pub looks: u64,
    /// Looks that came too late, because the thread ran again.
    pub looks_too_late: u64,
    /// Looks that this user was refused.
    pub looks_refused: u64,
}

impl WaitQuality {
    /// The part of the time waited that is on stacks which reach the place where threads begin, in per cent.
    #[must_use]
    pub fn complete_percent(&self) -> f64 {
        percent(self.complete_ns, self.waited_ns)
    }
}

impl Quality {
    /// The part of stacks that reach the place where threads begin, in per cent.
    #[must_use]
    pub fn complete_percent(&self) -> f64 {
        percent(self.complete, self.stacks)
    }

    /// The same for threads that ran.
    #[must_use]
    pub fn running_complete_percent(&self) -> f64 {
        percent(self.running_complete, self.running)
    }

    /// The same for threads that blocked.
    #[must_use]
    pub fn blocked_complete_percent(&self) -> f64 {
        percent(self.blocked_complete, self.blocked)
    }

    /// The part of managed frames that have a name, in per cent.
    #[must_use]
    pub fn named_percent(&self) -> f64 {
        percent(self.managed_frames.saturating_sub(self.managed_unnamed), self.managed_frames)
    }

    pub(crate) fn walked(&mut self, side: Side, complete: bool, at_limit: bool) {
        let one = u64::from(complete);
        self.stacks += 1;
        self.complete += one;
        self.at_limit += u64::from(at_limit);
        match side {
            Side::OnCpu => {
                self.running += 1;
                self.running_complete += one;
            }
            Side::OffCpu => {
                self.blocked += 1;
                self.blocked_complete += one;
            }
            Side::Ready => {}
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shares are for people to read")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 }
}
