//! How good a recording is, and what it cost: in every report made of one.

use std::fmt::Write;
use std::time::Duration;

use kernel_collector::{NamesFailure, Recorded, RecordedProcess};
use model::{Body, Cell, Column, Cost, Section, Table, Unit};
use perf_sampler::{KernelSide, OffCpu, Placement};

use super::Picture;
use crate::events::WITHHELD_NAMES;
use crate::hot_method::time;
use crate::ratio::{count_words, fraction, nanos, percent_words, rate_words};

/// Processor time that one sample takes from the thread it is taken of: the interrupt, the walk along frame pointers and
/// the copy of 4 KB of its stack. Measured on a virtual machine with Linux 6.18: a thread 40 calls deep that computes for
/// 51 ms needs 58 ms at 10,000 Hz, which is 13.1 us a sample (median of 20 pairs, quartiles 12.9 and 13.6).
const SAMPLE_NS: u64 = 13_000;

fn percent(part: u64, whole: u64) -> String {
    percent_words(crate::ratio::percent(part, whole))
}

/// Stacks that were taken of a process.
fn samples(picture: Picture, process: &RecordedProcess) -> (u64, u64) {
    let profiles = &process.profiles;
    let on_cpu = profiles.on_cpu.samples.len() as u64;
    let waits = (profiles.off_cpu.samples.len() + profiles.ready.samples.len()) as u64;
    if picture == Picture::Cpu { (on_cpu, 0) } else { (on_cpu, waits) }
}

/// The section.
pub(super) fn section(picture: Picture, recorded: &Recorded, process: &RecordedProcess) -> Section {
    let mut table =
        Table::new([Column::new("what", "What", Unit::Text), Column::new("value", "Value", Unit::Text)]);
    let mut row = |what: &str, value: String| table.push([Cell::from(what), Cell::from(value)]);
    let (granted, counts) = (&recorded.granted, &recorded.summary.counts);
    let quality = &process.profiles.quality;
    let (on_cpu, waits) = samples(picture, process);
    if picture != Picture::OffCpu {
        row("samples", count_words(on_cpu));
        let ran = process.cpu_time.unwrap_or_default();
        let achieved = match granted.kernel {
            KernelSide::Seen if !ran.is_zero() => {
                format!("{} Hz while it ran", rate_words(fraction(on_cpu) / ran.as_secs_f64()))
            }
            _ => "not known".to_owned(),
        };
        row("rate", format!("{} Hz asked for, {achieved}", granted.rate_hz));
    }
    if picture != Picture::Cpu {
        let waited = &quality.waits;
        row(
            "waits",
            format!(
                "{}; {} of the time estimated, {} without a stack",
                count_words(waits),
                percent(waited.estimated_ns, waited.waited_ns),
                percent(waited.without_stack_ns, waited.waited_ns)
            ),
        );
    }
    row("lost", format!("{} records, by the kernel's own count", count_words(counts.lost)));
    if counts.throttled > 0 {
        row("held back", format!("{} times by the kernel", count_words(counts.throttled)));
    }
    row(
        "unnamed",
        format!(
            "{} of .NET frames, {} of native frames",
            percent(quality.managed_unnamed, quality.managed_frames),
            percent(quality.native_unnamed, quality.native_frames)
        ),
    );
    let (running, waiting) = (quality.running_complete_percent(), quality.waits.complete_percent());
    let complete = match picture {
        Picture::Cpu => format!("{running:.1} % reach their thread's start"),
        Picture::OffCpu => format!("{waiting:.1} % of the time reaches the thread's start"),
        Picture::Both => format!("running {running:.1} %, waiting {waiting:.1} % reach their thread's start"),
    };
    row("whole stacks", complete);
    row(
        "cut stacks",
        format!("{} at the kernel's limit of {} frames", count_words(quality.at_limit), granted.max_frames),
    );
    row("route", route(picture, recorded));
    row("names", names(process));
    row(
        "CPU for our sake",
        format!(
            "{} telling names, about {} being sampled",
            time(nanos(process.on_our_behalf)),
            time(sampling_ns(picture, recorded, process))
        ),
    );
    Section::new("quality", "How good this is", Body::Table(table))
}

