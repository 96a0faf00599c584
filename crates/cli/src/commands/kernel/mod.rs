//! `drdotnet cpu` and `drdotnet off-cpu`: where threads run and wait, by the kernel's samples.
//!
//! ```text
//! Plan, Subjects --> rights: which way? --+--> recording: the kernel ---+--> reports, files, overview --> sessions
//!                                         +--> fallback: the runtime ---+
//! ```

mod delivery;
mod fallback;
mod files;
mod overview;
mod plan;
mod recording;
mod rights;
mod subjects;

use std::time::Duration;

use discovery::DotnetProcess;
use model::{Report, WindowEnd, format_duration};
use profilers::{Settings, Spec};
use sessions::RunningSession;

use self::delivery::{Delivery, Subject};
use self::fallback::StandIn;
use self::overview::Row;
use self::plan::{Amount, Plan};
use self::recording::Outcome;
use self::rights::{Refusal, Way};
use self::subjects::Subjects;
use super::keeping;
use super::launching::Program;
use crate::args::AnyTarget;
use crate::args::kernel::{CpuArgs, OffCpuArgs};
use crate::explain::Failure;
use crate::output;
use crate::progress::Progress;
use crate::screen::Screen;

/// Shows where processes use the CPU.
pub fn cpu(args: &CpuArgs, screen: &Screen) -> Result<(), Failure> {
    look(&Plan::cpu(args)?, &args.target, screen)
}

/// Shows where threads wait.
pub fn off_cpu(args: &OffCpuArgs, screen: &Screen) -> Result<(), Failure> {
    look(&Plan::off_cpu(args)?, &args.target, screen)
}

fn look(plan: &Plan, target: &AnyTarget, screen: &Screen) -> Result<(), Failure> {
    let subjects = Subjects::reach(target, plan)?;
    match rights::choose(plan, &subjects.processes)? {
        Way::Kernel(granted) => {
            let sessions = begin_sessions(plan, &subjects, plan.picture.spec(), &plan.settings)?;
            let progress = begin(plan, &subjects, screen);
            let (processes, width) = (&subjects.processes, screen.error_width());
            output::to_stderr(&rights::granted_words(&granted, processes, width));
            output::to_stderr(&rights::nameless_words(processes, width));
            by_kernel(plan, subjects, sessions, &progress, screen)
        }
        Way::Runtime(refusal) => by_runtime(plan, subjects, refusal, screen),
    }
}

fn begin(plan: &Plan, subjects: &Subjects, screen: &Screen) -> Progress {
    let id = plan.picture.spec().id;
    let duration = format_duration(plan.duration);
    Progress::begin(screen, &format!("{id}: looking at {} for {duration}", subjects.words()))
}

/// A session for each process, before anything is measured: a disk that cannot be written must not cost a measurement.
fn begin_sessions(
    plan: &Plan,
    subjects: &Subjects,
    spec: &Spec,
    settings: &Settings,
) -> Result<Vec<RunningSession>, Failure> {
    let mut sessions = Vec::new();
    for process in &subjects.processes {
        match begin_session(plan, process, subjects.amount, spec, settings) {
            Ok(session) => sessions.push(session),
            Err(failure) => {
                fail_all(sessions, "another session of the same run could not be begun");
                return Err(failure);
            }
        }
    }
    Ok(sessions)
}

fn begin_session(
    plan: &Plan,
    process: &DotnetProcess,
    amount: Amount,
    spec: &Spec,
    settings: &Settings,
) -> Result<RunningSession, Failure> {
    let manifest = keeping::manifest(spec, settings, process, plan.duration);
    keeping::begin(plan.folder(process.pid, amount).as_deref(), &manifest)
}

fn fail_all(sessions: Vec<RunningSession>, why: &str) {
    for session in sessions {
        // There is another failure to tell of.
        let _ = session.fail(why);
    }
}

fn by_kernel(
    plan: &Plan,
    mut subjects: Subjects,
    sessions: Vec<RunningSession>,
    progress: &Progress,
    screen: &Screen,
) -> Result<(), Failure> {
    let outcome = recording::record(plan, &subjects, progress);
    progress.end();
    let mut delivery = Delivery::new(plan, &subjects, screen);
    if let Some(program) = subjects.program.take() {
        program.farewell();
    }
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(failure) => {
            fail_all(sessions, &failure.what());
            return Err(failure);
        }
    };
    let recorded = &outcome.recorded;
    delivery.measured = recorded.summary.ended.since(recorded.summary.started);
    for (process, session) in subjects.processes.iter().zip(sessions) {
        let index = recorded.processes.iter().position(|one| one.pid == process.pid);
        let report = report_of(plan, process, &outcome, index.unwrap_or(usize::MAX));
        let row =
            Row { summary: Some(report.summary.clone()), ..Row::new(process.pid, process.name.clone()) };
        let row = match index.and_then(|index| recorded.processes.get(index)) {
            Some(one) => row.recorded(plan.picture, one),
            None => row,
        };
        delivery.subjects.push(Subject {
            row,
            report: Some(report),
            session: Some(session),
            recording: None,
        });
    }
    children(plan, &subjects, &outcome, &mut delivery);
    delivery.take_recordings(outcome.recorded);
    delivery.deliver()
}

