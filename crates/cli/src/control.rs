//! Ctrl+C, SIGTERM and a terminal that goes away (SIGHUP) end a run early, with its report. A second Ctrl+C ends the tool at once, unless it has a
//! program of its own to stop first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use profilers::{Control, Stop};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::progress::Progress;

/// How quickly a signal is noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// Exit code of a tool that was interrupted for good, as shells expect it.
const INTERRUPTED: i32 = 130;

/// What a second Ctrl+C does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Second {
    /// Ends the tool, without a report.
    EndsAtOnce,
    /// Nothing: the tool must live to stop what it has started.
    IsIgnored,
}

/// Whether the user has asked for the end.
#[derive(Clone)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Begins to listen.
    pub fn listen(second: Second) -> std::io::Result<Interrupt> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // Order matters: the first signal finds the flag unset and sets it, the second finds it set.
            if second == Second::EndsAtOnce {
                signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))?;
            }
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Interrupt { asked })
    }

    /// Whether the user has asked for the end.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// What a profiler sees of the user.
pub struct UserControl<'a> {
    pub interrupt: &'a Interrupt,
    pub progress: &'a Progress,
}

impl Control for UserControl<'_> {
    fn wait(&self, time: Duration) -> Stop {
        let end = Instant::now() + time;
        loop {
            if self.interrupt.is_asked() {
                return Stop::Cancelled;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Stop::TimeOver;
            }
            std::thread::sleep(left.min(GLANCE));
        }
    }

    fn progress(&self, elapsed: Duration, total: Duration, note: &str) {
        self.progress.update(elapsed, total, note);
    }
}