fn names(process: &RecordedProcess) -> String {
    let naming = &process.naming;
    let mut words = format!("{} methods told by the runtime", count_words(naming.methods));
    if naming.from_memory > 0 {
        let _ = write!(words, ", {} places read from memory", count_words(naming.from_memory));
    }
    words
}

fn route(picture: Picture, recorded: &Recorded) -> String {
    let granted = &recorded.granted;
    let place = |placement: Placement| match placement {
        Placement::PerCpu => "per processor",
        Placement::PerThread => "per thread",
    };
    let mut words = "perf events".to_owned();
    if let Some(placement) = granted.on_cpu.filter(|_| picture != Picture::OffCpu) {
        // Writing to a string does not fail.
        let _ = write!(words, ", {}", place(placement));
    }
    if let Some(off_cpu) = granted.off_cpu.filter(|_| picture != Picture::Cpu) {
        words += match off_cpu {
            OffCpu::WithStacks(_) => ", stacks of waits",
            OffCpu::TimesOnly => ", times of waits",
        };
    }
    words += match granted.kernel {
        KernelSide::Seen => ", kernel seen",
        KernelSide::Hidden => ", kernel not seen",
    };
    words
}

/// An estimate: what taking the stacks cost the threads they were taken of.
fn sampling_ns(picture: Picture, recorded: &Recorded, process: &RecordedProcess) -> u64 {
    let (on_cpu, waits) = samples(picture, process);
    let stacks = on_cpu + waits / u64::from(recorded.granted.wait_stack_every.max(1));
    stacks.saturating_mul(SAMPLE_NS)
}

/// What it cost.
pub(super) fn cost(picture: Picture, recorded: &Recorded, process: &RecordedProcess) -> Cost {
    let counts = &recorded.summary.counts;
    let for_us = nanos(process.on_our_behalf).saturating_add(sampling_ns(picture, recorded, process));
    Cost {
        method: "samples of the kernel, names from the runtime; nothing loaded into the process".to_owned(),
        target_cpu_ns: Some(for_us),
        bytes: counts.stack_bytes.saturating_add(process.naming.bytes),
        events: counts.on_cpu + counts.wait_stacks + counts.switches + process.naming.events,
        events_lost: counts.lost + process.naming.lost,
        ..Cost::default()
    }
}

/// What a reader must know to trust the numbers.
pub(super) fn notes(recorded: &Recorded, process: &RecordedProcess) -> Vec<String> {
    let mut notes: Vec<String> =
        recorded.granted.missing.iter().map(|gap| capital(&gap.to_string())).collect();
    notes.extend(match &process.naming.failure {
        None => None,
        Some(NamesFailure::NoRuntime) => Some(
            "The runtime cannot be asked for names, so methods have none: drdotnet info -p PID says why."
                .to_owned(),
        ),
        Some(NamesFailure::Refused(why)) => Some(format!("The runtime gave no names, or not all: {why}.")),
        Some(NamesFailure::Withheld) => Some(format!("{}.", capital(WITHHELD_NAMES))),
        Some(NamesFailure::NoAnswer) => {
            Some("The runtime did not tell all names in time; what it did not tell has none.".to_owned())
        }
    });
    if let Some(libraries) = without_symbols(process) {
        notes.push(format!(
            "Without symbols, so that their functions have no names: {libraries}. drdotnet symbols fetch -p {} gets them.",
            process.pid
        ));
    }
    if recorded.summary.counts.lost > 0 {
        notes.push(format!(
            "The kernel dropped {} records because nobody read them in time: totals are a little too low.",
            count_words(recorded.summary.counts.lost)
        ));
    }
    notes
}

/// The first few libraries without symbols; those that were fetched once are not among them.
fn without_symbols(process: &RecordedProcess) -> Option<String> {
    /// More are counted only.
    const MOST: usize = 4;
    let libraries = &process.profiles.without_symbols;
    let mut names: Vec<String> = libraries
        .iter()
        .take(MOST)
        .map(|(path, _)| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    if libraries.len() > MOST {
        names.push(format!("{} more", libraries.len() - MOST));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How long was looked.
pub(super) fn measured(recorded: &Recorded) -> Duration {
    recorded.summary.ended.since(recorded.summary.started)
}
