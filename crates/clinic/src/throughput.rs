//! Work that a patient does, as the file shows that it shares with us.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use tempfile::TempDir;

/// How long its rate is watched before the checkup.
const BEFORE: Duration = Duration::from_secs(3);
/// Fewer pieces of work than this within that time are no rate.
const FEWEST: u64 = 60;

/// Counts the work of one target, which is told where to by `PATIENT_WORK`.
pub struct Counter {
    folder: TempDir,
}

/// The work done at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    at: Instant,
    done: u64,
}

impl Counter {
    /// A counter that nobody uses yet.
    pub fn new() -> Result<Counter> {
        Ok(Counter { folder: tempfile::tempdir()? })
    }

    /// What the target is told.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Pieces of work done by now; nothing if the patient does not count.
    pub fn done(&self) -> Option<u64> {
        let bytes = std::fs::read(self.path()).ok()?;
        Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?))
    }

    /// The same with the time.
    pub(crate) fn mark(&self) -> Option<Mark> {
        Some(Mark { done: self.done()?, at: Instant::now() })
    }

    /// The rate before the checkup, if it has one.
    pub(crate) fn before(&self) -> Option<f64> {
        let first = self.mark()?;
        std::thread::sleep(BEFORE);
        let last = self.mark()?;
        (last.done - first.done >= FEWEST).then(|| rate(first, last))
    }
}

/// Pieces of work per second.
#[expect(clippy::cast_precision_loss, reason = "millions at most")]
pub(crate) fn rate(first: Mark, last: Mark) -> f64 {
    last.done.saturating_sub(first.done) as f64 / last.at.duration_since(first.at).as_secs_f64().max(1e-9)
}
