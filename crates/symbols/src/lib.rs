//! From code addresses to names, and from names to source lines.
//!
//! ```text
//! runtime events --learn--> CodeMap --method(address)--> MethodRef: names, signature, module, tier
//!  (methods, modules,          |                             |
//!   IL maps)                   +--frame(address)--> model::Frame with a human name
//!                              |                             |
//!  .pdb beside the module,     v                             v
//!  where it was built,  --> SourceLookup --frame(map, address)--> model::Frame with file and line
//!  or in the module
//! ```
//!
//! **In:** the runtime's events about code, in the order of the stream; symbol files, opened when a method of theirs is
//! looked up. **Out:** for an address the method it belongs to, its module, and, where a portable PDB of the same build
//! is at hand, file and line.
//!
//! It talks to no process, writes nothing, and never fetches symbols from elsewhere.
//!
//! ```
//! use nettrace::CodeAddress;
//! use symbols::{CodeMap, Position, SourceLookup, is_framework};
//!
//! let mut code = CodeMap::new();
//! // for each event of the session: code.learn(&event);
//! code.settle();
//! let mut sources = SourceLookup::new(Some("/proc/4242/root".into()));
//! let stack = [CodeAddress(0x7f00_1234), CodeAddress(0x7f00_5678)];
//! let own = stack
//!     .iter()
//!     .filter_map(|address| sources.frame(&code, *address, Position::Caller))
//!     .find(|frame| !is_framework(frame));
//! assert!(own.is_none(), "nothing was learned");
//! ```
#![forbid(unsafe_code)]

mod code_map;
mod error;
mod il_maps;
mod method;
mod names;
mod needs;
mod source;
mod text;

pub use code_map::{CodeMap, Learned, Naming};
pub use error::SymbolError;
pub use facts::{is_framework, is_framework_module, module_name};
pub use method::{KnownMethod, MethodIndex, MethodKind, MethodRef, Position};
pub use names::{Signature, human_name, readable_type};
pub use needs::{LIVE_FOR_LINES, LIVE_FOR_NAMES, RUNDOWN_FOR_LINES, RUNDOWN_FOR_NAMES};
pub use source::{DebugInfo, LineKind, MethodRow, PortablePdb, SequencePoint, SourceLine, SourceLookup};
