//! What can be wrong with a stream.

use std::io;

/// Why reading ended early. Every event before the damage has been handed out by then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input does not begin like a nettrace stream.
    #[error("not a nettrace stream: it begins with {found:02x?} instead of \"Nettrace\"")]
    NotNettrace {
        /// Its first bytes.
        found: [u8; 8],
    },
    /// The input was written for readers newer than this one, or older than any still in use.
    #[error("byte {offset}: {what} of version {version} cannot be read, only {readable}")]
    UnsupportedVersion {
        /// Where the version stands.
        offset: u64,
        /// What has this version.
        what: &'static str,
        /// The version.
        version: u32,
        /// The versions this reader knows.
        readable: &'static str,
    },
    /// The input ends where something was still to come: the recording was cut off.
    #[error("the stream is cut off at byte {offset}, inside {what}")]
    Truncated {
        /// The length of the input.
        offset: u64,
        /// What was being read.
        what: &'static str,
    },
    /// The input could not be read. After `WouldBlock` and `TimedOut` reading can be tried again.
    #[error("byte {offset}: the stream could not be read: {source}")]
    Io {
        /// How far it was read.
        offset: u64,
        /// The reason.
        source: io::Error,
    },
    /// A field has a value it cannot have.
    #[error("byte {offset}: {what} is damaged: {problem}")]
    Damaged {
        /// Where it stands.
        offset: u64,
        /// The field.
        what: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Something is larger than this reader takes.
    #[error("byte {offset}: {what} of {size} exceeds the limit of {limit}")]
    TooLarge {
        /// Where its size stands.
        offset: u64,
        /// What is too large.
        what: &'static str,
        /// Its size.
        size: u64,
        /// The size that is taken.
        limit: u64,
    },
    /// An event's payload does not hold the field that was asked for.
    #[error("byte {at} of the payload: {what}: {problem}")]
    Payload {
        /// Where in the payload.
        at: usize,
        /// The type of the field.
        what: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}

impl Error {
    /// Whether the next call may succeed: the input had nothing to read in time.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Error::Io { source, .. } if is_timeout(source))
    }
}

pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
