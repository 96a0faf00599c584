//! Why a graph could not be built, read or written.

use std::io;

use thiserror::Error;

/// Why a graph could not be built, read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// More objects than 32-bit numbers can tell apart.
    #[error("the heap has more than {limit} objects")]
    TooManyObjects {
        /// The most a graph can hold.
        limit: u32,
    },
    /// More references than 32-bit numbers can tell apart.
    #[error("the heap has more than {limit} references")]
    TooManyReferences {
        /// The most a graph can hold.
        limit: u32,
    },
    /// The objects announced another number of references than came: a part of the stream is missing.
    #[error("the objects announced {announced} references but {given} came: data was lost on the way")]
    LostReferences {
        /// The sum over the objects.
        announced: u64,
        /// References that came.
        given: u64,
    },
    /// An object names a type that the builder never gave out.
    #[error("object {object} has type number {type_index}, but there are {types} types")]
    UnknownType {
        /// The object's position in the stream.
        object: u64,
        /// The type it names.
        type_index: u32,
        /// Types there are.
        types: usize,
    },
    /// The file ends within a field.
    #[error("the file ends at byte {offset}, within {field}")]
    Truncated {
        /// Where the file ends.
        offset: u64,
        /// What was being read.
        field: &'static str,
    },
    /// A field has a value that no correct file has.
    #[error("byte {offset}: {field} is {value}, expected {expected}")]
    BadField {
        /// Where the field starts.
        offset: u64,
        /// What was being read.
        field: &'static str,
        /// The value found.
        value: i64,
        /// What would be right.
        expected: &'static str,
    },
    /// The file is no .gcdump at all.
    #[error("not a .gcdump file: it does not start with {expected:?}")]
    NotAGcDump {
        /// The start that every .gcdump has.
        expected: &'static str,
    },
    /// The file is a .gcdump of a kind or version that is not read here.
    #[error("byte {offset}: {what} is not supported")]
    Unsupported {
        /// Where it shows.
        offset: u64,
        /// What it is.
        what: String,
    },
    /// The graph does not fit the .gcdump format, which counts in 31 bits.
    #[error("{what} is {value}; a .gcdump file can hold {limit}")]
    TooBigForGcDump {
        /// What is too big.
        what: &'static str,
        /// How big it is.
        value: u64,
        /// The most that fits.
        limit: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
