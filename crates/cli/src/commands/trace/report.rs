//! `drdotnet trace report`: what is in a trace.

use std::time::Duration;

use model::{Cell, Column, Table, Unit, format_duration};
use reports::LastColumn;
use reports::value::{format_bytes, format_time, format_whole};
use serde::Serialize;
use trace_views::{Detail, EventCount, Request, Summary, Wanted};

use super::top_n;
use super::trace_file::{self, SummaryJson};
use crate::args::trace_convert::{ReportArgs, ReportCommand};
use crate::commands::json;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output;
use crate::redaction;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.trace-summary/1";
/// Kinds of events that are listed.
const MOST_KINDS: usize = 12;

/// Says what is in a trace, or makes the report that was asked for.
pub fn report(args: &ReportArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.report {
        Some(ReportCommand::TopN(top)) => top_n::top_n(args, top, screen),
        None => summarize(args, screen),
    }
}

fn summarize(args: &ReportArgs, screen: &Screen) -> Result<(), Failure> {
    let request = Request::new(Wanted::Summary, Detail::Totals);
    let summary = trace_file::read(&args.file, &request)?.summary;
    if args.json {
        let kinds = summary.kinds.iter().map(KindJson::new).collect();
        let list = SummaryList { schema: SCHEMA, trace: SummaryJson::new(&summary), kinds };
        return output::to_stdout(&json(&list)?);
    }
    output::to_stdout(&text(args, &summary, screen))
}

#[derive(Serialize)]
struct SummaryList<'a> {
    schema: &'static str,
    #[serde(flatten)]
    trace: SummaryJson,
    kinds: Vec<KindJson<'a>>,
}

#[derive(Serialize)]
struct KindJson<'a> {
    provider: &'a str,
    id: u32,
    name: Option<&'a str>,
    events: u64,
    with_stack: u64,
}

impl<'a> KindJson<'a> {
    fn new(kind: &'a EventCount) -> KindJson<'a> {
        KindJson {
            provider: &kind.provider,
            id: kind.id,
            name: kind.name.as_deref(),
            events: kind.events,
            with_stack: kind.with_stack,
        }
    }
}

fn text(args: &ReportArgs, summary: &Summary, screen: &Screen) -> String {
    let mut text = String::new();
    let mut row = |title: &str, words: &str| {
        let words = reports::printable_within(words, reports::LONGEST_PROSE);
        text += &format!("{title:<9} {}\n", hanging(10, &words, screen.width()));
    };
    let runtime = summary.runtime.as_ref().map_or(String::new(), |version| format!(", .NET {version}"));
    if let Some(process) = summary.process {
        row("Process", &format!("{process}{runtime}"));
    }
    if let Some(command) = &summary.command_line {
        row("Command", &redaction::command_line(command));
    }
    let length = format_duration(Duration::from_nanos(summary.duration_ns));
    row(
        "Recorded",
        &match trace_file::started(summary) {
            Some(time) => format!("{}, for {length}", format_time(time)),
            None => length,
        },
    );
    let events = format_whole(summary.events, Unit::Count);
    let size = std::fs::metadata(&args.file).map_or(summary.bytes, |file| file.len());
    row("Events", &format!("{events} of {} kinds, {}", summary.kinds.len(), format_bytes(size)));
    let losses = trace_file::losses(summary);
    for (place, loss) in losses.iter().enumerate() {
        row(if place == 0 { "Lost" } else { "" }, loss);
    }
    if losses.is_empty() {
        row("Lost", "nothing");
    }
    text += "\n";
    if summary.views.is_empty() {
        text += "No view has stacks in this file; --event PROVIDER/EVENT counts any event.\n";
    } else {
        text += &views(summary, screen);
    }
    text += "\n";
    text += &kinds(summary, screen);
    text
}

fn views(summary: &Summary, screen: &Screen) -> String {
    let mut table = Table::new([
        Column::new("view", "View", Unit::Text),
        Column::new("events", "Events", Unit::Count),
        Column::new("shows", "Shows", Unit::Text),
    ]);
    for count in &summary.views {
        table.push([Cell::from(count.view.id()), Cell::from(count.events), Cell::from(count.view.title())]);
    }
    reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills)
}

fn kinds(summary: &Summary, screen: &Screen) -> String {
    let mut table = Table::new([
        Column::new("events", "Events", Unit::Count),
        Column::new("stacks", "With stack", Unit::Count),
        Column::new("event", "Event", Unit::Text),
    ]);
    for kind in summary.kinds.iter().take(MOST_KINDS) {
        let id = kind.id.to_string();
        let name = kind.name.as_deref().unwrap_or(&id);
        let event = format!("{}/{name}", kind.provider);
        table.push([Cell::from(kind.events), Cell::from(kind.with_stack), Cell::from(event.as_str())]);
    }
    let mut text = reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills);
    if let Some(more) = summary.kinds.len().checked_sub(MOST_KINDS).filter(|more| *more > 0) {
        text += &format!("and {more} more kinds; --json lists them all\n");
    }
    text
}
