//! Who is looked at.

use discovery::{DotnetProcess, Options, Reach, User, discover};
use perf_sampler::{Scope, preflight};
use reports::printable;

use super::plan::{Amount, Plan};
use crate::args::AnyTarget;
use crate::commands::launching::{self, Program, ProgramIo};
use crate::commands::trace::may_die_with_the_tool;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::selection::select;

/// Who is looked at, and how they were found.
pub struct Subjects {
    pub processes: Vec<DotnetProcess>,
    pub amount: Amount,
    /// Whether every process was asked for.
    pub are_all: bool,
    /// Started for this, and held at its start if its runtime can be.
    pub program: Option<Program>,
    pub interrupt: Interrupt,
}

impl Subjects {
    /// Finds or starts them, and listens to signals from before they can be harmed by one.
    pub fn reach(target: &AnyTarget, plan: &Plan) -> Result<Subjects, Failure> {
        let listen = |second| {
            Interrupt::listen(second).map_err(|error| Failure::new(Code::Unexpected, error.to_string()))
        };
        let amount = match plan.children {
            _ if target.all => Amount::Several,
            perf_sampler::Children::Followed => Amount::Several,
            perf_sampler::Children::Ignored => Amount::One,
        };
        if !target.command.is_empty() {
            let interrupt = listen(Second::IsIgnored)?;
            let io = ProgramIo::ToStandardError;
            let (program, process) = launching::start_held(&target.command, io, &interrupt)?;
            return Ok(Subjects {
                processes: vec![process],
                amount,
                are_all: false,
                program: Some(program),
                interrupt,
            });
        }
        let processes = if target.all { all(plan)? } else { vec![select(&target.which())?] };
        // A runtime that would not survive it is not left in the lurch, however impatient the user is.
        let frail = processes.iter().any(may_die_with_the_tool);
        let interrupt = listen(if frail { Second::IsIgnored } else { Second::EndsAtOnce })?;
        Ok(Subjects { processes, amount, are_all: target.all, program: None, interrupt })
    }

    /// Whether they were started for this.
    pub fn started_here(&self) -> bool {
        self.program.is_some()
    }

    /// Who they are, in a few words.
    pub fn words(&self) -> String {
        match self.processes.as_slice() {
            [one] => format!("{} (pid {})", printable(&one.name), one.pid),
            several => format!("{} .NET processes", several.len()),
        }
    }
}

/// Every .NET process that can be looked at.
fn all(plan: &Plan) -> Result<Vec<DotnetProcess>, Failure> {
    let mut sampling = plan.request(Vec::new()).sampling;
    sampling.scope = Scope::Machine;
    let of_all_users = preflight(&sampling).is_ok();
    let own = rustix::process::geteuid().as_raw();
    let is_ours = |user: &Option<User>| of_all_users || user.as_ref().is_some_and(|user| user.id == own);
    let (ours, others): (Vec<DotnetProcess>, Vec<DotnetProcess>) = discover(&Options::default())
        .into_iter()
        .partition(|process| process.visible && (is_ours(&process.user) || process.reach == Reach::Ready));
    for process in &others {
        let reason = match &process.user {
            _ if !process.visible => "it lives in a pid namespace that cannot be seen from here".to_owned(),
            Some(user) => format!("it belongs to user {}", user.shown()),
            None => "this user may not look into it".to_owned(),
        };
        output::to_stderr(&format!("left out: {} {}: {reason}\n", process.pid, printable(&process.name)));
    }
    if ours.is_empty() {
        return Err(Failure::new(Code::NoSuchProcess, "there is no .NET process that can be looked at")
            .next("drdotnet ps   lists those that can be seen"));
    }
    Ok(ours)
}
