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

pub use code_map::{CodeMap, Learned};
