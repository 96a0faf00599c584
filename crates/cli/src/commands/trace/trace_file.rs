//! Reading a trace file, and saying what it lacks.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use model::{Unit, format_duration};
use reports::value::format_whole;
use serde::Serialize;
use trace_views::{Detail, EventName, Lines, Reading, Request, Summary, View, Wanted};

use crate::args::trace_convert::StacksArgs;
use crate::exit_code::Code;
use crate::explain::{Failure, trace_file as explain};
use crate::redaction;

/// Enough of a file to tell what it is.
const HEAD: u64 = 512;

/// Reads a trace; what can be read before damage is enough.
pub fn read(path: &Path, request: &Request) -> Result<Reading, Failure> {
    let file = File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
    });
    let file = file.map_err(|error| explain::unreadable(path, &error))?;
    trace_views::read(file, request).map_err(|error| {
        let mut head = Vec::new();
        let _ = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
        explain::not_a_trace(path, &head, &error)
    })
}

/// The stacks that were asked for, or why there are none.
pub fn read_stacks(
    path: &Path,
    args: &StacksArgs,
    detail: Detail,
    lines: Lines,
) -> Result<(stacks::Profile, Reading), Failure> {
    let wanted = wanted(args)?;
    let request = Request { wanted, detail, lines, thread: args.thread };
    let mut reading = read(path, &request)?;
    match reading.profile.take() {
        Some(profile) => Ok((profile, reading)),
        None => {
            let (words, view) = match &request.wanted {
                Wanted::View(view) => (view.events().to_owned(), Some(*view)),
                Wanted::Event(name) => (format!("event {name}"), None),
                Wanted::Best | Wanted::Summary => ("stacks of any view".to_owned(), None),
            };
            Err(explain::no_events(path, &words, view, args.thread, &reading.summary))
        }
    }
}

fn wanted(args: &StacksArgs) -> Result<Wanted, Failure> {
    if let Some(event) = &args.event {
        let name: EventName = event.parse().map_err(|error: trace_views::EventNameError| {
            Failure::new(Code::BadParameter, error.to_string())
                .next("drdotnet trace report FILE   lists the events of a file")
        })?;
        return Ok(Wanted::Event(name));
    }
    let Some(id) = &args.view else { return Ok(Wanted::Best) };
    View::by_id(id).map(Wanted::View).ok_or_else(|| {
        let ids: Vec<&str> = View::ALL.iter().map(|view| view.id()).collect();
        Failure::new(Code::UnknownProfiler, format!("there is no view '{id}'"))
            .next(format!("the views are: {}", ids.join(", ")))
    })
}

/// What was lost, each in a few words; nothing if nothing was.
pub fn losses(summary: &Summary) -> Vec<String> {
    let losses = &summary.losses;
    let time = |nanos| format_duration(Duration::from_nanos(nanos));
    let mut lines = Vec::new();
    let mut add = |count: u64, words: &str| {
        if count > 0 {
            lines.push(format!("{} {words}", format_whole(count, Unit::Count)));
        }
    };
    add(losses.events, "events dropped by the runtime (its buffer was full)");
    add(losses.stacks_missing + losses.stacks_forgotten, "stacks missing");
    add(losses.events_without_metadata, "events of a kind the file does not describe");
    add(summary.undecodable, "events with a payload that is not understood");
    add(summary.names.unnamed, "places in code without a name (methods unnamed), shown as ?!?");
    if summary.unknown_ns > 0 {
        lines.push(format!("{} of threads' time between samples too far apart", time(summary.unknown_ns)));
    }
    if let Some(damage) = &summary.damage {
        lines.push(format!("everything behind the damage: {damage}"));
    }
    lines
}

/// Why names are missing, and what to do about it.
pub fn advice(summary: &Summary) -> Option<&'static str> {
    let names = &summary.names;
    (names.unnamed * 10 > names.addresses).then_some(
        "most names come at the end of a recording: let `drdotnet trace collect` end it, and leave rundown on",
    )
}

/// What has to be known about the times of samples.
pub fn caveat(view: Option<View>, summary: &Summary) -> Option<&'static str> {
    let is_sampled = matches!(view, Some(View::ThreadTime | View::ManagedTime));
    (is_sampled && !summary.samples_tell).then_some(
        "this runtime does not say whether a thread was in managed code; the innermost method was judged by its name",
    )
}

/// A trace, for scripts.
#[derive(Serialize)]
pub struct SummaryJson {
    process: Option<u64>,
    command_line: Option<String>,
    runtime: Option<String>,
    started: Option<String>,
    duration_ns: u64,
    bytes: u64,
    events: u64,
    threads: usize,
    views: Vec<ViewJson>,
    lost: LostJson,
    damage: Option<String>,
}

#[derive(Serialize)]
struct ViewJson {
    view: &'static str,
    events: u64,
}

#[derive(Serialize)]
struct LostJson {
    events: u64,
    stacks: u64,
    undescribed_events: u64,
    undecodable_events: u64,
    unnamed_addresses: u64,
    addresses: u64,
    unknown_ns: u64,
}

impl SummaryJson {
    pub fn new(summary: &Summary) -> SummaryJson {
        let losses = &summary.losses;
        SummaryJson {
            process: summary.process,
            command_line: summary.command_line.as_deref().map(redaction::command_line),
            runtime: summary.runtime.clone(),
            started: started(summary).map(|time| time.to_string()),
            duration_ns: summary.duration_ns,
            bytes: summary.bytes,
            events: summary.events,
            threads: summary.threads,
            views: summary
                .views
                .iter()
                .map(|count| ViewJson { view: count.view.id(), events: count.events })
                .collect(),
            lost: LostJson {
                events: losses.events,
                stacks: losses.stacks_missing + losses.stacks_forgotten,
                undescribed_events: losses.events_without_metadata,
                undecodable_events: summary.undecodable,
                unnamed_addresses: summary.names.unnamed,
                addresses: summary.names.addresses,
                unknown_ns: summary.unknown_ns,
            },
            damage: summary.damage.as_ref().map(ToString::to_string),
        }
    }
}

/// When a trace began.
pub fn started(summary: &Summary) -> Option<model::Timestamp> {
    model::Timestamp::try_from(summary.started?).ok()
}
