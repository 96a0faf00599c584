//! `cpu` and `off-cpu`: where threads spend their time, by the kernel's own samples.
//!
//! ```text
//! Settings --> request --> kernel-collector --> Recorded --+--> cpu: who runs
//!                                                          +--> off-cpu: who waits, for what
//!                                                          +--> both in one picture
//! ```

mod answer;
mod both;
mod collect;
mod cpu;
mod kinds;
mod off_cpu;
mod places;
mod quality;
mod specs;
#[cfg(test)]
mod tests;
mod view;
mod waits;

use std::time::Duration;

use discovery::DotnetProcess;
use kernel_collector::{Recorded, Request, Target};
use model::{Report, Timestamp, WindowEnd};
use perf_sampler::{Collect, KernelFrames};

use crate::profiler::{Answer, Profiler, Run, Spec};
use crate::run::{Asked, report as report_of};
use crate::{ProfilerError, Settings};

/// Which time of threads a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// While they run.
    Cpu,
    /// While they wait.
    OffCpu,
    /// Both.
    Both,
}

/// A profile of waits without those that are nobody's concern (idle pool threads, the runtime's own threads), and how
/// long those were. For a live view, which has no window to judge a thread by.
#[must_use]
pub fn without_idle(profile: stacks::Profile) -> (stacks::Profile, Duration) {
    let (profile, idle_ns) = waits::without_idle(profile);
    (profile, Duration::from_nanos(idle_ns))
}

impl Picture {
    /// What has to be collected for it.
    #[must_use]
    pub fn collect(self) -> Collect {
        match self {
            Picture::Cpu => Collect::OnCpu,
            Picture::OffCpu => Collect::OffCpu,
            Picture::Both => Collect::Both,
        }
    }

    /// The profiler whose report it is; its parameters are those of the settings.
    #[must_use]
    pub fn spec(self) -> &'static Spec {
        match self {
            Picture::Cpu | Picture::Both => &specs::CPU,
            Picture::OffCpu => &specs::OFF_CPU,
        }
    }
}

/// Whether the kernel lets this user sample a process. Starts nothing.
#[must_use]
pub fn is_granted(pid: model::ProcessId) -> bool {
    perf_sampler::preflight(&perf_sampler::Options::new(perf_sampler::Scope::process(pid))).is_ok()
}

/// What to record for a picture, by the settings.
#[must_use]
pub fn request(picture: Picture, targets: Vec<Target>, settings: &Settings) -> Request {
    let mut request = Request::new(targets, picture.collect());
    if let Ok(rate) = u32::try_from(settings.integer("rate"))
        && rate > 0
    {
        request.sampling.rate_hz = rate;
    }
    if settings.choice("kernel") == "hide" {
        request.sampling.kernel_frames = KernelFrames::Unwanted;
    }
    request
}

/// The report about one process of a recording; `index` is its place in [`Recorded::processes`]. Without such a process it
/// says that nothing was seen.
#[must_use]
pub fn report(
    picture: Picture,
    process: &DotnetProcess,
    recorded: &Recorded,
    index: usize,
    settings: &Settings,
    requested: Duration,
    end: WindowEnd,
) -> Report {
    let started_at = Timestamp::try_from(recorded.started_at).unwrap_or_else(|_| Timestamp::now());
    let answer = answer::answer(picture, recorded, index, settings, end);
    report_of(picture.spec(), process, settings, Asked { started_at, requested }, answer)
}

/// Shows which methods use the processor.
pub struct Cpu;

impl Profiler for Cpu {
    fn spec(&self) -> &'static Spec {
        &specs::CPU
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let picture = if run.settings.choice("off-cpu") == "show" { Picture::Both } else { Picture::Cpu };
        look(picture, run)
    }
}

/// Shows where threads wait.
pub struct OffCpu;

impl Profiler for OffCpu {
    fn spec(&self) -> &'static Spec {
        &specs::OFF_CPU
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        look(Picture::OffCpu, run)
    }
}

fn look(picture: Picture, run: &Run<'_>) -> Result<Answer, ProfilerError> {
    let (recorded, end) = collect::collect(picture, run)?;
    Ok(answer::answer(picture, &recorded, 0, run.settings, end))
}
