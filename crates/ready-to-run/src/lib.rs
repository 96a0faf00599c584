//! Code of an assembly that was compiled ahead of time (ReadyToRun): where it lies, and which method it is.
//!
//! ```text
//! bytes of a .dll --> headers, runtime functions, entry points --> Precompiled: offset in the file -> row of a method
//!                                                                   MethodNames: row -> type and name
//! ```
//!
//! **In:** the bytes of an assembly's file. **Out:** for a place in it the method that it is the code of.
//!
//! The runtime tells of the code it uses, with one exception: bodies of P/Invoke methods that were compiled ahead of time.
//! The file has them all. Generic instances are left out: their names are not in the metadata, and the runtime tells of
//! them.
//!
//! It opens no file, and no bytes make it panic. Layouts: the runtime's `readytorun-format.md`.
#![forbid(unsafe_code)]

mod error;
mod native_array;
mod precompiled;

pub use error::Error;
pub use precompiled::{MethodRow, Precompiled, file_length};
pub use static_fields::{MethodName, MethodNames};
