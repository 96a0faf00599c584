//! What goes wrong: with an address, and with everything.

use std::io;
use std::path::PathBuf;

use native_symbols::BuildId;
use thiserror::Error;

/// Why an address gave no file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The server says that it has none.
    #[error("it has no such file")]
    NotThere,
    /// The server answers with an error.
    #[error("it answers with HTTP status {0}")]
    Status(u16),
    /// There is no connection: no such host, nobody listens, no trust, a proxy that refuses.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It takes longer than it may, or says nothing.
    #[error("it is too slow")]
    TooSlow,
    /// It sends us on and on, or away from encryption.
    #[error("it redirects without end, or away from https")]
    Redirects,
    /// More than a debug file has.
    #[error("it sends more than {0} bytes")]
    TooLarge(u64),
    /// The connection broke, or the answer is not HTTP.
    #[error("the download broke off: {0}")]
    Cut(String),
    /// A web page, for instance.
    #[error("what it sent is no ELF file{0}")]
    NotElf(String),
    /// The file of another build.
    #[error("what it sent is of another build ({})", shown(.0.as_ref()))]
    OtherBuild(Option<BuildId>),
    /// The right file, but stripped.
    #[error("what it sent has no symbol table")]
    NoSymbols,
}

fn shown(id: Option<&BuildId>) -> String {
    id.map_or_else(|| "no build id".to_owned(), BuildId::to_string)
}

impl Problem {
    /// Whether the server was not reached at all.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Problem::Unreachable(_))
    }
}

/// Why nothing can be fetched from anywhere.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FetchError {
    /// An address of a server cannot be understood.
    #[error("'{text}' is not the address of a server: {problem}")]
    Address {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The certificates that were given cannot be read.
    #[error("SSL_CERT_FILE={}: {problem}", path.display())]
    Certificates {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The cache cannot be written.
    #[error("{}: {source}", path.display())]
    Cache {
        /// What was written.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The user has asked for the end.
    #[error("stopped by the user")]
    Interrupted,
}
