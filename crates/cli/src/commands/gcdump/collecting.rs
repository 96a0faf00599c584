//! From a running process to its heap, with a word before and after.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use event_session::Going;
use heap_collector::{
    Collected, Options, ProcessFiles, Stage, Watch, Way, estimated_pause, heap_size, spare_room,
};
use model::{Unit, format_duration, parse_duration};
use process_view::Process;
use reports::printable;
use reports::value::{format_bytes, format_whole};

use crate::args::Which;
use crate::args::gcdump::Collecting;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::{Failure, rounded, unreachable};
use crate::output::to_stderr;
use crate::screen::Screen;
use crate::selection::select;

/// On a terminal, a pause that may be longer than this is not begun at once.
const LONG: Duration = Duration::from_secs(5);
/// How long one may think better of it.
const GRACE: Duration = Duration::from_secs(3);
/// Without a terminal, one line in this time.
const PLAIN_PERIOD: Duration = Duration::from_secs(10);
/// A target that sends nothing for this long is worth a word.
const QUIET: Duration = Duration::from_secs(5);

/// A heap and the process that it is of.
pub struct Fresh {
    pub process: DotnetProcess,
    pub heap: Collected,
}

/// Listens to Ctrl+C; to be called before anything is there that must not be left behind.
pub fn listen() -> Result<Interrupt, Failure> {
    // The runtime cannot be stopped in the middle, and 3.1 may crash when a session is left: one Ctrl+C is enough.
    Interrupt::listen(Second::IsIgnored).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))
}

/// Collects. What can be wrong with the arguments has been looked at by then.
pub fn fresh(
    which: &Which,
    how: &Collecting,
    screen: &Screen,
    interrupt: &Interrupt,
) -> Result<Fresh, Failure> {
    let patience = parse_duration(&how.timeout)?;
    let process = select(which)?;
    if let Some(failure) = unreachable(&process) {
        return Err(failure);
    }
    let client = process.client().ok_or_else(|| {
        Failure::new(Code::DiagnosticsOff, format!("process {} has no diagnostics socket", process.pid))
    })?;
    let buffer_mb = how.buffer.unwrap_or_else(|| spare_room(process.pid.0));
    let options = Options { buffer_mb, patience, ..Options::default() };
    announce(&process, how, screen, interrupt)?;
    let mut progress = Progress::new(screen, interrupt);
    let files = ProcessFiles::of(Process::new(process.pid));
    let outcome = heap_collector::collect(&client, &options, &files, &mut progress);
    progress.end();
    match outcome {
        Ok(heap) => Ok(Fresh { process, heap }),
        Err(error) => Err(crate::explain::no_heap(error, &process, Some(buffer_mb))),
    }
}

/// Says what will happen, before it does.
fn announce(
    process: &DotnetProcess,
    how: &Collecting,
    screen: &Screen,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let memory = heap_size(process);
    let (least, most) = memory.map(|memory| estimated_pause(Way::Events, memory)).unzip();
    let name = printable(&process.name);
    let mut text =
        format!("{name} (pid {}) will make a full collection and stand still meanwhile", process.pid);
    match (memory, least, most) {
        (Some(memory), Some(least), Some(most)) => {
            text += &format!(
                ": {} to {}, by its heap of {} or less\n",
                format_duration(rounded(least)),
                format_duration(rounded(most)),
                format_bytes(memory.bytes)
            );
        }
        _ => text += "; for how long cannot be told, its memory is not visible from here\n",
    }
    to_stderr(&text);
    let asks = !how.yes && screen.live_progress && std::io::stdin().is_terminal();
    if asks && most.is_none_or(|most| most > LONG) {
        to_stderr(&format!("beginning in {} (Ctrl+C: not at all; --yes: at once)\n", format_duration(GRACE)));
        let until = Instant::now() + GRACE;
        while Instant::now() < until && !interrupt.is_asked() {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    if interrupt.is_asked() {
        return Err(Failure::new(Code::Cancelled, "stopped before anything was done to the process"));
    }
    Ok(())
}

/// Shows how far the collection of a heap is, and listens to Ctrl+C.
pub struct Progress<'a> {
    screen: &'a Screen,
    interrupt: &'a Interrupt,
    last: Instant,
    shown: bool,
    told_off: bool,
}

impl<'a> Progress<'a> {
    /// Nothing is shown yet.
    pub fn new(screen: &'a Screen, interrupt: &'a Interrupt) -> Progress<'a> {
        Progress { screen, interrupt, last: Instant::now(), shown: false, told_off: false }
    }

    /// Takes the line off the screen.
    pub fn end(&self) {
        if self.shown {
            to_stderr("\r\x1b[K");
        }
    }

    fn say(&mut self, text: &str) {
        if self.screen.live_progress {
            self.shown = true;
            to_stderr(&format!("\r{text}\x1b[K"));
        } else if self.last.elapsed() >= PLAIN_PERIOD {
            self.last = Instant::now();
            to_stderr(&format!("{text}\n"));
        }
    }
}

impl Watch for Progress<'_> {
    fn look(&mut self, stage: &Stage) -> Going {
        std::thread::sleep(stage.slice);
        if self.interrupt.is_asked() {
            if !self.told_off {
                self.told_off = true;
                self.end();
                to_stderr("stopping; the collection that has begun runs to its end\n");
            }
            return Going::Stop;
        }
        let elapsed = stage.elapsed.as_secs_f64();
        let so_far = match stage.objects {
            0 => "the collection runs".to_owned(),
            objects => format!("{} objects", format_whole(objects, Unit::Count)),
        };
        let quiet = if stage.silent > QUIET {
            format!(", nothing new for {:.0} s", stage.silent.as_secs_f64())
        } else {
            String::new()
        };
        self.say(&format!("{elapsed:.0} s: {so_far}{quiet}"));
        Going::On
    }
}
