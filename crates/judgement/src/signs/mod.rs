//! Vital signs: what is cheap to know of a process, measured in one window.

mod calls;
mod container;
mod runtime;
mod surroundings;
mod system;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use calls::{Calls, FAILING_ONE_IN, MIN_FAILURES, SLOW_NS, Tally};
pub use container::{Connections, Container};
pub use runtime::{Counting, HeapAfterCollection, Pauses, RuntimeSigns, Values};
pub use surroundings::{Surroundings, hexadecimal, is_on};
pub use system::{Course, System};

/// The vital signs of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Signs {
    /// How long was looked.
    pub window: Duration,
    /// What /proc says.
    pub system: Option<System>,
    /// Its TCP connections, at the end.
    pub connections: Connections,
    /// Sockets that the other side had closed at the start, and that it has still open at the end.
    pub half_closed: u64,
    /// Limits of its control group, at the end.
    pub container: Container,
    /// Periods of the window in which it was denied a processor, in per cent.
    pub throttled: Option<f64>,
    /// Processes of the group that were killed for lack of memory within the window.
    pub killed: u64,
    /// How it was started, and who else looks.
    pub surroundings: Surroundings,
    /// What the runtime says.
    pub runtime: Option<RuntimeSigns>,
    /// Outgoing HTTP calls and database commands.
    pub calls: Calls,
    /// How it stands still, if it does.
    pub frozen: Option<Frozen>,
    /// Whether it ended within the window.
    pub exited: bool,
    /// Bytes in which its objects lie, at the moments of the window; empty where nobody can look from outside.
    pub managed: Course,
    /// Those of large objects among them.
    pub large: Course,
    /// Bytes that the system has given to its heap, at the same moments.
    pub taken: Course,
    /// Objects that wait for their finalizer, at the end of the window; none where nobody can look from outside.
    pub waiting_for_finalizer: Option<u64>,
}

/// How a process stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frozen {
    /// A signal stopped it.
    Stopped,
    /// A debugger or tracer holds it.
    Traced,
}

impl Signs {
    /// Processors that the process can use: those of the machine it may run on, or its share.
    #[must_use]
    pub fn processors(&self) -> f64 {
        let machine =
            self.surroundings.processors.filter(|count| *count > 0).map_or(f64::INFINITY, f64::from);
        machine.min(self.container.processors.unwrap_or(f64::INFINITY))
    }
}
