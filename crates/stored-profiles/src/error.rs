//! Why a file is no recording.

use std::io;

use thiserror::Error;

/// Why a file is no recording.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Reading failed.
    #[error(transparent)]
    Io(io::Error),
    /// It begins like no stored profile.
    #[error("it does not begin like a stored profile")]
    NotAProfile,
    /// It was written by a newer version.
    #[error("it has version {found}, this tool reads version {}", crate::VERSION)]
    Version {
        /// The version it names.
        found: u8,
    },
    /// It ends in the middle.
    #[error("it is cut off: it ends in {part}")]
    Cut {
        /// The part in which it ends.
        part: &'static str,
    },
    /// A value in it cannot be.
    #[error("it is damaged: {problem} in {part}")]
    Damaged {
        /// What is wrong.
        problem: &'static str,
        /// The part where it is.
        part: &'static str,
    },
    /// It holds more than this tool reads.
    #[error("it has more than {most} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many are read.
        most: u64,
    },
}
