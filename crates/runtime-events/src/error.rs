//! What can be wrong with a payload.

use nettrace::EventVersion;

/// Why an event could not be decoded. The events after it are not affected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A field is not there, or cannot be what it is.
    #[error("{event} (version {version}): byte {at} of the payload: {field}: {problem}")]
    Field {
        /// The event, as [`RuntimeEvent::name`](crate::RuntimeEvent::name) calls it.
        event: &'static str,
        /// The version of its layout.
        version: EventVersion,
        /// The field.
        field: &'static str,
        /// Where in the payload.
        at: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The event has a layout older than that of any runtime that writes nettrace.
    #[error("{event}: version {version} is not known, only {oldest} and newer")]
    Version {
        /// The event.
        event: &'static str,
        /// The version of its layout.
        version: EventVersion,
        /// The oldest version that can be decoded.
        oldest: EventVersion,
    },
}

/// A field that could not be read, before it is known in which event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    pub field: &'static str,
    pub at: usize,
    pub problem: &'static str,
}

impl FieldError {
    pub fn within(self, event: &'static str, version: EventVersion) -> DecodeError {
        let FieldError { field, at, problem } = self;
        DecodeError::Field { event, version, field, at, problem }
    }
}
