//! Why there are no lines.

use std::path::PathBuf;

use nettrace::Guid;

/// Why the symbol file of a module cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SymbolError {
    /// There is none beside the module, at the place where it was built, or in it.
    #[error("no symbol file was found for {module}")]
    NotFound {
        /// The module's path.
        module: String,
    },
    /// Neither the runtime nor the module's file says which symbol file belongs to it.
    #[error("{module} does not say which symbol file belongs to it")]
    NoId {
        /// The module's path.
        module: String,
    },
    /// It belongs to another build of the module.
    #[error("{path} belongs to another build: the module wants {wanted}, the file is {found}")]
    OtherBuild {
        /// The symbol file.
        path: PathBuf,
        /// What the module wants.
        wanted: Guid,
        /// What the file is.
        found: Guid,
    },
    /// It cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is larger than any real one.
    #[error("{what} has {bytes} bytes, more than the {limit} that are read")]
    TooBig {
        /// What it is.
        what: &'static str,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
    },
    /// It has another format: Windows PDBs, for example, have one of their own.
    #[error("not a portable PDB: {what}")]
    Format {
        /// What is not as expected.
        what: &'static str,
    },
    /// It ends too early or points out of itself.
    #[error("the portable PDB is damaged: {what} at byte {at}")]
    Damaged {
        /// What could not be read.
        what: &'static str,
        /// Where.
        at: usize,
    },
}
