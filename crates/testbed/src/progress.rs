//! Progress of long preparations, on standard error.
//!
//! It goes to the handle and not through `eprintln!`: the test harness captures the macro, and somebody who waits
//! for the first 100 MB of a test run should see why.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a plain line is written when nobody watches a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Writes one line to standard error. A closed handle is no reason to fail.
pub(crate) fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "testbed: {line}");
}

/// The progress of one fetch.
pub(crate) struct Progress {
    what: String,
    total: u64,
    started: Instant,
    last_plain_line: Instant,
    on_terminal: bool,
}

impl Progress {
    /// Says that the work begins.
    pub(crate) fn start(what: String, total: u64) -> Progress {
        let now = Instant::now();
        let progress = Progress {
            what,
            total,
            started: now,
            last_plain_line: now,
            on_terminal: io::stderr().is_terminal(),
        };
        if progress.on_terminal {
            progress.redraw(0);
        } else {
            say(&format!("{}, {}", progress.what, megabytes(total)));
        }
        progress
    }

    /// Shows how far the work is: at once on a terminal, every ten seconds otherwise.
    pub(crate) fn update(&mut self, bytes: u64) {
        let bytes = bytes.min(self.total);
        if self.on_terminal {
            self.redraw(bytes);
        } else if self.last_plain_line.elapsed() >= PLAIN_INTERVAL {
            self.last_plain_line = Instant::now();
            say(&self.line(bytes));
        }
    }

    /// Ends the line of a terminal, so that an error message starts on its own line.
    pub(crate) fn interrupted(&self) {
        if self.on_terminal {
            let _ = writeln!(io::stderr().lock());
        }
    }

    /// Says that the work is done, with size and time.
    pub(crate) fn done(&self) {
        let line = format!(
            "{}: {} in {:.1} s",
            self.what,
            megabytes(self.total),
            self.started.elapsed().as_secs_f64()
        );
        if self.on_terminal {
            let _ = writeln!(io::stderr().lock(), "\r\x1b[Ktestbed: {line}");
        } else {
            say(&line);
        }
    }

    fn redraw(&self, bytes: u64) {
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r\x1b[Ktestbed: {}", self.line(bytes));
        let _ = stderr.flush();
    }

    fn line(&self, bytes: u64) -> String {
        let percent = (bytes * 100).checked_div(self.total).unwrap_or(100);
        format!("{}  {} / {}  {percent} %", self.what, number(bytes), megabytes(self.total))
    }
}

/// A size as people read it, for example `109.4 MB`.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", number(bytes))
}

fn number(bytes: u64) -> String {
    let tenths = (bytes + 50_000) / 100_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_shows_both_sizes_and_the_percentage() {
        let progress = Progress {
            what: "fetching .NET 9.0.7".to_owned(),
            total: 109_357_910,
            started: Instant::now(),
            last_plain_line: Instant::now(),
            on_terminal: false,
        };
        assert_eq!(progress.line(54_200_000), "fetching .NET 9.0.7  54.2 / 109.4 MB  49 %");
    }
}
