//! The processes whose counters are wanted.

use discovery::DotnetProcess;

use crate::args::counters::ManyTargets;
use crate::commands::launching::{self, Program};
use crate::control::Interrupt;
use crate::explain::{Failure, unreachable};
use crate::selection::select;

/// The processes whose counters are wanted, and the program that was started for it.
pub struct Targets {
    /// At least one.
    pub processes: Vec<DotnetProcess>,
    program: Option<Program>,
}

impl Targets {
    /// Finds them, or starts the program.
    pub fn find(args: &ManyTargets, interrupt: &Interrupt) -> Result<Targets, Failure> {
        if !args.command.is_empty() {
            let (program, process) = launching::start(&args.command, interrupt)?;
            return Ok(Targets { processes: vec![process], program: Some(program) });
        }
        let mut processes: Vec<DotnetProcess> = Vec::new();
        for which in args.which() {
            let process = select(&which)?;
            if let Some(failure) = unreachable(&process) {
                return Err(failure);
            }
            // Named twice, it is still one process.
            if processes.iter().all(|other| other.pid != process.pid) {
                processes.push(process);
            }
        }
        Ok(Targets { processes, program: None })
    }

    /// Whether the one process was started for this: it may end when it likes.
    pub fn is_started_here(&self) -> bool {
        self.program.is_some()
    }

    /// Ends the program that was started for this.
    pub fn farewell(&mut self) {
        if let Some(program) = self.program.take() {
            program.farewell();
        }
    }
}
