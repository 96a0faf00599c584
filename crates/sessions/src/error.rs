//! Why a session cannot be written or read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a session cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Writing failed: full disk, read-only disk, no permission.
    #[error("writing {path}: {source}")]
    Write {
        /// What was to be written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Reading failed.
    #[error("reading {path}: {source}")]
    Read {
        /// What was to be read.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// No session has this id.
    #[error("no session '{id}' in {store}")]
    NotFound {
        /// What was asked for.
        id: String,
        /// Where it was looked for.
        store: PathBuf,
    },
    /// Several sessions begin with this id.
    #[error("'{id}' is the beginning of {} sessions", candidates.len())]
    Ambiguous {
        /// What was asked for.
        id: String,
        /// Which they are.
        candidates: Vec<String>,
    },
    /// The folder is no session, or was damaged.
    #[error("{path} is not a readable session: {problem}")]
    Corrupt {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no report, because the session did not end well or goes on.
    #[error("session '{id}' has no report: it is {status}")]
    NoReport {
        /// Which session.
        id: String,
        /// Its status in a word.
        status: &'static str,
    },
    /// The folder chosen for a session holds something already.
    #[error("{path} is not empty")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The session is still running.
    #[error("session '{id}' is still running")]
    Running {
        /// Which session.
        id: String,
    },
    /// The folder for sessions in the temporary folder, where everybody can write, is not this user's alone.
    #[error("{path} cannot be trusted with sessions: {problem}")]
    Untrusted {
        /// The folder.
        path: PathBuf,
        /// Why not.
        problem: &'static str,
    },
}
