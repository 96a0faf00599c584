//! Groups of events of the runtime's provider, for the request of a session.

/// Collections and, at level 5, allocation ticks.
pub const GC: u64 = 0x1;
/// Creation and end of handles.
pub const GC_HANDLE: u64 = 0x2;
/// Modules and assemblies.
pub const LOADER: u64 = 0x8;
/// Methods that are compiled.
pub const JIT: u64 = 0x10;
/// Methods that were compiled before.
pub const NGEN: u64 = 0x20;
/// Waits for locks.
pub const CONTENTION: u64 = 0x4000;
/// Exceptions.
pub const EXCEPTION: u64 = 0x8000;
/// Threads and the thread pool.
pub const THREADING: u64 = 0x1_0000;
/// Which instruction of a method stands for which of its IL.
pub const IL_TO_NATIVE_MAP: u64 = 0x2_0000;
/// Names of types.
pub const TYPE: u64 = 0x8_0000;
/// Objects and references, in collections that are asked for.
pub const GC_HEAP_DUMP: u64 = 0x10_0000;
/// Where generations lie, and what survives or moves.
pub const GC_SURVIVAL: u64 = 0x40_0000;
/// Asks for a collection when the session begins.
pub const GC_HEAP_COLLECT: u64 = 0x80_0000;
/// Names of types whenever objects are told of.
pub const GC_HEAP_AND_TYPE_NAMES: u64 = 0x100_0000;
/// Work that goes from thread to thread.
pub const THREAD_TRANSFER: u64 = 0x8000_0000;
/// First calls of methods that were compiled before.
pub const COMPILATION_DIAGNOSTIC: u64 = 0x20_0000_0000;
/// Waits for other things than locks (.NET 9).
pub const WAIT_HANDLE: u64 = 0x400_0000_0000;
/// Allocations chosen at random (.NET 10).
pub const ALLOCATION_SAMPLING: u64 = 0x800_0000_0000;
/// A graph of the whole heap: the keywords that make one.
pub const HEAP_SNAPSHOT: u64 = GC | TYPE | GC_HEAP_DUMP | GC_HEAP_COLLECT | GC_HEAP_AND_TYPE_NAMES;
