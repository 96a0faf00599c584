//! Analysing: from what was seen to an answer.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Cost, Culprit, CulpritKind, Fact, Finding, Section, Severity, Table,
    Unit, Value, WindowEnd, format_duration,
};

use process_view::TaskState;

use super::watch::{Seen, Watched};
use crate::Settings;
use crate::profiler::Answer;

/// Shorter windows prove nothing about a thread's habits.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// Looks in which a thread must be seen inside the kernel, without exception, to count as stuck.
const STUCK_LOOKS: u32 = 3;
/// Growth that is worth a word: at least this many threads more, and this part of those at the start.
const GROWTH: usize = 10;
const GROWTH_SHARE: usize = 5;
/// From this part of its own CPU time on, the time a thread waited for a processor is worth a word.
const MISSED_SHARE: u64 = 4;
/// Names beyond this many are left out of the table of groups.
const MOST_GROUPS: usize = 15;

pub(super) fn answer(watched: &Watched, settings: &Settings) -> Answer {
    let mut sections = vec![thread_table(watched, settings)];
    sections.extend(group_table(watched));
    Answer {
        summary: summary(watched),
        findings: findings(watched, settings),
        sections,
        notes: notes(watched),
        cost: Cost {
            method: format!("/proc, looked at {} times; nothing sent to the process", watched.looks),
            bytes: watched.bytes,
            ..Cost::default()
        },
        measured: watched.measured,
        end: watched.end,
        ..Answer::default()
    }
}

fn percent(nanos: u64, of: Duration) -> f64 {
    if of.is_zero() { 0.0 } else { 100.0 * Duration::from_nanos(nanos).as_secs_f64() / of.as_secs_f64() }
}

fn summary(watched: &Watched) -> String {
    let used: u64 = watched.threads.iter().map(Seen::cpu_used).sum();
    let living = || watched.threads.iter().filter(|thread| !thread.ended);
    let running = living().filter(|thread| thread.state.word() == "running").count();
    format!(
        "{} threads, {running} running, using {:.1} % of one CPU over {}.",
        living().count(),
        percent(used, watched.measured),
        format_duration(watched.measured),
    )
}

fn thread_table(watched: &Watched, settings: &Settings) -> Section {
    let mut threads: Vec<&Seen> = watched.threads.iter().collect();
    match settings.choice("sort") {
        "name" => threads.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id))),
        "start" => threads.sort_by_key(|thread| (thread.started_at, thread.id)),
        "tid" => threads.sort_by_key(|thread| thread.id),
        _ => threads.sort_by_key(|thread| (std::cmp::Reverse(thread.cpu_used()), thread.id)),
    }
    let mut table = Table::new([
        Column::new("name", "Name", Unit::Text),
        Column::new("tid", "TID", Unit::Id),
        Column::new("state", "State", Unit::Text),
        Column::new("cpu-percent", "CPU", Unit::Percent),
        Column::new("cpu", "CPU time", Unit::Nanoseconds),
        Column::new("started-at", "Started", Unit::Time),
    ]);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    for thread in threads.iter().take(top) {
        table.push([
            Cell::from(thread.name.as_str()),
            Cell::from(thread.id.0),
            Cell::from(if thread.ended { "ended" } else { thread.state.word() }),
            Cell::from(percent(thread.cpu_used(), watched.measured)),
            Cell::from(thread.cpu_used()),
            Cell::from(thread.started_at.to_string()),
        ]);
    }
    table.omitted_rows = u64::try_from(threads.len().saturating_sub(top)).unwrap_or(0);
    Section::new("threads", "Threads", Body::Table(table))
}

/// Numbered threads (`worker-1`, `worker-2`) do the same kind of work.
pub(crate) fn kind_of_work(name: &str) -> String {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if base.len() == name.len() || base.is_empty() { name.to_owned() } else { format!("{base}*") }
}

/// Threads of one name are one kind of work: with hundreds of pool threads this is the table that tells.
fn group_table(watched: &Watched) -> Option<Section> {
    let mut groups: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for thread in &watched.threads {
        let (count, cpu) = groups.entry(kind_of_work(&thread.name)).or_default();
        *count += 1;
        *cpu += thread.cpu_used();
    }
    // A thread that is alone with its name has its row above.
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, (count, _))| *count > 1).collect();
    if groups.is_empty() {
        return None;
    }
    groups.sort_by(|(a, (few, less)), (b, (many, more))| (more, many, a).cmp(&(less, few, b)));
    let mut table = Table::new([
        Column::new("name", "Name", Unit::Text),
        Column::new("threads", "Threads", Unit::Count),
        Column::new("cpu-percent", "CPU", Unit::Percent),
    ]);
    for (name, (count, cpu)) in groups.iter().take(MOST_GROUPS) {
        table.push([
            Cell::from(name.as_str()),
            Cell::from(*count),
            Cell::from(percent(*cpu, watched.measured)),
        ]);
    }
    table.omitted_rows = u64::try_from(groups.len().saturating_sub(MOST_GROUPS)).unwrap_or(0);
    Some(Section::new("names", "Threads of one name", Body::Table(table)))
}

