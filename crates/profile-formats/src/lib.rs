//! Weighed stacks, written for the viewers that people use.
//!
//! ```text
//!                        +--> speedscope   speedscope.app: a flame chart for each thread
//!                        +--> chromium     ui.perfetto.dev, chrome://tracing: threads on a time line
//! Profile --> FORMATS ---+--> folded       one line for each stack: grep, diff, flamegraph.pl
//!             (registry) +--> flamegraph   an SVG that needs nothing but a browser
//!                        +--> html         a page that needs nothing else: search, zoom, threads, callers
//!                        +--> pprof        go tool pprof, and what else reads its files
//!                        +--> firefox      profiler.firefox.com
//!                        +--> perf-script  what reads the text of perf script: FlameScope
//! ```
//!
//! **In:** a [`Profile`](stacks::Profile) and whether threads are kept apart ([`Grouping`]). **Out:** bytes, written as
//! they are made. What does not fit a format's idea of the world (bytes on a time line) is written in the way that
//! keeps its numbers right.
//!
//! Names come from the target and are hostile: each format escapes them for its medium.
//!
//! It opens no file and reads no trace; of what others write, only folded stacks ([`read_folded`]).
//!
//! ```
//! # fn write(profile: &stacks::Profile) -> Result<Vec<u8>, profile_formats::FormatError> {
//! let format = profile_formats::by_id("speedscope").expect("it is there");
//! let mut bytes = Vec::new();
//! format.write(profile, format.usual_grouping(), &mut bytes)?;
//! # Ok(bytes)
//! # }
//! ```
#![forbid(unsafe_code)]

mod chromium;
mod firefox;
mod flamegraph;
mod folded;
mod folded_reader;
pub mod html;
mod label;
mod perf_script;
pub mod pprof;
mod registry;
mod sink;
mod spans;
mod speedscope;

pub use flamegraph::write_difference;
pub use folded_reader::{FoldedError, read_folded};
pub use label::{frame as frame_label, module as module_label};
pub use registry::{FORMATS, Format, FormatError, Grouping, by_id};
