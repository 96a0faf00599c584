//! Why a file has no static fields to tell.

use thiserror::Error;

/// Why a file has no static fields to tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no assembly: another kind of file, or a native library.
    #[error("not a .NET assembly: {0}")]
    NotAnAssembly(&'static str),
    /// It ends too early, or points outside of itself.
    #[error("the metadata is damaged: {0}")]
    Damaged(&'static str),
}
