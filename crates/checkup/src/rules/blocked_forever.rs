//! `blocked-forever`: threads wait for what cannot come: a lock whose owner has ended, or waits itself; a process that was
//! stopped.
//!
//! For: two looks with nothing moved. Against: an owner that runs.

use model::{Confidence, Finding, Severity};
use process_view::TaskState;

use super::{Case, Verdict};

/// The threads concerned do nothing any more.
const COST: f64 = 80.0;
/// All of the process does nothing.
const COST_OF_ALL: f64 = 100.0;

pub(super) fn judge(case: &Case<'_>) -> Vec<Verdict> {
    let mut verdicts = case.adopt("blocked-forever", COST);
    // A debugger is another illness.
    if case.signs.frozen == Some(TaskState::Stopped) {
        let finding = Finding::new(
            "blocked-forever",
            Severity::Critical,
            Confidence::High,
            "The process stands still: it was stopped by a signal (SIGSTOP or SIGTSTP)",
        )
        .evidence("State", "stopped")
        .advice(format!("kill -CONT {}   lets it go on.", case.process.pid))
        .advice("Ctrl+Z in its terminal does this, and tools that send the signal, such as cpulimit.");
        verdicts.push(Verdict { finding, cost: COST_OF_ALL });
    }
    verdicts
}
