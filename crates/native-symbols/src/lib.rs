//! Names of native code.
//!
//! ```text
//! /proc/PID/maps ----> MemoryMap: address -> file and offset in it
//! ELF files, debug files ----> ElfImage: offset -> function          +--> NativeNames::frame(address)
//! /proc/kallsyms ----> KernelNames: address -> function   -----------+
//! ```
//!
//! **In:** a process, seen through `/proc`. **Out:** for an address of native code the function, or the library and the
//! offset in it. Files are looked for where the *target* sees them (`/proc/PID/root`), debug information beside them, under
//! the usual debug folders, and in a cache of fetched files, always by build id.
//!
//! It fetches nothing, unwinds nothing and knows no managed code. Files of the target are hostile: lengths are bounded, and no
//! bytes make it panic.
#![forbid(unsafe_code)]

mod debug_files;
mod elf;
mod error;
mod exports;
mod frugal;
mod kernel;
mod libraries;
mod memory_map;
mod names;

pub use debug_files::{DebugFolders, LARGEST_FILE, user_cache};
pub use elf::{BuildId, ElfImage, Function, Segment};
pub use error::SymbolError;
pub use exports::exported;
pub use kernel::KernelNames;
pub use libraries::{MappedLibrary, Symbols, mapped_libraries};
pub use memory_map::{Backing, Mapping, MemoryMap};
pub use names::{Named, NativeNames};
