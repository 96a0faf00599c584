//! File and line of code.

mod await_steps;
mod bytes;
mod files;
mod lookup;
mod pe;
mod portable_pdb;

pub use lookup::{LineKind, SourceLine, SourceLookup};
pub use pe::DebugInfo;
pub use portable_pdb::{MethodRow, PortablePdb, SequencePoint};

/// Larger symbol files are not read; the class library's own has about ten megabytes.
const MAX_PDB_BYTES: u64 = 128 << 20;
