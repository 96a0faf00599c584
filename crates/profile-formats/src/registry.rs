//! All formats; a new one is one file and one row.

use std::io::{self, Write};

use stacks::Profile;

use crate::{chromium, firefox, flamegraph, folded, html, perf_script, pprof, speedscope};

/// Whether threads are kept apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Each thread for itself.
    PerThread,
    /// All threads as if they were one.
    Merged,
}

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// The format shows threads on a time line, where they cannot be one.
    #[error("{format} shows each thread on its own line; it has no merged form")]
    NoMergedForm {
        /// The format.
        format: &'static str,
    },
}

/// A way to write a profile.
#[derive(Debug)]
pub struct Format {
    /// What it is called on a command line.
    pub id: &'static str,
    /// What it is called by people.
    pub title: &'static str,
    /// How names of its files end, without a dot before.
    pub extension: &'static str,
    /// How to look at it; `FILE` stands for the file.
    pub opens: &'static str,
    /// Whether it shows when each sample was; if not, totals are enough.
    pub is_time_line: bool,
    /// Whether it can show lines of a method.
    pub has_lines: bool,
    groupings: &'static [Grouping],
    writer: fn(&Profile, Grouping, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    /// How threads are kept if nothing is said.
    #[must_use]
    pub fn usual_grouping(&self) -> Grouping {
        self.groupings.first().copied().unwrap_or(Grouping::PerThread)
    }

    /// Writes a profile. Many small writes are gathered; what is passed needs no buffer of its own.
    pub fn write(
        &self,
        profile: &Profile,
        grouping: Grouping,
        to: &mut dyn Write,
    ) -> Result<(), FormatError> {
        if !self.groupings.contains(&grouping) {
            return Err(FormatError::NoMergedForm { format: self.title });
        }
        (self.writer)(profile, grouping, to)?;
        Ok(to.flush()?)
    }
}

/// All formats, the usual one first.
pub const FORMATS: &[Format] = &[
    Format {
        id: "speedscope",
        title: "Speedscope",
        extension: "speedscope.json",
        opens: "drag FILE into https://www.speedscope.app",
        is_time_line: true,
        has_lines: false,
        groupings: &[Grouping::PerThread, Grouping::Merged],
        writer: speedscope::write,
    },
    Format {
        id: "chromium",
        title: "Chromium",
        extension: "chromium.json",
        opens: "drag FILE into https://ui.perfetto.dev, or load it in chrome://tracing",
        is_time_line: true,
        has_lines: false,
        groupings: &[Grouping::PerThread],
        writer: chromium::write,
    },
    Format {
        id: "folded",
        title: "folded stacks",
        extension: "folded",
        opens: "grep or diff FILE, or pass it to flamegraph.pl or inferno-flamegraph",
        is_time_line: false,
        has_lines: false,
        groupings: &[Grouping::Merged, Grouping::PerThread],
        writer: folded::write,
    },
    Format {
        id: "flamegraph",
        title: "flame graph",
        extension: "svg",
        opens: "open FILE in any browser",
        is_time_line: false,
        has_lines: false,
        groupings: &[Grouping::Merged, Grouping::PerThread],
        writer: flamegraph::write,
    },
    Format {
        id: "html",
        title: "flame graph page",
        extension: "html",
        opens: "open FILE in any browser",
        is_time_line: false,
        has_lines: true,
        groupings: &[Grouping::Merged, Grouping::PerThread],
        writer: html::write,
    },
    Format {
        id: "pprof",
        title: "pprof",
        extension: "pb.gz",
        opens: "go tool pprof -http=: FILE",
        is_time_line: false,
        has_lines: true,
        groupings: &[Grouping::PerThread, Grouping::Merged],
        writer: pprof::write,
    },
    Format {
        id: "firefox",
        title: "Firefox Profiler",
        extension: "firefox.json",
        opens: "drag FILE into https://profiler.firefox.com",
        is_time_line: true,
        has_lines: false,
        groupings: &[Grouping::PerThread, Grouping::Merged],
        writer: firefox::write,
    },
    Format {
        id: "perf-script",
        title: "perf script",
        extension: "perf.txt",
        opens: "pass FILE to FlameScope or stackcollapse-perf.pl, or drag it into https://www.speedscope.app",
        is_time_line: true,
        has_lines: false,
        groupings: &[Grouping::PerThread],
        writer: perf_script::write,
    },
];

/// The format of this name, whatever the case.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.id.eq_ignore_ascii_case(id))
}
