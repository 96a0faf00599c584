//! Waits for locks.

use nettrace::ThreadId;

use crate::{ClrInstance, LockId, ObjectAddress};

codes! {
    /// Whose lock.
    ContentionKind: u8 {
        /// The program's.
        0 => Managed,
        /// The runtime's own.
        1 => Native,
    }

    /// What a thread waits by (.NET 9).
    WaitSource: u8 {
        /// It is not said.
        0 => Unknown,
        /// `Monitor.Wait`.
        1 => MonitorWait,
    }
}

events! {
    /// Event 81: a thread begins to wait for a lock; the stack says where.
    ContentionStart {
        /// Whose lock.
        kind: ContentionKind [since 1],
        /// Which runtime.
        clr: ClrInstance [since 1],
        /// The lock (.NET 8).
        lock: LockId [since 2],
        /// The object that is locked (.NET 8).
        object: ObjectAddress [since 2],
        /// The thread that has the lock, as the operating system numbers it; 0 if it has just let go (.NET 8).
        owner: ThreadId [since 2],
    }

    /// Event 91: the thread has the lock.
    ContentionStop {
        /// Whose lock.
        kind: ContentionKind,
        /// Which runtime.
        clr: ClrInstance,
        /// How long it waited, in nanoseconds.
        nanoseconds: f64 [since 1],
    }

    /// Event 90 (.NET 8): an object is waited for by the first time and gets a lock of its own.
    LockCreated {
        /// The lock.
        lock: LockId,
        /// The object.
        object: ObjectAddress,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 301 (.NET 9): a thread begins to wait for something.
    WaitStart {
        /// What it waits by.
        source: WaitSource,
        /// The object it waits for; 0 if it is not said.
        object: ObjectAddress,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 302 (.NET 9): the wait is over.
    WaitStop {
        /// Which runtime.
        clr: ClrInstance,
    }
}
