//! The end: what is shown, and what is kept.

use std::time::Duration;

use kernel_collector::{Recorded, RecordedProcess};
use model::{Report, WindowEnd};
use profilers::kernel::Picture;
use sessions::RunningSession;
use stored_profiles::{ProcessName, Recording, Side};

use super::files::{self, Written};
use super::overview::{self, Row};
use super::plan::{Amount, Plan};
use super::subjects::Subjects;
use crate::commands::keeping;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// One process, as far as there is something of it.
pub struct Subject {
    pub row: Row,
    pub report: Option<Report>,
    pub session: Option<RunningSession>,
    pub recording: Option<Recording>,
}

/// Everything that a run came to.
pub struct Delivery<'a> {
    plan: &'a Plan,
    screen: &'a Screen,
    amount: Amount,
    /// Whether the first one is what the user asked for; if not, they asked for all.
    is_about_first: bool,
    started_here: bool,
    pub measured: Duration,
    pub subjects: Vec<Subject>,
}

impl<'a> Delivery<'a> {
    pub fn new(plan: &'a Plan, subjects: &Subjects, screen: &'a Screen) -> Delivery<'a> {
        Delivery {
            plan,
            screen,
            amount: subjects.amount,
            is_about_first: !subjects.are_all,
            started_here: subjects.started_here(),
            measured: Duration::ZERO,
            subjects: Vec::new(),
        }
    }

    /// Takes over what was recorded of each.
    pub fn take_recordings(&mut self, recorded: Recorded) {
        let rate_hz = recorded.granted.on_cpu.map(|_| recorded.granted.rate_hz);
        let started = Some(recorded.started_at);
        for process in recorded.processes {
            let Some(subject) = self.subjects.iter_mut().find(|subject| subject.row.pid == process.pid)
            else {
                continue;
            };
            let name = subject.row.name.clone();
            subject.recording = Some(Recording {
                tool_version: env!("CARGO_PKG_VERSION").to_owned(),
                processes: vec![ProcessName { pid: process.pid.0.into(), name: name.clone() }],
                name,
                started,
                duration_ns: u64::try_from(self.measured.as_nanos()).unwrap_or(u64::MAX),
                rate_hz,
                profiles: profiles(self.plan.picture, process),
            });
        }
    }

    /// Shows it, then keeps it: if it cannot be kept, it has at least been seen.
    pub fn deliver(mut self) -> Result<(), Failure> {
        for subject in &mut self.subjects {
            subject.row.session = subject.session.as_ref().map(|session| session.folder().to_owned());
        }
        let shown = self.text().and_then(|text| output::to_stdout(&text));
        let mut kept = String::new();
        let mut outcome = Ok(());
        for (place, subject) in self.subjects.iter_mut().enumerate() {
            let (Some(session), Some(report)) = (subject.session.take(), &subject.report) else { continue };
            let folder = session.folder().to_owned();
            match keep(self.plan, session, report, subject.recording.take()) {
                // Of many, where each one's files are would be too much to say.
                Ok(files) if place == 0 && self.is_about_first => kept += &files,
                Ok(_) => {}
                Err(failure) => outcome = outcome.and(Err(failure)),
            }
            if self.amount == Amount::One {
                kept += &format!("{}\n", keeping::kept_words(&folder, self.plan.output().is_some()));
            }
        }
        if self.amount == Amount::Several {
            kept += &self.kept_words();
        }
        outcome?;
        shown.map_err(|failure| failure.also(&kept))?;
        output::to_stderr(&format!("\n{kept}"));
        self.result()
    }

    /// Somebody's service that ended is a failure; a program that we started, and one of many, may end.
    fn result(&self) -> Result<(), Failure> {
        let first = self.subjects.first().and_then(|subject| subject.report.as_ref());
        match first.filter(|_| self.is_about_first && !self.started_here) {
            Some(report) if report.window.end == WindowEnd::TargetExited => {
                Err(keeping::ended_in_the_middle(report))
            }
            _ => Ok(()),
        }
    }

    fn text(&self) -> Result<String, Failure> {
        let rows = self.subjects.iter().map(|subject| &subject.row);
        let first = self.subjects.first().and_then(|subject| subject.report.as_ref());
        match (self.amount, first) {
            (Amount::One, Some(report)) if self.plan.json => Ok(reports::json::render(report)),
            (Amount::One, Some(report)) => Ok(reports::terminal::render(report, &self.screen.report_style())),
            (Amount::One, None) => Ok(String::new()),
            (Amount::Several, _) if self.plan.json => {
                let reports = self.subjects.iter().filter_map(|subject| subject.report.as_ref());
                overview::json_text(rows.collect(), reports.collect(), self.measured)
            }
            (Amount::Several, first) => {
                let mut text = String::new();
                if let Some(report) = first.filter(|_| self.is_about_first) {
                    text += &reports::terminal::render(report, &self.screen.report_style());
                    text += "\n";
                }
                Ok(text + &overview::text(rows.collect(), self.measured, self.screen))
            }
        }
    }

    /// Where the sessions of several processes are.
    fn kept_words(&self) -> String {
        let count = self.subjects.iter().filter(|subject| subject.row.session.is_some()).count();
        let sessions = if count == 1 { "session" } else { "sessions" };
        match self.plan.output() {
            Some(folder) => {
                format!(
                    "kept {count} {sessions} in {}, each in a folder named by its pid\n",
                    folder.display()
                )
            }
            None => format!("kept {count} {sessions} (drdotnet sessions list)\n"),
        }
    }
}

/// The sides of a process's time that the picture is of.
fn profiles(picture: Picture, process: RecordedProcess) -> Vec<(Side, stacks::Profile)> {
    let all = process.profiles;
    let waiting = [(Side::OffCpu, all.off_cpu), (Side::Ready, all.ready)];
    match picture {
        Picture::Cpu => vec![(Side::OnCpu, all.on_cpu)],
        Picture::OffCpu => waiting.into(),
        Picture::Both => std::iter::once((Side::OnCpu, all.on_cpu)).chain(waiting).collect(),
    }
}

/// Writes the files of a session and ends it. What is to be said of the files.
fn keep(
    plan: &Plan,
    session: RunningSession,
    report: &Report,
    recording: Option<Recording>,
) -> Result<String, Failure> {
    let written = match &recording {
        Some(recording) => files::write(&plan.files, recording, &session),
        None => Ok(Vec::new()),
    };
    let not_kept = "the report above is complete, but it is not kept";
    session.finish(report).map_err(|error| Failure::from(error).also(not_kept))?;
    Ok(written?.iter().filter_map(Written::words).collect())
}

/// What a process is called that is no .NET program: as its first thread is.
pub fn native_name(process: &RecordedProcess) -> String {
    let sides = [&process.profiles.on_cpu, &process.profiles.off_cpu];
    let threads = sides.into_iter().flat_map(|profile| &profile.threads);
    let first = threads.into_iter().find(|thread| thread.id == u64::from(process.pid.0));
    let known = first.and_then(|thread| thread.name.clone());
    known.unwrap_or_else(|| format!("process {}", process.pid))
}
