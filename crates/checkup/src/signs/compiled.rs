//! Methods compiled in the window, as seen from outside: code that begins where none did before. For programs that nobody asks to
//! count: a session that reports every method costs some of them more than all the rest.

use std::time::{Duration, Instant};

use model::ProcessId;
use runtime_memory::RuntimeMemory;

use super::runtime::{SETTLED, SHORTEST_SETTLED};

/// The compiler of a process.
pub(super) struct Compiler {
    memory: RuntimeMemory,
    /// Where code begins, by address, once the session's own is there.
    known: Option<Vec<u64>>,
    since: Instant,
    until: Instant,
    came: u64,
}

impl Compiler {
    /// None where memory does not tell (before .NET 9, another user's), or where there is too much code to be looked at often.
    pub(super) fn open(pid: ProcessId) -> Option<Compiler> {
        let memory = RuntimeMemory::open(pid).ok()?;
        memory.compiled_starts()?;
        let now = Instant::now();
        Some(Compiler { memory, known: None, since: now, until: now, came: 0 })
    }

    /// Looks what has come since the last time. What methods made at run time leave is used again, so some are missed.
    pub(super) fn look(&mut self, elapsed: Duration) {
        if elapsed < SETTLED {
            return;
        }
        let Some(starts) = self.memory.compiled_starts() else { return };
        self.until = Instant::now();
        match &self.known {
            None => self.since = self.until,
            Some(known) => {
                let is_new = |start: &&u64| known.binary_search(start).is_err();
                self.came += starts.iter().filter(is_new).count() as u64;
            }
        }
        self.known = Some(starts);
    }

    /// Methods a second; none if it was looked for too short a time.
    pub(super) fn rate(&self) -> Option<f64> {
        let seconds = self.until.duration_since(self.since).as_secs_f64();
        (seconds > SHORTEST_SETTLED).then(|| self.came as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use testbed::{Runtime, shared};

    use super::*;

    fn rate(patient: &str) -> f64 {
        let target = shared().target(patient, Runtime::Net9).start().unwrap();
        let mut compiler = Compiler::open(ProcessId(target.pid())).unwrap();
        let begin = Instant::now();
        compiler.look(Duration::ZERO);
        assert_eq!(compiler.rate(), None);
        while begin.elapsed() < SETTLED * 3 {
            std::thread::sleep(Duration::from_millis(250));
            compiler.look(begin.elapsed());
        }
        compiler.rate().unwrap()
    }

    #[test]
    fn who_compiles_all_the_time_is_told_from_who_does_not() {
        let storm = rate("jit-storm");
        assert!(storm > 50.0, "{storm}");
        let calm = rate("hot-method");
        assert!(calm < 5.0, "{calm}");
    }
}
