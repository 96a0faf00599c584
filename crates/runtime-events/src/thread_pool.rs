//! The thread pool.

use crate::{ClrInstance, WorkId};

codes! {
    /// Why the pool changes how many threads it wants.
    AdjustmentReason: u32 {
        /// It has just begun.
        0 => Warmup,
        /// It begins to measure.
        1 => Initializing,
        /// It tries what happens.
        2 => RandomMove,
        /// More, or fewer, threads did more work.
        3 => ClimbingMove,
        /// The work has changed.
        4 => ChangePoint,
        /// It comes to rest.
        5 => Stabilizing,
        /// Work waits, and no thread took any for half a second.
        6 => Starvation,
        /// A thread had nothing to do for too long.
        7 => ThreadTimedOut,
        /// A thread told the pool that it blocks (.NET 6).
        8 => CooperativeBlocking,
    }
}

events! {
    /// Events 50, 51, 57 (a worker starts, stops, waits), and 52, 53 (it retires, returns): how many there are now.
    WorkerThreads {
        /// Workers.
        active: u32,
        /// Workers that are kept but not used.
        retired: u32,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 54: how much work was done, measured once in a while.
    AdjustmentSample {
        /// Items of work per second.
        throughput: f64,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 55: the pool wants another number of threads.
    Adjustment {
        /// Items of work per second, on average.
        average_throughput: f64,
        /// How many threads it wants.
        workers: u32,
        /// Why.
        reason: AdjustmentReason,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 56: what the pool's search for the best number of threads is based on.
    AdjustmentStats {
        /// Seconds since the last one.
        seconds: f64,
        /// Items of work per second.
        throughput: f64,
        /// The wave in the number of threads.
        thread_wave: f64,
        /// The wave in the throughput.
        throughput_wave: f64,
        /// How uncertain the throughput is.
        throughput_error: f64,
        /// The same, on average.
        average_throughput_error: f64,
        /// How the throughput follows the threads.
        throughput_ratio: f64,
        /// How sure that is.
        confidence: f64,
        /// How many threads it wants, as a fraction.
        new_control: f64,
        /// The height of the wave from now on.
        new_wave: u16,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 59 (.NET 6): the limits of the pool.
    MinMaxThreads {
        /// Workers that are started without delay.
        min_workers: u16,
        /// Workers at most.
        max_workers: u16,
        /// Threads for input and output that are started without delay.
        min_io: u16,
        /// Threads for input and output at most.
        max_io: u16,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 60: workers that are at work, when that number changes.
    WorkingThreads {
        /// How many.
        count: u32,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 61 and 62: an item of the runtime's own work is queued by this thread, or taken.
    Work {
        /// The item.
        id: WorkId,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 30 and 31 of the framework's event source: an item of managed work is queued by this thread, or taken.
    /// Not every item that is taken was told of when it was queued; seen on 3.1, 8 and 9.
    ManagedWork {
        /// Tells items apart: an address on 3.1, by its look a hash code on 8 and 9.
        id: i64,
    }

    /// Event 63: input or output is begun, which the pool will hear of.
    IoEnqueue {
        /// The operation, as the operating system knows it.
        native: WorkId,
        /// The operation.
        id: WorkId,
        /// Whether its end can come more than once.
        many_dequeues: bool,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 64 and 65: input or output has ended, or is prepared.
    IoWork {
        /// The operation, as the operating system knows it.
        native: WorkId,
        /// The operation.
        id: WorkId,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 44 to 47: a thread for input and output is created, ends, retires or returns.
    IoThreads {
        /// How many there are now.
        active: u32,
        /// How many are kept but not used.
        retired: u32,
        /// Which runtime.
        clr: ClrInstance [since 1],
    }
}
