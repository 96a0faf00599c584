//! The words that every format shares, so that a report says the same everywhere.
//!
//! The results still hold strings of the target; whoever prints them escapes them.

use std::time::Duration;

use model::{Confidence, Stack, format_duration};
use model::{
    Cost, Culprit, CulpritKind, Finding, Frame, FrameKind, Report, Severity, Target, Window, WindowEnd,
};

use crate::value::{format_bytes, format_time, format_whole};

/// Threads named for one stack; the others are counted.
const MOST_THREADS: usize = 3;

/// `shop-api`, `pid 4242`, `.NET 9.0.7 x64`.
pub(crate) fn target_parts(target: &Target) -> Vec<String> {
    let name = if target.name.is_empty() { "(no name)" } else { &target.name };
    let mut parts = vec![name.to_owned(), format!("pid {}", target.pid)];
    match (&target.runtime_version, &target.architecture) {
        (Some(version), Some(architecture)) => parts.push(format!(".NET {version} {architecture}")),
        (Some(version), None) => parts.push(format!(".NET {version}")),
        (None, Some(architecture)) => parts.push(architecture.clone()),
        (None, None) => {}
    }
    parts
}

/// When, for how long, and why no longer: `2026-11-15 04:39:35Z, ended early by you after 3.2 s of 10 s`.
pub(crate) fn window(window: &Window) -> String {
    format!(
        "{}{}",
        format_time(window.started_at),
        window_length(window).map_or(String::new(), |length| format!(", {length}"))
    )
}

fn window_length(window: &Window) -> Option<String> {
    let measured = nanoseconds(window.measured_ns);
    let of = if window.requested_ns == 0 {
        String::new()
    } else {
        format!(" of {}", nanoseconds(window.requested_ns))
    };
    match window.end {
        // A profiler that looks once has no length worth a word.
        WindowEnd::Completed if window.requested_ns == 0 => None,
        WindowEnd::Completed => Some(format!("measured for {measured}")),
        WindowEnd::Cancelled => Some(format!("ended early by you after {measured}{of}")),
        WindowEnd::TargetExited => Some(format!("the target exited after {measured}{of}")),
    }
}

/// `(medium confidence)`; nothing when the finding is proven, which is what a reader assumes.
pub(crate) fn doubt(confidence: Confidence) -> Option<&'static str> {
    match confidence {
        Confidence::High => None,
        Confidence::Medium => Some("medium confidence"),
        Confidence::Low => Some("low confidence"),
    }
}

/// What the name of a culprit names.
pub(crate) fn culprit_kind(kind: CulpritKind) -> &'static str {
    match kind {
        CulpritKind::Method => "method",
        CulpritKind::Type => "type",
        CulpritKind::Thread => "thread",
        CulpritKind::Field => "field",
        CulpritKind::Setting => "setting",
    }
}

/// `src/OrderBook.cs:42`, in full, so that an editor can open it.
pub(crate) fn culprit_place(culprit: &Culprit) -> Option<String> {
    place(culprit.file.as_deref()?, culprit.line)
}

/// `OrderBook.cs:42`; a stack has many frames, and the folders are the same in most of them.
pub(crate) fn frame_place(frame: &Frame) -> Option<String> {
    // Debug information built on Windows keeps its backslashes on Linux.
    let file = frame.file.as_deref()?.rsplit(['/', '\\']).next()?;
    place(file, frame.line)
}

fn place(file: &str, line: Option<u32>) -> Option<String> {
    Some(line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")))
}

/// `Shop.Orders!OrderBook.Add`, or `[kernel] do_futex` when no module says where it is from.
pub(crate) fn frame_name(frame: &Frame) -> String {
    match (&frame.module, frame_kind(frame.kind)) {
        (Some(module), _) => format!("{module}!{}", frame.name),
        (None, Some(kind)) => format!("[{kind}] {}", frame.name),
        (None, None) => frame.name.clone(),
    }
}

/// The word for code that is not .NET code.
pub(crate) fn frame_kind(kind: FrameKind) -> Option<&'static str> {
    match kind {
        FrameKind::Managed => None,
        FrameKind::Runtime => Some("runtime"),
        FrameKind::Native => Some("native"),
        FrameKind::Kernel => Some("kernel"),
        FrameKind::Stub => Some("stub"),
    }
}

/// `worker-1, worker-2 and 3 more threads`; empty when no thread is known.
pub(crate) fn threads(stack: &Stack) -> String {
    let named = stack.threads.iter().take(MOST_THREADS).cloned().collect::<Vec<_>>().join(", ");
    match stack.threads.len().saturating_sub(MOST_THREADS) {
        0 => named,
        more => format!("{named} and {}", counted(more as u64, "more thread")),
    }
}

/// `1 finding`, `1,200 findings`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", format_whole(count, model::Unit::Count))
}

/// `1 critical`, `2 warnings`: the findings by severity, worst first, without the empty ones.
pub(crate) fn severity_counts(findings: &[Finding]) -> Vec<(Severity, String)> {
    let mut counts = Vec::new();
    for severity in [Severity::Critical, Severity::Warning, Severity::Info] {
        let count = findings.iter().filter(|finding| finding.severity == severity).count();
        match severity {
            _ if count == 0 => {}
            Severity::Warning => counts.push((severity, counted(count as u64, severity.word()))),
            Severity::Critical | Severity::Info => {
                counts.push((severity, format!("{count} {}", severity.word())))
            }
        }
    }
    counts
}

/// What the measurement cost, as pairs of label and value.
pub(crate) fn cost(cost: &Cost) -> Vec<(&'static str, String)> {
    let mut parts = Vec::new();
    if !cost.method.is_empty() {
        parts.push(("method", cost.method.clone()));
    }
    parts.push(("pauses", pauses(cost)));
    let mut received = Vec::new();
    if cost.bytes > 0 {
        received.push(format_bytes(cost.bytes));
    }
    if cost.events > 0 {
        received.push(counted(cost.events, "event"));
    }
    if !received.is_empty() {
        parts.push(("received", received.join(", ")));
    }
    if cost.events_lost > 0 {
        parts.push(("lost", counted(cost.events_lost, "event")));
    }
    if let Some(cpu) = cost.target_cpu_ns {
        parts.push(("target CPU", nanoseconds(cpu)));
    }
    let host = &cost.host;
    parts.push((
        "drdotnet",
        format!("{} CPU, {} memory", nanoseconds(host.cpu_ns), format_bytes(host.peak_memory_bytes)),
    ));
    parts
}

fn pauses(cost: &Cost) -> String {
    let pauses = &cost.pauses;
    match pauses.count {
        0 => "none".to_owned(),
        1 => format!("1 of {}", nanoseconds(pauses.total_ns)),
        count => format!(
            "{}, {} in all, longest {}",
            format_whole(count, model::Unit::Count),
            nanoseconds(pauses.total_ns),
            nanoseconds(pauses.longest_ns)
        ),
    }
}

/// The parameters of the profiler, such as `interval=1s, top=20`.
pub(crate) fn parameters(report: &Report) -> String {
    let pairs = report.profiler.parameters.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(", ")
}

fn nanoseconds(value: u64) -> String {
    format_duration(Duration::from_nanos(value))
}
