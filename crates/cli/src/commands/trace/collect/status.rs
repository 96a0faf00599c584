//! The line that tells how a recording goes.

use std::time::{Duration, Instant};

use model::ProcessId;
use process_view::{Process, TaskState};
use trace_recording::Live;

use super::ending::size;
use super::opening::clock;
use super::plan::Plan;
use crate::output::to_stderr;
use crate::screen::Screen;

/// How often the line changes.
const PERIOD: Duration = Duration::from_millis(500);

/// Shows how a recording goes.
pub struct Status {
    is_live: bool,
    hint: &'static str,
    shown: Option<Instant>,
    process: ProcessId,
    was_stopped: bool,
}

impl Status {
    /// `hint` says what can be done meanwhile.
    pub fn new(screen: &Screen, plan: &Plan, process: ProcessId, hint: &'static str) -> Status {
        Status {
            is_live: screen.live_progress && !plan.is_quiet,
            hint,
            shown: None,
            process,
            was_stopped: false,
        }
    }

    /// Renews the line now and then.
    pub fn update(&mut self, elapsed: Duration, live: &Live, note: &str) {
        for warning in live.take_warnings() {
            self.say(&format!("warning: {}", reports::printable(&warning)));
        }
        if self.shown.is_some_and(|shown| shown.elapsed() < PERIOD) {
            return;
        }
        self.shown = Some(Instant::now());
        self.look_at_target();
        if self.is_live {
            let lost = match live.lost() {
                0 => String::new(),
                lost => format!(", {lost} lost"),
            };
            to_stderr(&format!(
                "\r[{}] {} {} events{lost}{note}  {}\x1b[K",
                clock(elapsed),
                size(live.bytes()),
                live.events(),
                self.hint
            ));
        }
    }

    /// A target that is stopped sends nothing; better to say so than to look broken.
    fn look_at_target(&mut self) {
        let state = Process::new(self.process).stat().ok().map(|stat| stat.state);
        let is_stopped = matches!(state, Some(TaskState::Stopped | TaskState::Traced));
        if is_stopped != self.was_stopped {
            let word = if is_stopped { "is stopped: no events until it goes on" } else { "goes on" };
            self.say(&format!("process {} {word}", self.process));
        }
        self.was_stopped = is_stopped;
    }

    /// Says something on a line of its own.
    pub fn say(&self, text: &str) {
        self.clear();
        to_stderr(&format!("{text}\n"));
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.is_live {
            to_stderr("\r\x1b[K");
        }
    }
}
