//! Names of managed code from the memory of a running .NET process.
//!
//! ```text
//! /proc/PID/maps --> libcoreclr, or the program --> its exported description of itself (.NET 9, 10) --> offsets of fields
//!                                                                                                          |
//! address --> section --+--> heap of compiled code: nibble map --> header --+--> method --> type --> module --> metadata
//!   (tree of ranges)    +--> image: functions, entry points ----------------+                                     |
//!                                                                              Method: names, signature <---------+
//! ```
//!
//! **In:** a process that this user may trace. **Out:** for an address of code the [`Method`] it belongs to, with
//! the same text that the runtime's events have, so that profiles can take their names from either
//! ([`Method::teach`]).
//!
//! Nothing is sent to the process and it is not stopped: this works when its diagnostics port is off, when it hangs
//! or is stopped, and when its port is not ours to use. What is asked costs by the address, not by how many methods
//! there are.
//!
//! The process runs on while it is read, and it may be hostile. Every read is bounded, every list has an end, and
//! what does not fit together is no method; but a name that a process forges cannot be told from a true one.
//!
//! It needs .NET 9 or 10 on x64: older runtimes do not describe themselves. It reads no stacks and no objects: crate
//! `gc-memory` does, with the offsets and names of this one.
//!
//! ```no_run
//! use runtime_memory::RuntimeMemory;
//!
//! let mut runtime = RuntimeMemory::open(model::ProcessId(4242))?;
//! if let Some(method) = runtime.method_at(0x7f3f_6540_1234) {
//!     println!("{}", method.human_name());
//! }
//! # Ok::<(), runtime_memory::Error>(())
//! ```
#![forbid(unsafe_code)]

mod code_length;
mod descriptor;
mod elf;
mod error;
mod memory;
mod metadata;
mod method;
mod names;
mod nibble_map;
mod offsets;
mod ready_to_run;
mod runtime;
mod sections;
mod signature;
mod type_names;

pub use elf::Loaded;
pub use error::Error;
pub use memory::{Memory, ProcessMemory};
pub use metadata::DeclaredField;
pub use method::Method;
pub use runtime::{RuntimeMemory, find_runtime};

/// Decoders on their own, for fuzzing: none of them may panic on any bytes.
#[doc(hidden)]
pub mod decode {
    use crate::memory::{Bytes, Pages};
    use crate::metadata::Metadata;

    /// Reads the text of a description and asks it for all that is needed; whether it would do.
    pub fn contract_descriptor(text: &[u8]) -> bool {
        crate::descriptor::Descriptor::parse(text)
            .is_ok_and(|descriptor| crate::offsets::Offsets::of(&descriptor).is_ok())
    }

    /// Names and signatures of the first methods and types of some metadata, or of an image that has it.
    pub fn metadata_names(bytes: &[u8]) -> Vec<String> {
        const AT: u64 = 0x1_0000;
        const ROWS: usize = 200;
        let padded = bytes.len().next_multiple_of(4096);
        let mut bytes = bytes.to_vec();
        bytes.resize(padded, 0);
        let memory = Bytes { at: AT, bytes };
        let metadata = Metadata::at(&memory, AT).or_else(|| Metadata::of_image(&memory, AT));
        let Some(metadata) = metadata else { return Vec::new() };
        let mut pages = Pages::default();
        let mut reader = metadata.with(&memory, &mut pages);
        let mut found = Vec::new();
        for row in 0..ROWS {
            found.extend(reader.method_name(row));
            if let Some(signature) = reader.method_signature(row) {
                found.push(crate::signature::text(&mut reader, &signature));
            }
            found.extend(reader.nest(row).into_iter().flatten().map(|part| part.name));
            found.extend(reader.type_parameter(row));
        }
        found
    }
}
