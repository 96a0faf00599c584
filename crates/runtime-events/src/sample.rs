//! Samples of the runtime's own sampler.

codes! {
    /// What a thread was doing.
    SampleKind: u32 {
        /// The sampler could not tell.
        0 => Error,
        /// Something outside of managed code: it computes or waits there.
        1 => External,
        /// Managed code.
        2 => Managed,
    }
}

events! {
    /// Event 0 of the sampler: the stack of one thread. The event's thread is the one that was looked at.
    Sample {
        /// What the thread was doing.
        kind: SampleKind,
    }
}
