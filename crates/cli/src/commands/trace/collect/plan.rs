//! What was typed, checked; nothing has been touched yet.

use std::path::PathBuf;
use std::time::Duration;

use diagnostics_ipc::{Rundown, TraceRequest};
use discovery::DotnetProcess;
use model::parse_duration;
use trace_recording::{Asked, Condition, Keep, Selection, StoppingEvent};

use crate::args::trace::{CollectArgs, RecordingFormat};
use crate::exit_code::Code;
use crate::explain::Failure;

/// A recording to be made.
pub struct Plan {
    pub selection: Selection,
    pub buffer_mb: u32,
    pub duration: Option<Duration>,
    pub stopping: Option<StoppingEvent>,
    pub keep: Option<Keep>,
    pub conditions: Vec<Condition>,
    pub saves: u32,
    pub output: Option<PathBuf>,
    pub format: RecordingFormat,
    pub json: bool,
    /// The terminal belongs to the program that is started.
    pub is_quiet: bool,
    /// Asking for names at the end could crash the target.
    pub withholds_names: bool,
}

impl Plan {
    pub fn new(args: &CollectArgs) -> Result<Plan, Failure> {
        let mut selection = Selection::new(&Asked {
            providers: args.providers.as_deref(),
            profiles: args.profile.as_deref(),
            clr_events: args.clrevents.as_deref(),
            clr_level: args.clreventlevel.as_deref(),
            rundown: args.rundown,
        })?;
        let conditions =
            args.when.iter().map(|text| Condition::parse(text)).collect::<Result<Vec<_>, _>>()?;
        for provider in conditions.iter().filter_map(Condition::needs) {
            selection.add_for_condition(provider)?;
        }
        if args.show_child_io && args.target.command.is_empty() {
            return Err(Failure::new(Code::BadParameter, "--show-child-io is for a program that is started")
                .next("leave it away, or start the program: drdotnet trace collect -- COMMAND"));
        }
        let stopping = match args.stopping_event_provider_name.as_deref() {
            Some(provider) => Some(StoppingEvent::new(
                provider,
                args.stopping_event_event_name.as_deref(),
                args.stopping_event_payload_filter.as_deref(),
            )?),
            None => None,
        };
        Ok(Plan {
            selection,
            buffer_mb: args.buffersize,
            duration: args.duration.as_deref().map(parse_duration).transpose()?,
            stopping,
            keep: args.keep.as_deref().map(Keep::parse).transpose()?,
            conditions,
            saves: args.saves,
            output: args.output.clone(),
            format: args.format,
            json: args.json,
            is_quiet: args.show_child_io,
            withholds_names: false,
        })
    }

    /// The session to ask a process for.
    pub fn request(&self, process: &DotnetProcess) -> TraceRequest {
        let mut request = TraceRequest::new(self.buffer_mb, self.selection.requested());
        request.rundown = match self.withholds_names {
            true => Rundown::None,
            false => self.selection.rundown(process.runtime_major()),
        };
        request
    }
}

/// Whether its runtime may crash when a session is left behind without being stopped.
pub fn may_die_with_the_tool(process: &DotnetProcess) -> bool {
    process.runtime_major().is_none_or(|major| major < 5)
}
