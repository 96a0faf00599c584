//! From code addresses to names.
//!
//! ```text
//! runtime events (methods, modules, IL maps) --learn--> CodeMap --frame(address)--> model::Frame
//! ```
//!
//! **In:** the runtime's events about code, in any order. **Out:** for an address the method it belongs to, its module,
//! and, where a portable PDB is at hand, file and line.
#![forbid(unsafe_code)]

mod code_map;
mod error;
mod framework;
mod il_maps;
mod method;
mod names;
mod source;
mod text;

pub use code_map::{CodeMap, Learned, Naming};
pub use error::SymbolError;
pub use framework::{is_framework, is_framework_module};
pub use method::{MethodIndex, MethodKind, MethodRef, Position, module_name};
pub use names::{Signature, human_name, readable_type};
pub use source::{DebugInfo, LineKind, MethodRow, PortablePdb, SequencePoint, SourceLine, SourceLookup};
