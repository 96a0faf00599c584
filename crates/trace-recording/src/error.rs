//! What can go wrong with a recording.

use std::io;
use std::path::PathBuf;

use diagnostics_ipc::IpcError;
use thiserror::Error;

use crate::syntax::SyntaxError;

/// Why there is no recording, or not all of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// An option's text does not follow its grammar.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// No profile has this name.
    #[error("there is no profile '{name}'")]
    UnknownProfile {
        /// What was typed.
        name: String,
    },
    /// Arguments cannot be put together.
    #[error("provider '{provider}' is given arguments twice")]
    TwiceWithArguments {
        /// Its name.
        provider: String,
    },
    /// Nothing was asked for.
    #[error("no provider was named: there is nothing to record")]
    NoProviders,
    /// The runtime did not do as it was told.
    #[error(transparent)]
    Ipc(#[from] IpcError),
    /// A file could not be made or written.
    #[error("writing {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}
