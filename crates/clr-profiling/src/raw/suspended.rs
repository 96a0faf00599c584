//! A suspended runtime, and the stacks that can be walked meanwhile.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::info::Info;
use crate::{CodeAddress, FunctionId, HResult, ThreadId};

/// Pause between two attempts: with it a suspension was seen to come about within 1.1 ms (median) beside a thread that
/// collects all the time; with ten times as much it takes ten times as long, with none it burns CPU for nothing.
const AGAIN: Duration = Duration::from_micros(50);

/// While this exists, no managed thread runs. It must end on the thread that made it, which it does by being dropped.
pub struct Suspended<'a> {
    pub(super) info: &'a Info,
    since: Instant,
    /// Not to be sent to another thread.
    here: PhantomData<*const ()>,
}

/// One frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The method; 0 for a run of native frames.
    pub function: FunctionId,
    /// Where it is.
    pub address: CodeAddress,
}

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// To the next frame.
    On,
    /// No further.
    Enough,
}

impl Info {
    /// Stops every managed thread, trying until `patience` ends while the collector is at work.
    ///
    /// .NET 8 and older do not bear two threads that try at the same time, not even of two profilers: the process hangs
    /// for good. Let one thread of a process do it.
    pub fn suspend(&self, patience: Duration) -> Result<Suspended<'_>, HResult> {
        let until = Instant::now() + patience;
        loop {
            match self.suspend_runtime() {
                Ok(()) => {
                    return Ok(Suspended { info: self, since: Instant::now(), here: PhantomData });
                }
                Err(HResult::E_SUSPENSION_IN_PROGRESS) if Instant::now() < until => std::thread::sleep(AGAIN),
                Err(code) => return Err(code),
            }
        }
    }
}

impl Suspended<'_> {
    /// How long the runtime has stood still.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Fills `room` with managed threads and returns how many there are in it; if it is full there may be more. The ids are
    /// good during this suspension only.
    pub fn threads(&self, room: &mut [ThreadId]) -> Result<usize, HResult> {
        self.info.threads(room)
    }

    /// The operating system's number of a thread.
    pub fn os_thread(&self, thread: ThreadId) -> Result<crate::OsThreadId, HResult> {
        self.info.os_thread(thread)
    }

    /// Walks the stack of a thread that [`Suspended::threads`] named during this suspension, from the innermost frame
    /// outwards. A thread without managed frames is no error.
    pub fn walk(&self, thread: ThreadId, mut visit: impl FnMut(Frame) -> Walk) -> Result<(), HResult> {
        let mut visitor = Visitor { visit: &mut visit, panicked: false };
        let data = (&raw mut visitor).cast::<c_void>();
        // SAFETY: threads cannot end while the runtime is suspended, and `on_frame` has the form that is asked for.
        let outcome = unsafe { self.info.stack_snapshot(thread, on_frame as *const c_void, data) };
        if visitor.panicked {
            return Err(HResult::E_UNEXPECTED);
        }
        match outcome {
            // What a thread without managed frames answers, and what our own wish to end does.
            Err(HResult::E_FAIL | HResult::E_STACKSNAPSHOT_ABORTED) => Ok(()),
            outcome => outcome,
        }
    }
}

impl Drop for Suspended<'_> {
    fn drop(&mut self) {
        // There is nothing better to do when it fails than to try once more.
        if self.info.resume_runtime().is_err() {
            let _ = self.info.resume_runtime();
        }
    }
}

struct Visitor<'a> {
    visit: &'a mut dyn FnMut(Frame) -> Walk,
    panicked: bool,
}

/// `StackSnapshotCallback` of `corprof.idl`.
unsafe extern "system" fn on_frame(
    function: FunctionId,
    address: CodeAddress,
    _frame: usize,
    _context_size: u32,
    _context: *const u8,
    data: *mut c_void,
) -> HResult {
    // SAFETY: it is what `Suspended::walk` gave, and it waits for the end of the walk.
    let visitor = unsafe { &mut *data.cast::<Visitor<'_>>() };
    let visit = AssertUnwindSafe(|| (visitor.visit)(Frame { function, address }));
    match catch_unwind(visit) {
        Ok(Walk::On) => HResult::S_OK,
        Ok(Walk::Enough) => HResult::S_FALSE,
        Err(payload) => {
            std::mem::forget(payload);
            visitor.panicked = true;
            HResult::S_FALSE
        }
    }
}
