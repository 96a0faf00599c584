//! Why a file has no code to tell of.

use thiserror::Error;

/// Why a file has no code to tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no assembly, or none of 64 bits.
    #[error("not a 64-bit .NET assembly")]
    NotAnAssembly,
    /// It has no code that was compiled ahead of time.
    #[error("nothing in it was compiled ahead of time")]
    NotPrecompiled,
    /// It ends too early, or points outside of itself.
    #[error("the file is damaged: {0}")]
    Damaged(&'static str),
}
