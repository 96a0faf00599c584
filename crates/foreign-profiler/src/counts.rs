//! What the profiler was told of, and how often.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clr_profiling::Event;

/// How often the file is written.
const EVERY: Duration = Duration::from_millis(20);

/// How often something was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Exceptions thrown.
    pub exceptions: u64,
    /// Methods compiled.
    pub compilations: u64,
    /// Collections.
    pub collections: u64,
    /// Managed threads made.
    pub threads: u64,
}

impl Counts {
    /// What the file says; `None` while there is none.
    #[must_use]
    pub fn read(file: &Path) -> Option<Counts> {
        let text = fs::read_to_string(file).ok()?;
        let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
        let mut next = || numbers.next();
        Some(Counts { exceptions: next()?, compilations: next()?, collections: next()?, threads: next()? })
    }

    /// Whether each of them is larger than it was.
    #[must_use]
    pub fn all_above(&self, before: &Counts) -> bool {
        self.exceptions > before.exceptions
            && self.compilations > before.compilations
            && self.collections > before.collections
            && self.threads > before.threads
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    exceptions: AtomicU64,
    compilations: AtomicU64,
    collections: AtomicU64,
    threads: AtomicU64,
}

impl Counters {
    pub(crate) fn add(&self, event: Event) {
        let counter = match event {
            Event::Exception => &self.exceptions,
            Event::Compilation => &self.compilations,
            Event::Collection => &self.collections,
            Event::Thread => &self.threads,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes the counts again and again, whole: a reader never sees half of them.
    pub(crate) fn write_for_ever(&self, file: &Path) {
        let draft = file.with_extension("draft");
        loop {
            let all = [&self.exceptions, &self.compilations, &self.collections, &self.threads];
            let text = all.map(|counter| counter.load(Ordering::Relaxed).to_string()).join(" ");
            let _ = fs::write(&draft, text).and_then(|()| fs::rename(&draft, file));
            std::thread::sleep(EVERY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_grow_one_by_one() {
        let before = Counts::default();
        let mut after = Counts { exceptions: 1, compilations: 1, collections: 1, threads: 0 };
        assert!(!after.all_above(&before));
        after.threads = 1;
        assert!(after.all_above(&before));
    }
}