/// Processes that the subjects started. Those of .NET get a session of their own.
fn children(plan: &Plan, subjects: &Subjects, outcome: &Outcome, delivery: &mut Delivery<'_>) {
    let recorded = &outcome.recorded;
    let is_subject = |pid| subjects.processes.iter().any(|process| process.pid == pid);
    for (index, one) in recorded.processes.iter().enumerate().filter(|(_, one)| !is_subject(one.pid)) {
        let row = Row::new(one.pid, delivery::native_name(one)).recorded(plan.picture, one);
        let known = outcome.children.iter().find(|process| process.pid == one.pid);
        delivery.subjects.push(match one.child.as_ref().or(known) {
            Some(process) => {
                let report = report_of(plan, process, outcome, index);
                let (spec, settings) = (plan.picture.spec(), &plan.settings);
                let mut row =
                    Row { name: process.name.clone(), summary: Some(report.summary.clone()), ..row };
                // What was measured is shown, whatever becomes of one session.
                let session = begin_session(plan, process, Amount::Several, spec, settings)
                    .map_err(|failure| row.error = Some(failure.what()))
                    .ok();
                Subject { row, report: Some(report), session, recording: None }
            }
            None => {
                Subject { row: Row { dotnet: false, ..row }, report: None, session: None, recording: None }
            }
        });
    }
}

fn report_of(plan: &Plan, process: &DotnetProcess, outcome: &Outcome, index: usize) -> Report {
    // Of several, some may have ended before the others.
    let end = match outcome.end {
        WindowEnd::Completed if outcome.ended.contains(&process.pid) => WindowEnd::TargetExited,
        end => end,
    };
    let (picture, recorded) = (plan.picture, &outcome.recorded);
    let (settings, duration) = (&plan.settings, plan.duration);
    let mut report = profilers::kernel::report(picture, process, recorded, index, settings, duration, end);
    if outcome.held.contains(&process.pid) {
        report.notes.insert(0, held_note(process));
    }
    report
}

fn held_note(process: &DotnetProcess) -> String {
    format!(
        "The process is stopped, by a signal (SIGSTOP) or by a debugger, and does not run while it is: kill -CONT {} \
         lets it go on after a signal.",
        process.pid
    )
}

fn by_runtime(plan: &Plan, mut subjects: Subjects, refusal: Refusal, screen: &Screen) -> Result<(), Failure> {
    let stand_in = StandIn::new(plan, refusal.clone())?;
    let hindrances: Vec<Option<Failure>> =
        subjects.processes.iter().map(|process| stand_in.hindrance(process)).collect();
    let mut reachable = hindrances.iter().map(Option::is_none);
    subjects.processes.retain(|_| reachable.next().unwrap_or(false));
    let mut hindrances: Vec<Failure> = hindrances.into_iter().flatten().collect();
    if subjects.processes.is_empty() {
        return match hindrances.pop() {
            Some(failure) => Err(failure),
            None => Ok(()),
        };
    }
    for failure in hindrances {
        output::to_stderr(&format!("left out: {}\n", reports::printable(&failure.what())));
    }
    let spec = stand_in.profiler.spec();
    let sessions = begin_sessions(plan, &subjects, spec, &stand_in.settings)?;
    let progress = begin(plan, &subjects, screen);
    output::to_stderr(&rights::refused_words(&refusal, spec.id, screen.error_width()));
    if let Some(Err(failure)) = subjects.program.as_ref().map(Program::resume) {
        fail_all(sessions, &failure.what());
        return Err(failure);
    }
    let answers = stand_in.ask(plan, &subjects, &progress);
    progress.end();
    let mut delivery = Delivery::new(plan, &subjects, screen);
    if let Some(program) = subjects.program.take() {
        program.farewell();
    }
    for ((process, session), answer) in subjects.processes.iter().zip(sessions).zip(answers) {
        let row = Row::new(process.pid, process.name.clone());
        match answer {
            Ok(report) => {
                delivery.measured = delivery.measured.max(Duration::from_nanos(report.window.measured_ns));
                let row = Row { summary: Some(report.summary.clone()), ..row };
                delivery.subjects.push(Subject {
                    row,
                    report: Some(report),
                    session: Some(session),
                    recording: None,
                });
            }
            Err(error) => {
                session.fail(&error.to_string())?;
                if subjects.processes.len() == 1 {
                    return Err(error.into());
                }
                let row = Row { error: Some(error.to_string()), ..row };
                delivery.subjects.push(Subject { row, report: None, session: None, recording: None });
            }
        }
    }
    delivery.deliver()
}
