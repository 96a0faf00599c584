//! `drdotnet dump`: core dumps that a process writes of itself.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use core_dumps::{DumpKind, Failed, Place, Waiting, Wish, Written, expected_bytes, look_over};
use discovery::DotnetProcess;
use model::{ProcessId, format_duration, parse_duration};
use process_view::Process;
use reports::printable;
use reports::value::format_bytes;
use serde::Serialize;

use crate::args::dump::{DumpArgs, DumpCollectArgs, DumpCommand};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::{Failure, no_dump, unreachable};
use crate::output::{to_stderr, to_stdout};
use crate::redaction;
use crate::screen::Screen;
use crate::selection::select;

/// Without a terminal, one line in this time.
const PLAIN_PERIOD: Duration = Duration::from_secs(10);

/// Does what was asked.
pub fn dump(args: &DumpArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        DumpCommand::Collect(args) => collect(args, screen),
    }
}

fn collect(args: &DumpCollectArgs, screen: &Screen) -> Result<(), Failure> {
    redaction::refuse_raw("a core dump")?;
    let timeout = parse_duration(&args.timeout)?;
    let wish = Wish { kind: args.kind, log: args.diag, crash_report: args.crashreport, timeout };
    let process = select(&args.target.which())?;
    if let Some(failure) = unreachable(&process) {
        return Err(failure);
    }
    let client = process.client().ok_or_else(|| {
        Failure::new(Code::DiagnosticsOff, format!("process {} has no diagnostics socket", process.pid))
    })?;
    let view = Process::new(process.pid);
    let name = format!("core_{}", crate::clock::file_stamp());
    let failed = |error| no_dump(Failed { error, leftovers: Vec::new() }, &process);
    let place = Place::new(&view, args.output.as_deref(), &name).map_err(failed)?;
    let room = look_over(&process, &place, &wish).map_err(failed)?;
    announce(&process, &place, &wish);
    if let Some(room) = room {
        to_stderr(&format!(
            "warning: the dump may not fit: about {} expected, {} free in {}\n",
            format_bytes(room.expected),
            format_bytes(room.free),
            place.folder().display()
        ));
    }
    let interrupt = Interrupt::listen(Second::EndsAtOnce)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let mut progress =
        Progress { screen, interrupt: &interrupt, last: Instant::now(), live: false, told: false };
    let outcome = core_dumps::write(&process, &client, &place, &wish, |waiting| progress.show(waiting));
    progress.end();
    let written = outcome.map_err(|failed| no_dump(failed, &process))?;
    if args.json { json(&process, &place, &wish, &written) } else { words(&process, &place, &written) }
}

/// Says what will happen, before it does.
fn announce(process: &DotnetProcess, place: &Place, wish: &Wish) {
    let size = expected_bytes(&Process::new(process.pid), wish.kind)
        .map_or_else(String::new, |bytes| format!(" of about {}", format_bytes(bytes)));
    to_stderr(&format!(
        "{} (pid {}) will write a {} dump{size} to {} and stand still meanwhile\n",
        printable(&process.name),
        process.pid,
        kind_word(wish.kind),
        printable(&place.path.display().to_string())
    ));
}

fn kind_word(kind: DumpKind) -> &'static str {
    match kind {
        DumpKind::Full => "full",
        DumpKind::Heap => "heap",
        DumpKind::Mini => "mini",
        DumpKind::Triage => "triage",
    }
}

struct Progress<'a> {
    screen: &'a Screen,
    interrupt: &'a Interrupt,
    last: Instant,
    live: bool,
    told: bool,
}

impl Progress<'_> {
    fn show(&mut self, waiting: &Waiting) {
        if self.interrupt.is_asked() && !self.told {
            self.told = true;
            self.end();
            to_stderr("nobody can stop the process from writing; Ctrl+C again leaves it to finish alone\n");
        }
        let text = format!("{:.0} s: {} written", waiting.elapsed.as_secs_f64(), format_bytes(waiting.bytes));
        if self.screen.live_progress {
            self.live = true;
            to_stderr(&format!("\r{text}\x1b[K"));
        } else if self.last.elapsed() >= PLAIN_PERIOD {
            self.last = Instant::now();
            to_stderr(&format!("{text}\n"));
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.live) {
            to_stderr("\r\x1b[K");
        }
    }
}

/// What a script wants to know.
#[derive(Serialize)]
struct Answer<'a> {
    file: &'a Path,
    seen_from_here: PathBuf,
    bytes: u64,
    pid: ProcessId,
    kind: &'static str,
    stopped_ns: Option<u64>,
    elapsed_ns: u64,
    crash_report: Option<bool>,
}

fn json(process: &DotnetProcess, place: &Place, wish: &Wish, written: &Written) -> Result<(), Failure> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let answer = Answer {
        file: &place.path,
        seen_from_here: place.seen_from_here(),
        bytes: written.bytes,
        pid: process.pid,
        kind: kind_word(wish.kind),
        stopped_ns: written.stopped.map(nanos),
        elapsed_ns: nanos(written.elapsed),
        crash_report: written.crash_report,
    };
    to_stdout(&super::json(&answer)?)
}

fn words(process: &DotnetProcess, place: &Place, written: &Written) -> Result<(), Failure> {
    let path = printable(&place.path.display().to_string());
    let mut text = format!("wrote {path} ({})\n", format_bytes(written.bytes));
    text += &match written.stopped {
        Some(stopped) => format!("the process stood still for about {}\n", format_duration(stopped)),
        None => format!("the process stood still for at most {}\n", format_duration(written.elapsed)),
    };
    if !place.is_ours {
        text += &format!(
            "it is in the file system of the process; from here: {}\n",
            printable(&place.seen_from_here().display().to_string())
        );
    }
    match written.crash_report {
        Some(true) => text += &format!("and {path}.crashreport.json\n"),
        Some(false) => text += "the runtime wrote no crash report: that takes .NET 6 or newer\n",
        None => {}
    }
    to_stdout(&text)?;
    let owner = process.user.as_ref().map_or_else(|| "its user".to_owned(), discovery::User::shown);
    to_stderr(&format!(
        "it belongs to {} and holds the memory of the process, secrets included; dotnet-dump analyze opens it\n",
        printable(&owner)
    ));
    Ok(())
}
