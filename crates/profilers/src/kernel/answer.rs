//! Analysing: from what was recorded to an answer.

use facts::LookFacts;
use kernel_collector::{Recorded, RecordedProcess};
use model::{Cost, Section, WindowEnd};
use perf_sampler::KernelSide;

use super::view::View;
use super::{Picture, both, cpu, off_cpu, quality};
use crate::Settings;
use crate::profiler::Answer;
use crate::ratio::nanos;
use crate::sampling::has_content;

/// A process of a recording, ready to be judged.
pub(super) struct Case<'a> {
    pub(super) recorded: &'a Recorded,
    pub(super) process: &'a RecordedProcess,
    pub(super) view: View<'a>,
    /// CPU time that it used for itself.
    pub(super) all: u64,
    /// The window in nanoseconds.
    pub(super) window: u64,
    pub(super) settings: &'a Settings,
}

impl Case<'_> {
    /// How many rows a table has at most.
    pub(super) fn top(&self) -> usize {
        usize::try_from(self.settings.integer("top")).unwrap_or(usize::MAX)
    }

    pub(super) fn shows_idle(&self) -> bool {
        self.settings.choice("idle") == "show"
    }
}

/// What a picture says.
pub(super) struct Said {
    pub(super) summary: String,
    pub(super) findings: Vec<model::Finding>,
    pub(super) sections: Vec<Section>,
    pub(super) notes: Vec<String>,
    pub(super) facts: LookFacts,
}

pub(super) fn answer(
    picture: Picture,
    recorded: &Recorded,
    index: usize,
    settings: &Settings,
    end: WindowEnd,
) -> Answer {
    let measured = quality::measured(recorded);
    let Some(process) = recorded.processes.get(index) else {
        return Answer {
            summary: "Nothing was seen of the process: it ended too soon.".to_owned(),
            findings: Vec::new(),
            sections: Vec::new(),
            notes: Vec::new(),
            cost: Cost::default(),
            measured,
            end,
            ..Answer::default()
        };
    };
    let mut view = View::of(process);
    let all = settle(&mut view, recorded.granted.kernel, end);
    let case = Case { recorded, process, view, all, window: nanos(measured), settings };
    let Said { summary, findings, mut sections, mut notes, facts } = match picture {
        Picture::Cpu => cpu::say(&case),
        Picture::OffCpu => off_cpu::say(&case),
        Picture::Both => both::say(&case),
    };
    sections.push(quality::section(picture, recorded, process));
    sections.retain(has_content);
    notes.extend(quality::notes(recorded, process));
    Answer {
        summary,
        findings,
        sections,
        notes,
        cost: quality::cost(picture, recorded, process),
        measured,
        end,
        facts,
    }
}

/// Makes samples add up to the CPU time that the scheduler counted: ticks merge on a busy machine. All of it, without what
/// was used for our sake.
fn settle(view: &mut View<'_>, kernel: KernelSide, end: WindowEnd) -> u64 {
    let used = view.process.cpu_time.map_or(0, nanos);
    let sampled: u64 = view.running.iter().map(|spell| spell.ns).sum();
    let seen = sampled + view.ours_ns;
    // Without the kernel's side samples are fewer, and the last reading of one that ended is an early one.
    if kernel == KernelSide::Hidden || end == WindowEnd::TargetExited || seen == 0 || used == 0 {
        return sampled.max(used.saturating_sub(view.ours_ns));
    }
    let scaled =
        |ns: u64| u64::try_from(u128::from(ns) * u128::from(used) / u128::from(seen)).unwrap_or(u64::MAX);
    for spell in &mut view.running {
        spell.ns = scaled(spell.ns);
    }
    view.running.iter().map(|spell| spell.ns).sum()
}
