//! `drdotnet gcdump collect`

use std::path::{Path, PathBuf};

use heap_graph::gcdump;
use model::{ProcessId, Unit, format_duration};
use reports::value::{format_bytes, format_whole};
use serde::Serialize;

use super::collecting::{Fresh, fresh, listen};
use crate::args::gcdump::CollectArgs;
use crate::commands::kept_heap::info;
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output::{self, Draft, Keeping};
use crate::screen::Screen;

/// What a script wants to know.
#[derive(Serialize)]
struct Written<'a> {
    file: &'a Path,
    file_bytes: u64,
    pid: ProcessId,
    objects: u64,
    references: u64,
    heap_bytes: u64,
    types: u64,
    unnamed_types: u64,
    pause_ns: Option<u64>,
    received_bytes: u64,
    elapsed_ns: u64,
}

/// Writes the heap of a process to a file.
pub fn collect(args: &CollectArgs, screen: &Screen) -> Result<(), Failure> {
    let given = args.output.clone();
    // Before there is a draft, which Ctrl+C must not leave behind.
    let interrupt = listen()?;
    // Before the target is stopped: a folder that cannot be written must not cost a pause.
    let early = given.as_deref().map(Draft::beside).transpose()?;
    if early.is_none() {
        Draft::beside(Path::new("here"))?;
    }
    let fresh = fresh(&args.target.which(), &args.collecting, screen, &interrupt)?;
    let path = given.unwrap_or_else(|| PathBuf::from(default_name(fresh.process.pid)));
    let mut draft = early.map_or_else(|| Draft::beside(&path), Ok)?;
    gcdump::write(&fresh.heap.graph, &info(&fresh.process), draft.file()).map_err(|error| match error {
        heap_graph::Error::Io(error) => output::not_written(&path, &error),
        other => Failure::new(Code::Unexpected, format!("writing {}: {other}", path.display()))
            .why("the heap is too large for the .gcdump format")
            .next("drdotnet gcdump report -p PID   shows it without a file"),
    })?;
    let bytes = draft.keep(&path, Keeping::Safe)?;
    if args.json { json(&fresh, &path, bytes) } else { words(args, &fresh, &path, bytes) }
}

/// As dotnet-gcdump names its files.
fn default_name(pid: ProcessId) -> String {
    format!("{}_{pid}.gcdump", crate::clock::file_stamp())
}

fn json(fresh: &Fresh, path: &Path, file_bytes: u64) -> Result<(), Failure> {
    let heap = &fresh.heap;
    let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let written = Written {
        file: path,
        file_bytes,
        pid: fresh.process.pid,
        objects: heap.graph.node_count() as u64,
        references: heap.graph.reference_count() as u64,
        heap_bytes: heap.graph.total_size(),
        types: heap.graph.types().len() as u64,
        unnamed_types: heap.unnamed_types,
        pause_ns: heap.pause.map(|pause| nanos(pause.total)),
        received_bytes: heap.bytes,
        elapsed_ns: nanos(heap.elapsed),
    };
    output::to_stdout(&super::super::json(&written)?)
}

fn words(args: &CollectArgs, fresh: &Fresh, path: &Path, file_bytes: u64) -> Result<(), Failure> {
    let heap = &fresh.heap;
    let count = |number: usize| format_whole(number as u64, Unit::Count);
    let shown = reports::printable(&path.display().to_string());
    let mut text = format!(
        "wrote {shown} ({}): {} objects with {}, {} references\n",
        format_bytes(file_bytes),
        count(heap.graph.node_count()),
        format_bytes(heap.graph.total_size()),
        count(heap.graph.reference_count())
    );
    text += &pause_words(fresh);
    if args.verbose {
        text += &format!(
            "received {} in {} events, by {}; done {} after the start\n",
            format_bytes(heap.bytes),
            format_whole(heap.events, Unit::Count),
            heap.granted.command,
            format_duration(heap.elapsed)
        );
    }
    output::to_stdout(&text)?;
    if heap.unnamed_types > 0 {
        output::to_stderr(&unnamed_words(heap.unnamed_types));
    }
    output::to_stderr(&format!("next: drdotnet gcdump report {shown}\n"));
    Ok(())
}

/// How long the process stood still.
fn pause_words(fresh: &Fresh) -> String {
    match fresh.heap.pause {
        Some(pause) => format!(
            "the process stood still for {}: {} for the collection, {} to tell its objects\n",
            format_duration(pause.total),
            format_duration(pause.collecting),
            format_duration(pause.total.saturating_sub(pause.collecting))
        ),
        None => "how long the process stood still is not known: it did not tell\n".to_owned(),
    }
}

/// Types without a name are not a reason to fail, but to wonder.
pub fn unnamed_words(types: u64) -> String {
    format!(
        "{types} types have no name: another tool that records types was told them before. Stop it and collect again\n"
    )
}
