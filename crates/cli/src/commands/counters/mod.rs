//! `drdotnet counters`

mod collect;
mod exposition_file;
mod list;
mod monitor;
mod row_file;
mod targets;
mod watching;

use std::time::Duration;

use counters::{Limits, Selection};
use model::parse_duration;

use crate::args::counters::{CountersArgs, CountersCommand, WhatArgs};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::screen::Screen;

/// Runtimes collect no more often than this.
const SHORTEST: Duration = Duration::from_millis(100);

/// Within so many intervals no first value may have come yet.
const BRIEF: u32 = 3;

/// Does what was asked with counters.
pub fn counters(args: &CountersArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        CountersCommand::Monitor(args) => monitor::monitor(args, screen),
        CountersCommand::Collect(args) => collect::collect(args),
        CountersCommand::List => list::list(screen),
    }
}

/// Why values could not be written.
#[derive(Debug)]
enum WriteError {
    /// A reader that has gone away (`| head`): no error, but the end.
    ReaderGone,
    /// Anything else.
    Failed(Failure),
}

/// What was typed, checked.
#[derive(Clone, Debug)]
struct What {
    selection: Selection,
    limits: Limits,
    duration: Option<Duration>,
}

impl What {
    fn new(args: &WhatArgs) -> Result<What, Failure> {
        let interval = parse_duration(&args.refresh_interval)?;
        if interval < SHORTEST {
            let what = format!("--refresh-interval {} is too short", args.refresh_interval);
            return Err(Failure::new(Code::BadDuration, what)
                .why("runtimes give counters at most every 100 ms")
                .next("--refresh-interval 1 is usual"));
        }
        Ok(What {
            selection: args.counters.as_deref().map_or(Ok(Selection::default()), Selection::parse)?,
            limits: Limits {
                interval,
                max_series: args.max_time_series,
                max_histograms: args.max_histograms,
            },
            duration: args.duration.as_deref().map(parse_duration).transpose()?,
        })
    }

    /// The time it was looked at, if that is too short to judge.
    fn too_brief(&self, looked: Duration) -> Option<Duration> {
        // Rounded, for a message.
        let shown = Duration::from_millis(100 * u64::try_from(looked.as_millis() / 100).unwrap_or_default());
        (looked < self.limits.interval * BRIEF).then_some(shown)
    }

    /// The providers that were asked for, for messages.
    fn providers(&self) -> String {
        let names: Vec<&str> = self.selection.groups().iter().map(|group| group.provider.as_str()).collect();
        names.join(", ")
    }
}
