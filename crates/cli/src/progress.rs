//! How far a run is: a line that changes on a terminal, a few plain lines otherwise.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use model::format_duration;

use crate::output::to_stderr;
use crate::screen::Screen;

/// Without a terminal, one line in this time.
const PLAIN_PERIOD: Duration = Duration::from_secs(10);
/// Columns of the bar.
const BAR: usize = 20;

/// Shows how far a run is.
pub struct Progress {
    live: bool,
    last_plain: Mutex<Instant>,
}

impl Progress {
    /// Begins with a word on what happens.
    pub fn begin(screen: &Screen, what: &str) -> Progress {
        to_stderr(&format!("{what}\n"));
        Progress { live: screen.live_progress, last_plain: Mutex::new(Instant::now()) }
    }

    /// Says nothing.
    pub fn silent() -> Progress {
        Progress { live: false, last_plain: Mutex::new(Instant::now()) }
    }

    /// Says how far it is.
    pub fn update(&self, elapsed: Duration, total: Duration, note: &str) {
        if self.live {
            let share = (elapsed.as_secs_f64() / total.as_secs_f64().max(0.001)).min(1.0);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of 20"
            )]
            let filled = (share * BAR as f64) as usize;
            let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR - filled.min(BAR)));
            to_stderr(&format!(
                "\r[{bar}] {:.0} s of {}  {note}  (Ctrl+C ends it early)\x1b[K",
                elapsed.as_secs_f64(),
                format_duration(total)
            ));
            return;
        }
        let Ok(mut last) = self.last_plain.lock() else { return };
        if last.elapsed() >= PLAIN_PERIOD {
            *last = Instant::now();
            to_stderr(&format!("{:.0} s of {}  {note}\n", elapsed.as_secs_f64(), format_duration(total)));
        }
    }

    /// Clears the line, so that the answer begins on a clean one.
    pub fn end(&self) {
        if self.live {
            to_stderr("\r\x1b[K");
        }
    }
}
