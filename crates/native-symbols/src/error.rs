//! Why there are no names.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why there are no names.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file is larger than any library.
    #[error("{}: {bytes} bytes are more than a library has", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A file is not the ELF file it should be.
    #[error("not a sound ELF file: {0}")]
    Elf(#[from] object::Error),
    /// The kernel hides the addresses of its functions.
    #[error("the kernel hides the addresses of its functions (kernel.kptr_restrict)")]
    KernelHidden,
}
