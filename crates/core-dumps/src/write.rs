//! Asking for a dump, and seeing whether it came.

use std::time::{Duration, Instant};

use diagnostics_ipc::{Client, Command, DumpKind, DumpOptions, IpcError};
use discovery::DotnetProcess;
use process_view::{Process, TaskState};

use crate::error::{DumpError, Failed};
use crate::leftovers::{children, new_copies};
use crate::place::Place;
use crate::refusal::Refusal;

/// How often the process is looked at.
const GLANCE: Duration = Duration::from_millis(2);
/// How often the caller is told.
const TELL: Duration = Duration::from_millis(100);

/// What is wished for.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// How much.
    pub kind: DumpKind,
    /// Let the dumper log to the console of the process.
    pub log: bool,
    /// Also write a crash report beside it.
    pub crash_report: bool,
    /// How long to wait.
    pub timeout: Duration,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Since it was asked for.
    pub elapsed: Duration,
    /// Bytes that are there.
    pub bytes: u64,
}

/// A dump that is there.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// How long the process stood still, as far as it could be seen.
    pub stopped: Option<Duration>,
    /// Until the answer came.
    pub elapsed: Duration,
    /// The command that did it.
    pub command: Command,
    /// Whether the crash report is there too; none when it was not wished for.
    pub crash_report: Option<bool>,
}

/// Asks the runtime for a dump and waits for it. On failure nothing is left at the place.
pub fn write(
    process: &DotnetProcess,
    client: &Client,
    place: &Place,
    wish: &Wish,
    mut tell: impl FnMut(&Waiting),
) -> Result<Written, Failed> {
    let options = DumpOptions {
        path: place.path.to_string_lossy().into_owned(),
        kind: wish.kind,
        log: wish.log,
        crash_report: wish.crash_report,
    };
    let view = process.visible.then(|| Process::new(process.pid));
    let before = view.map(|view| children(view.id)).unwrap_or_default();
    let began = Instant::now();
    let mut still: Option<(Instant, Instant)> = None;
    let answer = std::thread::scope(|scope| {
        let asking = scope.spawn(|| client.generate_core_dump(&options, wish.timeout));
        let mut told = Instant::now();
        while !asking.is_finished() {
            std::thread::sleep(GLANCE);
            if view.is_some_and(is_traced) {
                let now = Instant::now();
                still = Some((still.map_or(now, |(from, _)| from), now));
            }
            if told.elapsed() >= TELL {
                told = Instant::now();
                tell(&Waiting { elapsed: began.elapsed(), bytes: place.bytes().unwrap_or(0) });
            }
        }
        match asking.join() {
            Ok(answer) => answer,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
    let elapsed = began.elapsed();
    let outcome = answer.map_err(|error| refused(error, view)).and_then(|command| {
        match place.bytes() {
            // We may not be allowed to look there.
            None if place.open_folder(place.folder()).is_err() => Ok((command, 0)),
            None => Err(DumpError::WroteNothing(place.path.clone())),
            Some(0) => Err(DumpError::Empty(place.path.clone())),
            Some(bytes) => Ok((command, bytes)),
        }
    });
    match outcome {
        Ok((command, bytes)) => Ok(Written {
            bytes,
            stopped: still.map(|(from, to)| to - from),
            elapsed,
            command,
            crash_report: wish.crash_report.then(|| crash_report_is_there(place)),
        }),
        Err(error) => {
            // One that is still writing would go on into a file without a name, and end as it likes.
            if !matches!(error, DumpError::NoAnswer(_)) {
                place.clean();
            }
            let leftovers = view.map(|view| new_copies(view.id, &before)).unwrap_or_default();
            Err(Failed { error, leftovers })
        }
    }
}

fn is_traced(view: Process) -> bool {
    view.stat().is_ok_and(|stat| stat.state == TaskState::Traced)
}

fn crash_report_is_there(place: &Place) -> bool {
    let Some(name) = place.path.file_name() else { return false };
    let mut name = name.to_owned();
    name.push(".crashreport.json");
    place.stat(name.as_ref()).is_some_and(|stat| stat.st_size > 0)
}

fn refused(error: IpcError, view: Option<Process>) -> DumpError {
    match error {
        IpcError::Refused { code, detail, .. } => {
            DumpError::Refused { refusal: Refusal::new(code, detail.as_deref()) }
        }
        IpcError::NoAnswer { waited, .. } => DumpError::NoAnswer(waited),
        IpcError::Closed { .. } | IpcError::Connect { .. } if view.is_some_and(|view| !view.is_alive()) => {
            DumpError::TargetEnded
        }
        other => DumpError::Ipc(other),
    }
}
