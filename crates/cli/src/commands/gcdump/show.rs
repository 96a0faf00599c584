//! `drdotnet gcdump report`, `diff` and `paths`

use heap_reports::{Look, NoType, Origin, choose_types};
use model::{Cost, Pauses, Report, Timestamp};

use super::collect::unnamed_words;
use super::collecting::{Fresh, fresh, listen};
use super::file::{host, open};
use crate::args::Which;
use crate::args::gcdump::{DiffArgs, PathsArgs, ReportArgs};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// What is on a heap.
pub fn report(args: &ReportArgs, screen: &Screen) -> Result<(), Failure> {
    let (look, origin) = match (&args.file, args.process_id, &args.name) {
        (Some(file), _, _) => open(file)?,
        (_, Some(pid), _) => collected(fresh(&Which::Pid(pid), &args.collecting, screen, &listen()?)?),
        (_, _, name) => {
            let name = name.clone().unwrap_or_default();
            collected(fresh(&Which::Name(name), &args.collecting, screen, &listen()?)?)
        }
    };
    show(heap_reports::heap(&look, &origin, args.top), args.json, screen)
}

/// What grew.
pub fn diff(args: &DiffArgs, screen: &Screen) -> Result<(), Failure> {
    let (before, earlier) = open(&args.before)?;
    let (after, mut origin) = open(&args.after)?;
    let notes = compared(&earlier, &origin);
    origin.notes.extend(notes);
    show(heap_reports::growth(&before, &after, &origin, args.top), args.json, screen)
}

/// What one must know who compares two heaps.
pub fn compared(earlier: &Origin, later: &Origin) -> Vec<String> {
    let mut notes = Vec::new();
    if earlier.taken_at > later.taken_at {
        notes.push("The first heap is younger than the second: growth is told backwards.".to_owned());
    }
    if earlier.target.pid != later.target.pid && earlier.target.pid.0 != 0 {
        notes.push(format!(
            "The heaps are of two processes, {} and {}: what differs need not have grown.",
            earlier.target.pid, later.target.pid
        ));
    }
    notes
}

/// Who holds a type.
pub fn paths(args: &PathsArgs, screen: &Screen) -> Result<(), Failure> {
    let (look, origin) = open(&args.file)?;
    let types = choose_types(&look, &args.type_name).map_err(|no_type| {
        unclear(&args.type_name, no_type, "drdotnet gcdump report FILE --top 100   lists the types")
    })?;
    show(heap_reports::paths(&look, &origin, &types, args.limit), args.json, screen)
}

fn show(mut report: Report, json: bool, screen: &Screen) -> Result<(), Failure> {
    report.cost.host = host();
    let text = if json {
        reports::json::render(&report)
    } else {
        reports::terminal::render(&report, &screen.report_style())
    };
    output::to_stdout(&text)
}

fn collected(fresh: Fresh) -> (Look, Origin) {
    let heap = fresh.heap;
    let pause_ns = heap.pause.map(|pause| u64::try_from(pause.total.as_nanos()).unwrap_or(u64::MAX));
    let origin = Origin {
        target: fresh.process.target(),
        taken_at: Timestamp::now(),
        cost: Cost {
            method: "heap events of one forced full collection".to_owned(),
            pauses: pause_ns.map_or(Pauses::default(), |ns| Pauses {
                count: 1,
                total_ns: ns,
                longest_ns: ns,
            }),
            bytes: heap.bytes,
            events: heap.events,
            ..Cost::default()
        },
        notes: (heap.unnamed_types > 0).then(|| unnamed_words(heap.unnamed_types)).into_iter().collect(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    (Look::of(heap.graph), origin)
}

/// A type that is not meant clearly, with the command that lists all.
pub fn unclear(typed: &str, no_type: NoType, listing: &str) -> Failure {
    match no_type {
        NoType::Unknown(near) if near.is_empty() => {
            Failure::new(Code::BadParameter, format!("no object on this heap has a type like '{typed}'"))
                .next(listing)
        }
        NoType::Unknown(near) => {
            let failure =
                Failure::new(Code::BadParameter, format!("no object on this heap has a type like '{typed}'"));
            near.into_iter().fold(failure.next("did you mean one of these?"), Failure::choice)
        }
        NoType::Several(names, count) => {
            let failure =
                Failure::new(Code::BadParameter, format!("'{typed}' is a part of {count} types' names"));
            let more = count.saturating_sub(names.len());
            let failure =
                names.into_iter().fold(failure.next("choose one by its full name:"), Failure::choice);
            if more > 0 { failure.choice(format!("and {more} more")) } else { failure }
        }
    }
}