fn findings(watched: &Watched, settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    if watched.measured < SHORTEST_PROOF {
        return findings;
    }
    let window = format_duration(watched.measured);
    #[expect(clippy::cast_precision_loss, reason = "a per cent between 1 and 100")]
    let busy = settings.integer("busy") as f64;
    findings.extend(stopped(watched));
    for thread in watched.threads.iter().filter(|thread| !thread.ended) {
        // What it would have used on a free machine: a thread that has to share its processor is no less busy.
        let wanted = percent(thread.cpu_used() + thread.cpu_missed(), watched.measured);
        // One that waited for longer than it ran may only be behind with little work, and proves nothing by that.
        let proven = thread.cpu_missed() <= thread.cpu_used();
        let culprit = Culprit::new(CulpritKind::Thread, format!("{} (tid {})", thread.name, thread.id));
        if wanted >= busy && proven {
            findings.push(busy_thread(thread, &window).culprit(culprit));
        }
    }
    findings.extend(stuck(watched, &window));
    findings.extend(growth(watched, &window));
    findings
}

fn busy_thread(thread: &Seen, window: &str) -> Finding {
    let shown = |nanos| format!("{} of {window}", format_duration(Duration::from_nanos(nanos)));
    let finding = Finding::new(
        "busy-thread",
        Severity::Info,
        Confidence::High,
        format!("Thread '{}' keeps a processor busy", thread.name),
    )
    .fact(Fact::measured([
        ("cpu", Value::Nanoseconds(thread.cpu_used())),
        ("without-a-processor", Value::Nanoseconds(thread.cpu_missed())),
    ]))
    .evidence("CPU used", shown(thread.cpu_used()));
    let finding = if thread.cpu_missed() * MISSED_SHARE > thread.cpu_used() {
        finding
            .evidence("Waited for a CPU", shown(thread.cpu_missed()))
            .advice("The machine or container is short of CPU: others run while this thread is ready.")
    } else {
        finding
    };
    finding.advice("Fine if it is meant to compute. If not, look for a loop that never waits.")
}

/// One finding for all that are stuck: a file system that hangs takes every thread that touches it.
fn stuck(watched: &Watched, window: &str) -> Option<Finding> {
    let is_stuck = |thread: &&Seen| {
        !thread.ended && thread.looks >= STUCK_LOOKS && thread.looks_in_kernel == thread.looks
    };
    let stuck: Vec<&Seen> = watched.threads.iter().filter(is_stuck).collect();
    let first = stuck.first()?;
    let others = stuck.len() - 1;
    let title = match others {
        0 => format!("Thread '{}' is stuck inside the kernel", first.name),
        _ => format!("Thread '{}' and {others} more are stuck inside the kernel", first.name),
    };
    let culprit = Culprit::new(CulpritKind::Thread, format!("{} (tid {})", first.name, first.id));
    let seen = format!("in each of {} looks over {window}", first.looks);
    Some(
        Finding::new("stuck-in-kernel", Severity::Warning, Confidence::Medium, title)
            .culprit(culprit)
            .fact(Fact::measured([("threads", Value::count(stuck.len()))]))
            .evidence("Uninterruptible sleep", seen)
            .advice("It waits for a disk, a network file system or a device. Check the mounts and dmesg."),
    )
}

/// A process that somebody stopped looks like one that hangs.
fn stopped(watched: &Watched) -> Option<Finding> {
    let mut living = watched.threads.iter().filter(|thread| !thread.ended).peekable();
    living.peek()?;
    let pid = watched.pid;
    if living.clone().all(|thread| thread.state == TaskState::Stopped) {
        let finding = Finding::new(
            "process-stopped",
            Severity::Critical,
            Confidence::High,
            "The process is stopped by a signal: none of its threads can run",
        );
        return Some(
            finding.evidence("State", "stopped (SIGSTOP)").advice(format!("kill -CONT {pid} lets it go on.")),
        );
    }
    if living.all(|thread| thread.state == TaskState::Traced) {
        let finding = Finding::new(
            "process-stopped",
            Severity::Critical,
            Confidence::High,
            "The process is held by a debugger: none of its threads can run",
        );
        return Some(finding.evidence("State", "stopped by its tracer").advice("Detach the debugger."));
    }
    None
}

fn growth(watched: &Watched, window: &str) -> Option<Finding> {
    let grown = watched.at_end.saturating_sub(watched.at_start);
    if grown < GROWTH || grown * GROWTH_SHARE < watched.at_start {
        return None;
    }
    let mut born: BTreeMap<String, usize> = BTreeMap::new();
    for thread in watched.threads.iter().filter(|thread| thread.born_in_window && !thread.ended) {
        *born.entry(kind_of_work(&thread.name)).or_default() += 1;
    }
    let (name, count) = born.into_iter().max_by_key(|(_, count)| *count)?;
    Some(
        Finding::new(
            "thread-growth",
            Severity::Warning,
            Confidence::Medium,
            format!("The number of threads grows: {grown} more within {window}"),
        )
        .culprit(Culprit::new(CulpritKind::Thread, format!("{count} new threads named '{name}'")))
        .fact(Fact::measured([
            ("at-the-start", Value::count(watched.at_start)),
            ("at-the-end", Value::count(watched.at_end)),
        ]))
        .evidence("Threads", format!("{} at the start, {} at the end", watched.at_start, watched.at_end))
        .advice("Run it again in a minute: a pool that warms up stops growing, a leak does not.")
        .advice("Look at who starts these threads, and at what they wait for."),
    )
}

fn notes(watched: &Watched) -> Vec<String> {
    let mut notes = Vec::new();
    let count = |wanted: fn(&Seen) -> bool| watched.threads.iter().filter(|thread| wanted(thread)).count();
    let (born, ended) = (count(|thread| thread.born_in_window), count(|thread| thread.ended));
    if watched.end != WindowEnd::TargetExited && born + ended > 0 {
        notes.push(format!(
            "Threads that started meanwhile: {born}; that ended: {ended}. Those that lived between two looks were not \
             seen."
        ));
    }
    notes
}
