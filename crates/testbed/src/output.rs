//! What a target prints, read as it comes so that the target never blocks on a full pipe.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Lines kept; older ones are dropped.
const MAX_LINES: usize = 10_000;

/// Bytes kept of one line. The stranger's greeting has about two thousand.
const MAX_LINE: usize = 64 * 1024;

/// One stream of a target.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<Line>,
    /// The stream has ended.
    closed: bool,
}

#[derive(Debug)]
struct Line {
    text: String,
    /// It was handed to somebody who waited for it.
    taken: bool,
}

/// How a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Line(String),
    TimedOut,
    Closed,
}

impl Output {
    /// Starts a thread that reads `stream` to its end.
    pub(crate) fn read(stream: impl Read + Send + 'static, name: &str) -> io::Result<Output> {
        let output = Output { inner: Arc::default() };
        let writer = output.clone();
        std::thread::Builder::new().name(format!("testbed-{name}")).spawn(move || writer.drain(stream))?;
        Ok(output)
    }

    fn drain(&self, mut stream: impl Read) {
        let mut chunk = [0; 8192];
        let mut line = Vec::new();
        loop {
            let read = match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            for byte in &chunk[..read] {
                if *byte == b'\n' {
                    self.add(&line);
                    line.clear();
                } else if line.len() < MAX_LINE {
                    line.push(*byte);
                }
            }
        }
        if !line.is_empty() {
            self.add(&line);
        }
        self.state().closed = true;
        self.inner.changed.notify_all();
    }

    fn add(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
        let mut state = self.state();
        if state.lines.len() == MAX_LINES {
            state.lines.pop_front();
        }
        state.lines.push_back(Line { text, taken: false });
        self.inner.changed.notify_all();
    }

    /// Waits for a line that nobody was given yet, among those already printed and those to come.
    pub(crate) fn wait_for(&self, wanted: impl Fn(&str) -> bool, until: Instant) -> Waited {
        let mut state = self.state();
        loop {
            if let Some(line) = state.lines.iter_mut().find(|line| !line.taken && wanted(&line.text)) {
                line.taken = true;
                return Waited::Line(line.text.clone());
            }
            if state.closed {
                return Waited::Closed;
            }
            let now = Instant::now();
            if now >= until {
                return Waited::TimedOut;
            }
            let waited = self.inner.changed.wait_timeout(state, until - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// All lines that are kept.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.state().lines.iter().map(|line| line.text.clone()).collect()
    }

    /// The last lines, indented under a heading; nothing if there are none.
    pub(crate) fn tail(&self, heading: &str, count: usize) -> String {
        let lines = self.lines();
        if lines.is_empty() {
            return String::new();
        }
        let from = lines.len().saturating_sub(count);
        let shown: String = lines[from..].iter().map(|line| format!("    {line}\n")).collect();
        format!("  {heading}:\n{shown}")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(5)
    }

    #[test]
    fn a_line_is_given_once_and_order_does_not_matter() {
        let output = Output::read(&b"tick 1\r\nport 80\ntick 2\nend"[..], "test").unwrap();
        let next = |prefix: &'static str| output.wait_for(move |line| line.starts_with(prefix), soon());
        assert_eq!(next("port"), Waited::Line("port 80".to_owned()));
        assert_eq!(next("tick"), Waited::Line("tick 1".to_owned()));
        assert_eq!(next("tick"), Waited::Line("tick 2".to_owned()));
        assert_eq!(next("tick"), Waited::Closed);
        assert_eq!(output.lines().last().unwrap(), "end");
    }

    #[test]
    fn a_flood_is_bounded() {
        let flood = io::repeat(b'x').take(1 << 20).chain(io::Cursor::new("\n1\n".repeat(MAX_LINES)));
        let output = Output::read(flood, "test").unwrap();
        assert_eq!(output.wait_for(|_| false, soon()), Waited::Closed);
        assert_eq!(output.lines().len(), MAX_LINES);
        assert!(output.lines().iter().all(|line| line.len() <= MAX_LINE));
    }

    #[test]
    fn silence_times_out() {
        let (_writer, reader) = std::os::unix::net::UnixStream::pair().unwrap();
        let output = Output::read(reader, "test").unwrap();
        assert_eq!(output.wait_for(|_| true, Instant::now()), Waited::TimedOut);
    }
}
