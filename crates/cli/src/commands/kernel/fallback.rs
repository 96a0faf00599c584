//! The runtime's own samples, when the kernel gives none.

use discovery::{DotnetProcess, Reach};
use model::Report;
use profilers::kernel::Picture;
use profilers::{Profiler, ProfilerError, Run, Settings, by_id};

use super::plan::Plan;
use super::rights::{Refusal, refused_note};
use super::subjects::Subjects;
use crate::commands::ps::reach_words;
use crate::control::UserControl;
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::progress::Progress;

/// What stands in for the kernel.
pub struct StandIn {
    pub profiler: &'static dyn Profiler,
    pub settings: Settings,
    refusal: Refusal,
}

impl StandIn {
    /// What comes nearest to the picture.
    pub fn new(plan: &Plan, refusal: Refusal) -> Result<StandIn, Failure> {
        let profiler = by_id(match plan.picture {
            Picture::Cpu => "cpu-unprivileged",
            Picture::OffCpu | Picture::Both => "thread-time",
        })?;
        Ok(StandIn { profiler, settings: plan.settings_for(profiler.spec())?, refusal })
    }

    /// That neither the kernel nor its runtime tells anything of a process, if it is so.
    pub fn hindrance(&self, process: &DotnetProcess) -> Option<Failure> {
        let failure = unreachable(process)?;
        if process.reach == Reach::Forbidden {
            return Some(failure.also(&format!("the kernel refuses, too: {}", self.refusal.cause)));
        }
        let what = format!("process {} ({}) cannot be sampled", process.pid, process.name);
        let reach = reach_words(process).unwrap_or_else(|| "it does not answer".to_owned());
        let why = format!(
            "the kernel refuses: {}; and its runtime cannot be asked instead: {reach}",
            self.refusal.cause
        );
        let failure = Failure::new(Code::SamplingRefused, what).why(why);
        Some(self.refusal.remedies.iter().fold(failure, |failure, remedy| failure.next(remedy.clone())))
    }

    /// Asks all at once; each has a report, or a reason why not.
    pub fn ask(
        &self,
        plan: &Plan,
        subjects: &Subjects,
        progress: &Progress,
    ) -> Vec<Result<Report, ProfilerError>> {
        let control = UserControl { interrupt: &subjects.interrupt, progress };
        std::thread::scope(|scope| {
            let asked: Vec<_> = subjects
                .processes
                .iter()
                .map(|process| scope.spawn(|| self.ask_one(plan, process, &control)))
                .collect();
            // A profiler that panics is a fault of ours; the others still have their answers.
            asked.into_iter().map(|one| one.join().unwrap_or(Err(ProfilerError::NoRuntime))).collect()
        })
    }

    fn ask_one(
        &self,
        plan: &Plan,
        process: &DotnetProcess,
        control: &UserControl<'_>,
    ) -> Result<Report, ProfilerError> {
        let run = Run::new(process, &self.settings, plan.duration, control);
        let mut report = profilers::run(self.profiler, &run)?;
        report.notes.insert(0, refused_note(&self.refusal));
        Ok(report)
    }
}
