//! Work that a patient does, as the file shows that it shares with us.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use tempfile::TempDir;

/// How often and how long its rate is watched before the checkup.
const PIECES: usize = 12;
const PIECE: Duration = Duration::from_millis(500);
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
    pub(crate) fn before(&self) -> Option<Pace> {
        let mut marks = vec![self.mark()?];
        for _ in 0..PIECES {
            std::thread::sleep(PIECE);
            marks.push(self.mark()?);
        }
        Pace::of(&marks)
    }
}

/// How a program works when nobody looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Pieces of work per second.
    rate: f64,
    /// By how much half seconds differ: their standard deviation, as a part of the rate.
    scatter: f64,
}

/// Work per second in a window, against before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// One: the same.
    pub ratio: f64,
    /// How far off that may be by the program's own ups and downs: two standard errors.
    pub spread: f64,
}

impl Pace {
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    fn of(marks: &[Mark]) -> Option<Pace> {
        let (first, last) = (*marks.first()?, *marks.last()?);
        let mean = rate(first, last);
        if last.done.saturating_sub(first.done) < FEWEST {
            return None;
        }
        let squares = marks.windows(2).filter_map(|pair| match pair {
            [from, to] => Some((rate(*from, *to) - mean).powi(2)),
            _ => None,
        });
        let others = marks.len().saturating_sub(2).max(1) as f64;
        Some(Pace { rate: mean, scatter: (squares.sum::<f64>() / others).sqrt() / mean })
    }

    /// What a window is against it.
    #[expect(clippy::cast_precision_loss, reason = "a dozen")]
    pub(crate) fn share(&self, first: Mark, last: Mark) -> Share {
        let pieces = last.at.duration_since(first.at).as_secs_f64() / PIECE.as_secs_f64();
        let error = self.scatter * (1.0 / PIECES as f64 + 1.0 / pieces.max(1.0)).sqrt();
        Share { ratio: rate(first, last) / self.rate, spread: 2.0 * error }
    }
}

impl Share {
    /// Whether it lost more than its own ups and downs explain.
    pub(crate) fn is_less_than(&self, ratio: f64) -> bool {
        self.ratio + self.spread < ratio
    }
}

/// Pieces of work per second.
#[expect(clippy::cast_precision_loss, reason = "millions at most")]
fn rate(first: Mark, last: Mark) -> f64 {
    last.done.saturating_sub(first.done) as f64 / last.at.duration_since(first.at).as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_in_waves_is_not_said_to_be_slowed_down() {
        let begin = Instant::now();
        let marks = |done: &dyn Fn(u64) -> u64| -> Vec<Mark> {
            (0..=12).map(|number| Mark { at: begin + PIECE * number, done: done(number.into()) }).collect()
        };
        let steady = Pace::of(&marks(&|number| number * 100)).unwrap();
        let waves = Pace::of(&marks(&|number| number / 2 * 200)).unwrap();
        let window = |done| {
            let at = begin + PIECE * 20;
            [Mark { at: begin, done: 0 }, Mark { at, done }]
        };
        let [first, last] = window(1_800);
        assert!(steady.share(first, last).is_less_than(0.98), "{:?}", steady.share(first, last));
        assert!(!waves.share(first, last).is_less_than(0.98), "{:?}", waves.share(first, last));
        assert!((waves.share(first, last).ratio - 0.9).abs() < 1e-9);
        assert!(Pace::of(&marks(&|number| number)).is_none(), "too little to tell");
    }
}
