//! `.gcdump` files, as PerfView, Visual Studio, dotnet-gcdump and dotnet-heapview read and write them.
//!
//! ```text
//!  "!FastSerialization.1"
//!  object GCHeapDump (version 10)
//!    object Graphs.MemoryGraph (version 1)
//!      i64 total size, i32 index of the root node
//!      i32 n, types:  { string name, i32 usual size, string module }      0 is UNDEFINED
//!      i32 n, nodes:  { i32 offset of the record }
//!      i32 n, records:{ cint type<<1 | own size?, [cint size], cint n, n * cint (child - self) }
//!      i32 n, nodes:  { i64 address }                                     0 for made-up nodes
//!      tagged: 64-bit?
//!    64-bit?, sampling factors, heap segments, log, time, machine, process, ...
//!  table of forward references, label of the table, label of the label
//! ```
//! A `cint` is a signed number in big-endian groups of seven bits, the high bit set on all bytes but the last.
//!
//! Roots are made-up nodes without address: `[.NET Roots]` > `[static vars]` > `[static var Type.field]` >
//! objects. Reading makes [roots](crate::Root) of them, writing makes them of our roots.
//!
//! A record has 31 bits for a size. An object above that is written with made-up children that carry the rest,
//! so that sums are right in every viewer; reading folds them back.
//!
//! Fields of references and [losses](crate::Losses) have no place in the format.
//!
//! Sources: microsoft/perfview `src/FastSerialization`, `src/MemoryGraph`, `src/HeapDump/GCHeapDump.cs`;
//! dotnet/diagnostics `src/Tools/dotnet-gcdump/DotNetHeapDump`.

mod compressed;
mod fold;
mod memory_graph;
mod names;
mod objects;
mod pseudo;
mod read;
mod sink;
mod source;
mod write;

pub use read::read;
pub use write::write;

/// The text that every file starts with.
const MAGIC: &str = "!FastSerialization.1";
const DUMP_TYPE: &str = "GCHeapDump";
const GRAPH_TYPE: &str = "Graphs.MemoryGraph";
/// The version of `GCHeapDump` that is written, and its oldest reader.
const DUMP_VERSION: i32 = 10;
const DUMP_MIN_READER: i32 = 8;
const GRAPH_VERSION: i32 = 1;
/// The type of nodes that are referred to but never described.
const UNDEFINED: &str = "UNDEFINED";
/// The type of the made-up children of an object above 2 GB.
const PART: &str = "[part of an object over 2 GB]";
/// The largest size of a record.
const MAX_SIZE: u64 = 0x7fff_ffff;

/// The kinds of values in a stream of objects.
mod tag {
    pub(super) const NULL: u8 = 1;
    pub(super) const OBJECT_REFERENCE: u8 = 2;
    pub(super) const BEGIN_OBJECT: u8 = 4;
    pub(super) const BEGIN_PRIVATE_OBJECT: u8 = 5;
    pub(super) const END_OBJECT: u8 = 6;
    pub(super) const BYTE: u8 = 8;
    pub(super) const INT16: u8 = 9;
    pub(super) const INT32: u8 = 10;
    pub(super) const INT64: u8 = 11;
    pub(super) const SKIP_REGION: u8 = 12;
    pub(super) const STRING: u8 = 13;
    pub(super) const BLOB: u8 = 14;
}

/// What a file says beside the graph.
#[derive(Debug, Clone, PartialEq)]
pub struct DumpInfo {
    /// When it was taken, in units of 100 ns since the start of year 1, local time of the tool that took it.
    /// 0 when not known.
    pub collected_ticks: i64,
    /// The machine's name.
    pub machine: Option<String>,
    /// The process's name.
    pub process_name: Option<String>,
    /// The process's id; 0 when not known.
    pub process_id: i32,
    /// Bytes committed by the process.
    pub commit: i64,
    /// Bytes of the process in memory.
    pub working_set: i64,
    /// What the tool wrote while it worked.
    pub log: Option<String>,
    /// The tool that wrote the file.
    pub creation_tool: Option<String>,
    /// Above 1 when PerfView wrote only a sample: the true number of objects is this many times larger.
    pub count_multiplier: f32,
    /// Above 1 when PerfView wrote only a sample: the true number of bytes is this many times larger.
    pub size_multiplier: f32,
    /// The heap's segments, when PerfView wrote them. They are read, not written.
    pub segments: Vec<Segment>,
}

impl Default for DumpInfo {
    fn default() -> DumpInfo {
        DumpInfo {
            collected_ticks: 0,
            machine: None,
            process_name: None,
            process_id: 0,
            commit: 0,
            working_set: 0,
            log: None,
            creation_tool: Some("drdotnet".to_owned()),
            count_multiplier: 1.0,
            size_multiplier: 1.0,
            segments: Vec::new(),
        }
    }
}

/// A stretch of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub end: u64,
    /// Where generations 0 to 4 end (3 is the large, 4 the pinned object heap); 0 when not there.
    pub generation_ends: [u64; 5],
}
