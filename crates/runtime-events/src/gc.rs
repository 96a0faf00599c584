//! Collections, and the pauses they make.

use nettrace::Utf16;

use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{ClrInstance, GcNumber, Generation, HandleAddress, ObjectAddress, SegmentAddress, TypeId};

codes! {
    /// What a collection was started for.
    GcReason: u32 {
        /// The budget of the small object heap is used up.
        0 => AllocSmall,
        /// The program asked for it.
        1 => Induced,
        /// The machine is short of memory.
        2 => LowMemory,
        /// No reason.
        3 => Empty,
        /// The budget of the large object heap is used up.
        4 => AllocLarge,
        /// The small object heap has no room.
        5 => OutOfSpaceSmall,
        /// The large object heap has no room.
        6 => OutOfSpaceLarge,
        /// The program asked for it, if the collector finds it worthwhile.
        7 => InducedNotForced,
        /// The runtime's own purposes, such as a stress test.
        8 => Internal,
        /// The runtime asked for it, as memory is short.
        9 => InducedLowMemory,
        /// The program asked for one that compacts.
        10 => InducedCompacting,
        /// The host says that memory is short.
        11 => LowMemoryHost,
        /// A full collection in provisional mode.
        12 => ProvisionalFull,
        /// The host says that memory is short, and wants it now.
        13 => LowMemoryHostBlocking,
    }

    /// How a collection runs.
    GcType: u32 {
        /// All threads are stopped.
        0 => Blocking,
        /// Threads go on for most of it.
        1 => Background,
        /// All threads are stopped, while a background collection goes on.
        2 => Foreground,
    }

    /// What all threads are stopped for.
    SuspendReason: u32 {
        /// Something else, such as the sampler or a rundown.
        0 => Unspecified,
        /// A collection.
        1 => Gc,
        /// An application domain ends.
        2 => AppDomainShutdown,
        /// Code is replaced (`ReJIT`) or, in old runtimes, thrown away.
        3 => CodeChange,
        /// The process ends.
        4 => Shutdown,
        /// A debugger.
        5 => Debugger,
        /// A step of a background collection.
        6 => GcPrepare,
        /// A debugger, again.
        7 => DebuggerSweep,
        /// A profiler in the process.
        8 => Profiler,
    }

    /// How much the collector may disturb.
    PauseMode: u32 {
        /// Throughput first: no background collections.
        0 => Batch,
        /// Background collections.
        1 => Interactive,
        /// As few full collections as possible, for a short time.
        2 => LowLatency,
        /// As few blocking full collections as possible.
        3 => SustainedLowLatency,
        /// No collections.
        4 => NoGc,
    }

    /// What a segment is for.
    SegmentType: u32 {
        /// Small objects.
        0 => Small,
        /// Large objects.
        1 => Large,
        /// Objects that never change.
        2 => ReadOnly,
        /// Objects that never move.
        3 => Pinned,
    }
}

events! {
    /// Event 1: a collection begins.
    GcStart {
        /// Which one.
        number: GcNumber,
        /// The oldest generation it collects.
        generation: Generation,
        /// Why.
        reason: GcReason,
        /// How.
        kind: GcType,
        /// Which runtime.
        clr: ClrInstance,
        /// What the one who asked for it by a session called it; 0 if nobody did.
        client_sequence: u64 [since 2],
    }

    /// Event 2: a collection has ended.
    GcEnd {
        /// Which one.
        number: GcNumber,
        /// The oldest generation it collected.
        generation: Generation,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 4: the heap after a collection.
    HeapStats {
        /// Bytes in generation 0.
        gen0_bytes: u64,
        /// Bytes that came from generation 0.
        gen0_promoted_bytes: u64,
        /// Bytes in generation 1.
        gen1_bytes: u64,
        /// Bytes that came from generation 1.
        gen1_promoted_bytes: u64,
        /// Bytes in generation 2.
        gen2_bytes: u64,
        /// Bytes that survived in generation 2.
        gen2_promoted_bytes: u64,
        /// Bytes in the large object heap.
        large_bytes: u64,
        /// Bytes that survived in the large object heap.
        large_promoted_bytes: u64,
        /// Bytes that wait for their finalizer.
        finalization_bytes: u64,
        /// Objects that wait for their finalizer.
        finalization_count: u64,
        /// Pinned objects the collector met.
        pinned_objects: u32,
        /// Synchronization blocks in use.
        sync_blocks: u32,
        /// Handles in use.
        handles: u32,
        /// Which runtime.
        clr: ClrInstance,
        /// Bytes in the pinned object heap.
        pinned_bytes: u64 [since 2],
        /// Bytes that survived in the pinned object heap.
        pinned_promoted_bytes: u64 [since 2],
    }

    /// Event 5: the heap grows by a segment or region.
    CreateSegment {
        /// Where it begins.
        address: SegmentAddress,
        /// Its size.
        bytes: u64,
        /// What it is for.
        kind: SegmentType,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 6: the heap gives a segment or region back.
    FreeSegment {
        /// Where it began.
        address: SegmentAddress,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 9: threads are asked to stop. They have stopped at event 8, may go on from event 7, and go on by event 3.
    SuspendBegin {
        /// What for.
        reason: SuspendReason,
        /// How many collections there have been.
        number: GcNumber,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// An event without data: 3, 7, 8 and 14.
    Mark {
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 13: finalizers have run.
    FinalizersEnd {
        /// How many.
        count: u32,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 29: an object's finalizer runs.
    FinalizeObject {
        /// The object's type.
        type_id: TypeId,
        /// The object.
        object: ObjectAddress,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 33: a collection met an object that must not move.
    PinObject<'a> {
        /// The handle that pins it; 0 for a place on a stack.
        handle: HandleAddress,
        /// The object.
        object: ObjectAddress,
        /// Its size.
        bytes: u64,
        /// Its type.
        type_name: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 35: a collection is wanted; the stack says by whom.
    GcTriggered {
        /// Why.
        reason: GcReason,
        /// Which runtime.
        clr: ClrInstance,
    }
}

/// Event 39: something about a collection that has no event of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GcDynamic<'a> {
    /// What it is about, such as `CommittedUsage`.
    pub name: Utf16<'a>,
    /// Its data.
    pub data: &'a [u8],
    /// Which runtime.
    pub clr: ClrInstance,
}

impl<'a> Layout<'a> for GcDynamic<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let name = fields.take("name")?;
        let size = fields.take::<u32>("data_size")?;
        let data = fields.bytes(usize::try_from(size).unwrap_or(usize::MAX), "data")?;
        Ok(GcDynamic { name, data, clr: fields.take("clr")? })
    }
}
