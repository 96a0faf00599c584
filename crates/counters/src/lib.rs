//! Counters of a .NET process: from the runtime's events to typed values, and to the files that other tools read.
//!
//! ```text
//! --counters text --> Selection --+
//!                                 +--> Plan --> session --> Translator --> Told --+--> Board: newest value of each series
//!      interval, limits ----------+                                               +--> export: CSV, JSON, OpenMetrics
//! ```
//!
//! **In:** what the user asked for ([`Selection`]), a client of the runtime. **Out:** [`Told`]: values of counters, of
//! whichever kind of the two that .NET has (`EventCounters` of event sources, instruments of `System.Diagnostics.Metrics`
//! meters), and what went wrong ([`Note`]). Where a provider has both, the meter wins, as in dotnet-counters. Memory is
//! bounded however many series a process makes up.
//!
//! It finds no processes, draws no screens, opens no files.
//!
//! ```
//! let selection = counters::Selection::parse("System.Runtime[cpu-usage,working-set],Shop.Api")?;
//! assert!(selection.includes("System.Runtime", "cpu-usage"));
//! assert!(!selection.includes("System.Runtime", "gc-heap-size"));
//! # Ok::<(), counters::GrammarError>(())
//! ```
#![forbid(unsafe_code)]

mod board;
mod counter;
pub mod export;
mod instruments;
pub mod known;
mod note;
mod plan;
mod selection;
mod series;
mod tags;
mod translator;
mod watch;

pub use board::{Board, MAX_SERIES, SeriesKey};
pub use counter::{Counter, CounterSource, Quantile, Reading, Update};
pub use note::Note;
pub use plan::{Limits, Plan};
pub use selection::{GrammarError, GrammarProblem, Group, GroupSource, Selection};
pub use series::{HISTORY, Series};
pub use tags::tags;
pub use translator::{Told, Translator};
pub use watch::{Watched, watch};
