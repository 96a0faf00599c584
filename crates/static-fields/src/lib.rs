//! Which types of an assembly declare which fields, and what its methods are called.
//!
//! ```text
//!  bytes of a .dll --> portable executable --> metadata root --> tables --> StaticField { owner, name, type }
//!                        pe.rs                  root.rs          tables.rs    fields.rs
//! ```
//!
//! **In:** the bytes of an assembly's file. **Out:** its static fields, in the order of the metadata; its types with their
//! base types and instance fields.
//!
//! The runtime's heap events give a static field's name, but not the type that declares it. The metadata has both.
//!
//! The layouts of the three heads ([`PeHead`], [`StreamPlaces`], [`Schema`]) are public: others read metadata where
//! it lies in the memory of a process, piece by piece.
//!
//! It reads no constants, no code and no debug information, and it opens no file. Layouts: ECMA-335, partition II,
//! chapters 24 and 25.
#![forbid(unsafe_code)]

mod bytes;
mod error;
mod fields;
mod methods;
mod nested;
mod pe;
mod root;
mod signature;
mod tables;
mod thread_statics;
mod types;

pub use error::Error;
pub use fields::{StaticField, static_fields};
pub use methods::{MethodName, MethodNames};
pub use nested::outer_types;
pub use pe::PeHead;
pub use root::StreamPlaces;
pub use tables::{Place, Schema, table};
pub use thread_statics::thread_statics;
pub use types::{InstanceField, TypeDefinition, type_definitions};
