//! Bounds on everything a stream may ask for: no length in it is believed beyond these.

/// The largest block that is taken into memory. Version 6 cannot say more; runtimes write about 100 kB.
pub const MAX_BLOCK_SIZE: usize = 16 << 20;

/// Stacks kept between two sequence points, in bytes with their index. The runtime sets a sequence point after
/// every 10 MB of events.
pub const MAX_STACK_BYTES: usize = 16 << 20;

/// Label lists kept between two sequence points, in bytes with their index.
pub const MAX_LABEL_BYTES: usize = 2 << 20;

/// Kinds of events that are known at once.
pub const MAX_METADATA_ROWS: usize = 1 << 15;

/// Texts and fields of all kinds of events, in bytes as they stand in the stream.
pub const MAX_METADATA_BYTES: usize = 4 << 20;

/// Fields in fields in fields.
pub const MAX_FIELD_DEPTH: usize = 16;

/// Threads whose sequence numbers are followed at once.
pub const MAX_THREADS: usize = 1 << 14;

/// Names and attributes of threads, in bytes; threads beyond it are known by their ids only.
pub const MAX_THREAD_BYTES: usize = 2 << 20;

/// The name of an object's type (versions 4 and 5).
pub const MAX_TYPE_NAME: usize = 256;

/// How much is read from the input at once, when no block needs more.
pub(crate) const READ_SIZE: usize = 256 << 10;
