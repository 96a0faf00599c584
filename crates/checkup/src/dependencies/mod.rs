//! Calls to other services: outgoing HTTP calls and database commands, as the client libraries tell of them.
//!
//! ```text
//! client library --> DiagnosticListener or ActivitySource --> bridge (an event source) --> session --> CallEvent --> Tracker --> Call
//! ```
//!
//! The runtime has an event source, the bridge, that passes on what libraries tell listeners within the process: exactly those
//! notes, and those parts of them, that its argument names. It works on .NET Core 3.1, too.

mod call_event;
mod libraries;
mod tracking;

pub(crate) use call_event::{Edge, read};
pub(crate) use libraries::{Detail, is_between, provider};
pub(crate) use tracking::{Call, Tracker};
#[cfg(test)]
pub(crate) use {call_event::Whom, tracking::Ended};
