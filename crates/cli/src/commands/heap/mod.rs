//! `drdotnet heap`: the friendly door to the heap of a process, running or kept.
//!
//! ```text
//!  HEAP --> source: process, session, file, core dump --> Opened: graph, where it is from --> report --> screen, session
//!             +-- live: takes the heap, keeps it in a session
//! ```

mod core;
mod delivery;
mod live;
mod next_steps;
mod source;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use heap_reports::{NoMatch, choose_types};
use model::{format_duration, parse_duration};

use super::gcdump::{compared, unclear};
use super::{keeping, launching};
use crate::args::Which;
use crate::args::heap::{DiffArgs, HeapAction, HeapArgs, PathsArgs, TypesArgs, Whose, WhoseOrCommand};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::screen::Screen;
use delivery::deliver;
use source::{Opened, Source};

/// Does what was asked.
pub fn heap(args: &HeapArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.action {
        None => overview(args, screen),
        Some(HeapAction::Types(args)) => types(args, screen),
        Some(HeapAction::Paths(args)) => paths(args, screen),
        Some(HeapAction::Diff(args)) => diff(args, screen),
    }
}

/// What a session says of its start, but for the target.
fn question(id: &'static str, parameters: &[(&str, &str)]) -> live::Question {
    let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    live::Question { id, parameters: parameters.collect::<BTreeMap<_, _>>() }
}

/// What is on a heap, what holds it, and how to go on.
fn overview(args: &HeapArgs, screen: &Screen) -> Result<(), Failure> {
    let question = question("heap", &[("top", &args.top.to_string())]);
    let opened = if args.whose.command.is_empty() {
        let WhoseOrCommand { heap, process_id, name, .. } = &args.whose;
        source::find(heap.as_deref(), *process_id, name.as_deref())?.open(&args.taking, &question, screen)?
    } else {
        of_program(args, &question, screen)?
    };
    let advice = next_steps::comparing(&opened);
    let beside = opened.beside.clone();
    let report = heap_reports::overview(&opened.look, &opened.origin, args.top, beside, &advice);
    let steps = next_steps::steps(&opened);
    deliver(report, opened, &steps, &args.taking, screen)
}

/// Starts a program, lets it run for a while, takes its heap and stops it.
fn of_program(args: &HeapArgs, question: &live::Question, screen: &Screen) -> Result<Opened, Failure> {
    let after = parse_duration(&args.after)?;
    keeping::check_folder(args.taking.output.as_deref())?;
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let (mut program, process) = launching::start(&args.whose.command, &interrupt)?;
    let until = Instant::now() + after;
    while Instant::now() < until && !interrupt.is_asked() {
        if program.wait_for_end(Duration::from_millis(50).min(after)).is_some() {
            program.farewell();
            return Err(Failure::new(Code::TargetEnded, "the program ended before its heap was looked at")
                .why(format!("it was to run for {}", format_duration(after)))
                .next("--after 1s   looks sooner"));
        }
    }
    if interrupt.is_asked() {
        program.farewell();
        return Err(Failure::new(Code::Cancelled, "stopped before the heap was looked at"));
    }
    let opened = live::take(process, &args.taking, question, &interrupt, screen);
    program.farewell();
    // It is gone: what is asked of the process itself cannot be asked any more.
    opened.map(|opened| Opened { pid: None, ..opened })
}

/// The types on a heap.
fn types(args: &TypesArgs, screen: &Screen) -> Result<(), Failure> {
    let question = question("heap-types", &[("filter", &args.filter), ("top", &args.top.to_string())]);
    let opened = of(&args.whose)?.open(&args.taking, &question, screen)?;
    match heap_reports::types(&opened.look, &opened.origin, &args.filter, args.top) {
        Ok(report) => deliver(report, opened, &[], &args.taking, screen),
        Err(NoMatch(near)) => {
            let what = format!("no object on this heap has a type with '{}' in its name", args.filter);
            let failure = Failure::new(Code::BadParameter, what);
            let failure = match near.is_empty() {
                true => failure.next(format!("drdotnet heap types {}   lists all types", opened.name)),
                false => near.into_iter().fold(failure.next("did you mean one of these?"), Failure::choice),
            };
            Err(opened.kept_without_answer(failure))
        }
    }
}

/// Who holds a type.
fn paths(args: &PathsArgs, screen: &Screen) -> Result<(), Failure> {
    let question = question("heap-paths", &[("type", &args.type_name), ("top", &args.top.to_string())]);
    let opened = of(&args.whose)?.open(&args.taking, &question, screen)?;
    match choose_types(&opened.look, &args.type_name) {
        Ok(types) => {
            let mut report = heap_reports::paths(&opened.look, &opened.origin, &types, args.top);
            report.profiler.id = "heap-paths".to_owned();
            deliver(report, opened, &[], &args.taking, screen)
        }
        Err(no_type) => {
            let listing = format!("drdotnet heap types {}   lists the types", opened.name);
            let failure = unclear(&args.type_name, no_type, &listing);
            Err(opened.kept_without_answer(failure))
        }
    }
}

/// What grew.
fn diff(args: &DiffArgs, screen: &Screen) -> Result<(), Failure> {
    let question = question("heap-diff", &[("top", &args.top.to_string())]);
    // Both are found before anybody is stopped for one of them.
    let (before, after) = (source::of_word(&args.before)?, source::of_word(&args.after)?);
    if before.is_live() && after.is_live() && args.taking.output.is_some() {
        return Err(Failure::new(Code::BadParameter, "-o cannot be given for two processes at once")
            .why("each heap that is taken is kept in a session of its own"));
    }
    let before = before.open(&args.taking, &question, screen)?;
    let after = after.open(&args.taking, &question, screen)?;
    let mut origin = after.origin.clone();
    origin.notes.extend(compared(&before.origin, &after.origin));
    let mut report = heap_reports::growth(&before.look, &after.look, &origin, args.top);
    report.profiler.id = "heap-diff".to_owned();
    if let Some(session) = before.session {
        session.finish(&heap_reports::overview(&before.look, &before.origin, args.top, Vec::new(), ""))?;
    }
    deliver(report, after, &[], &args.taking, screen)
}

fn of(whose: &Whose) -> Result<Source, Failure> {
    source::find(whose.heap.as_deref(), whose.process_id, whose.name.as_deref())
}

/// A process that is named for certain.
fn which(pid: Option<model::ProcessId>, name: Option<&str>) -> Option<Which> {
    pid.map(Which::Pid).or_else(|| name.map(|name| Which::Name(name.to_owned())))
}
