//! Handles to objects: made and freed.

use crate::{AppDomainId, ClrInstance, Generation, HandleAddress, ObjectAddress};

codes! {
    /// What a handle does.
    HandleKind: u32 {
        /// Watches an object until it is dead.
        0 => WeakShort,
        /// Watches an object until it is gone, its finalizer included.
        1 => WeakLong,
        /// Holds an object.
        2 => Strong,
        /// Holds an object and keeps it in its place.
        3 => Pinned,
        /// One of the former, as its user says.
        4 => Variable,
        /// Holds an object while native code counts references.
        5 => RefCounted,
        /// Holds a second object while the first lives.
        6 => Dependent,
        /// Pins an object, and what it refers to, for a transfer of data.
        7 => AsyncPinned,
        /// Holds an object whose size is asked for.
        8 => SizedRef,
    }
}

events! {
    /// Event 30: a handle is made; the stack says by whom.
    HandleCreated {
        /// The handle.
        handle: HandleAddress,
        /// The object.
        object: ObjectAddress,
        /// What it does.
        kind: HandleKind,
        /// The object's generation.
        generation: Generation,
        /// Where.
        app_domain: AppDomainId,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 31: a handle is freed.
    HandleDestroyed {
        /// The handle.
        handle: HandleAddress,
        /// Which runtime.
        clr: ClrInstance,
    }
}
