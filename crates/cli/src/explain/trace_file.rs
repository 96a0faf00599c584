//! Trace files that cannot be read, or do not hold what was asked for.

use std::io::ErrorKind;
use std::path::Path;

use reports::value::format_whole;
use trace_views::{ReadError, Summary, View};

use super::Failure;
use crate::exit_code::Code;

/// A file that could not be opened.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let failure = Failure::new(Code::NoTraceFile, format!("reading {}: {error}", path.display()));
    match error.kind() {
        ErrorKind::NotFound => {
            failure.next("ls -t *.nettrace   lists the traces of this folder, the newest first")
        }
        ErrorKind::PermissionDenied => failure.next("use the account that recorded it, or make it readable"),
        _ => failure.next("check the name, and the disk it is on"),
    }
}

/// A file that is no trace; `head` are its first bytes.
pub fn not_a_trace(path: &Path, head: &[u8], error: &ReadError) -> Failure {
    let what = format!("{} is not a .nettrace file", path.display());
    let failure = Failure::new(Code::NotATrace, what);
    match kind_of(path, head) {
        Some((kind, next)) => failure.why(format!("it seems to be {kind}")).next(next),
        None => failure.why(error.to_string()).next(RECORD),
    }
}

const RECORD: &str = "drdotnet trace collect -p PID   records one";

/// What a file seems to be, and what to do with it.
fn kind_of(path: &Path, head: &[u8]) -> Option<(&'static str, &'static str)> {
    let ends = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
    let text = String::from_utf8_lossy(head);
    Some(match head {
        [] => {
            ("an empty file", "was the recording stopped before it began, or is the disk full? Record again")
        }
        [0x1f, 0x8b, ..] => {
            ("compressed by gzip", "gunzip it first (a pprof file is gzip, too, and is no trace)")
        }
        [b'P', b'K', 3, 4, ..] => ("a zip archive", "unpack it first"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("compressed by zstd", "unzstd it first"),
        [0x7f, b'E', b'L', b'F', ..] | [b'M', b'D', b'M', b'P', ..] => {
            ("a memory dump", "a dump has no events; drdotnet trace collect -p PID   records them")
        }
        _ if stored_profiles::is_stored_profile(head) => {
            ("a stored profile", "drdotnet trace convert FILE   writes it for a viewer")
        }
        _ if text.starts_with("PERFILE2") => ("data of the Linux tool perf", "perf report reads it"),
        _ if text.contains("!FastSerialization.1") => (
            "a heap dump (.gcdump) or a trace of .NET Core 2",
            "drdotnet gcdump report FILE   reads heap dumps",
        ),
        _ if text.contains("speedscope.app") => {
            ("a Speedscope file: already converted", "drag it into https://www.speedscope.app")
        }
        _ if text.contains("traceEvents") => {
            ("a Chromium trace: already converted", "drag it into https://ui.perfetto.dev")
        }
        _ if ends("etl") || ends("etlx") => ("a Windows trace", "PerfView opens it, on Windows"),
        _ if text.trim_start().starts_with(['{', '[']) => ("JSON", RECORD),
        _ => return None,
    })
}

/// A trace that has no event of the view.
pub fn no_events(
    path: &Path,
    wanted: &str,
    view: Option<View>,
    thread: Option<u64>,
    summary: &Summary,
) -> Failure {
    let whose = thread.map_or(String::new(), |thread| format!(" of thread {thread}"));
    let mut failure = Failure::new(Code::NoSuchEvents, format!("{} has no {wanted}{whose}", path.display()));
    if thread.is_some() && view.is_some_and(|view| summary.count(view) > 0) {
        return failure.why("other threads have some").next("leave out --thread to see them");
    }
    let there: Vec<String> = summary
        .views
        .iter()
        .map(|count| {
            let events = format_whole(count.events, model::Unit::Count);
            format!("--view {}   {events} {}", count.view.id(), count.view.events())
        })
        .collect();
    match view.map(recipe) {
        Some(recipe) => failure = failure.next(format!("{recipe}   records them")),
        None => failure = failure.next("drdotnet trace report FILE   lists the events of a file"),
    }
    if there.is_empty() {
        return failure;
    }
    failure = failure.next("or look at what it has:");
    there.into_iter().fold(failure, Failure::choice)
}

/// The command that records the events of a view.
fn recipe(view: View) -> &'static str {
    match view {
        View::ThreadTime | View::ManagedTime => {
            "drdotnet trace collect -p PID --profile dotnet-sampled-thread-time"
        }
        View::Allocations => "drdotnet trace collect -p PID --profile gc-verbose",
        View::Contention => "drdotnet trace collect -p PID --clrevents contention",
        View::Waits => "drdotnet trace collect -p PID --clrevents waithandle --clreventlevel Verbose",
        View::Exceptions => "drdotnet trace collect -p PID --clrevents exception",
    }
}
