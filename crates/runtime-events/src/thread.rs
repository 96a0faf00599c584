//! Threads.

use nettrace::ThreadId;

use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{AppDomainId, ClrInstance, ManagedThreadId, WorkId};

flags! {
    /// What a thread is for.
    ThreadFlags: u32 {
        /// It collects.
        0x1 => is_gc,
        /// It runs finalizers.
        0x2 => is_finalizer,
        /// It works for the thread pool.
        0x4 => is_pool_worker,
    }
}

/// Event 85, and 159 of the rundown: a managed thread.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ThreadCreated {
    /// The thread.
    pub thread: ManagedThreadId,
    /// Its application domain.
    pub domain: AppDomainId,
    /// What it is for.
    pub flags: ThreadFlags,
    /// `Thread.ManagedThreadId`, as programs see it.
    pub managed_index: u32,
    /// The thread, as the operating system numbers it.
    pub os_thread: ThreadId,
    /// Which runtime.
    pub clr: ClrInstance,
}

impl<'a> Layout<'a> for ThreadCreated {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        Ok(ThreadCreated {
            thread: fields.take("thread")?,
            domain: fields.take("domain")?,
            flags: fields.take("flags")?,
            managed_index: fields.take("managed_index")?,
            os_thread: ThreadId(u64::from(fields.take::<u32>("os_thread")?)),
            clr: fields.take("clr")?,
        })
    }
}

events! {
    /// Event 86: a managed thread has ended.
    ThreadTerminated {
        /// The thread.
        thread: ManagedThreadId,
        /// Its application domain.
        domain: AppDomainId,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 70 and 71: a thread starts another one, and that one runs.
    ThreadStarting {
        /// The same in both events.
        id: WorkId,
        /// Which runtime.
        clr: ClrInstance,
    }
}
