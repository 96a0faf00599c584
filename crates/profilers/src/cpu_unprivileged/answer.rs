//! Analysing: from processor time by stack to an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use model::{Body, Cell, Column, Cost, Section, Table, Unit};
use stacks::StackKey;

use super::clocks::Used;
use super::collect::Collected;
use crate::Settings;
use crate::hot_method::{CpuTime, Row, Turns, time};
use crate::profiler::Answer;
use crate::ratio::{nanos, percent};
use crate::sampling::{Calls, Framework, has_content, pauses_note};
use crate::threads::kind_of_work;

/// Below this part of the processor time, in per cent, the reader is told that samples do not cover it.
const POOR_COVER: f64 = 80.0;
/// Kinds of threads without .NET code that are listed.
const MOST_OUTSIDE: usize = 6;

/// Processor time by stack of all threads, and what it adds up to.
struct Cpu {
    stacks: HashMap<StackKey, u64>,
    /// Seen in samples.
    seen: u64,
    /// Of threads that run .NET code.
    managed: u64,
    /// Of all threads, without what was used for our sake.
    all: u64,
    /// Used for our sake: the session's begin, the sampler, sending events.
    ours: u64,
}

impl Cpu {
    fn of(collected: &Collected) -> Cpu {
        let mut stacks = HashMap::<StackKey, u64>::new();
        let mut session = 0;
        for (stack, ns) in collected.threads.values().flat_map(|thread| &thread.weighed.stacks) {
            if collected.calls.is_ours(*stack) {
                session += ns;
            } else {
                *stacks.entry(*stack).or_default() += ns;
            }
        }
        let managed: u64 = collected.threads.values().map(|thread| thread.used.ran_ns).sum();
        let (mut outside, mut ours) = (0, session);
        for used in collected.outside.values() {
            *(if is_ours(used) { &mut ours } else { &mut outside }) += used.ran_ns;
        }
        let seen: u64 = stacks.values().sum();
        let managed = managed.saturating_sub(session).max(seen);
        Cpu { stacks, seen, managed, all: managed + outside, ours }
    }
}

/// Whether a thread exists because of us: it samples, or sends events. .NET Core 3.1 does not name it.
fn is_ours(used: &Used) -> bool {
    used.name == ".NET EventPipe"
}

pub(super) fn answer(collected: &Collected, settings: &Settings) -> Answer {
    let calls = &collected.calls;
    let cpu = Cpu::of(collected);
    let time = CpuTime { calls, stacks: &cpu.stacks, all: cpu.all, window: collected.measured };
    let rows = time.rows();
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let framework = Framework::of(settings.choice("framework"));
    let mut sections = vec![method_table(calls, &rows, &cpu, top)];
    sections.push(thread_table(collected, &cpu));
    let tree = calls.tree(&cpu.stacks, Unit::Nanoseconds, framework);
    sections.push(Section::new("calls", "Call tree by CPU time", Body::Tree(tree)));
    sections.retain(has_content);
    let hot = time.hot(&rows, settings.integer("hot"));
    let turns = || {
        collected.threads.values().map(|thread| Turns {
            window_ns: nanos(collected.measured),
            ran_ns: thread.used.ran_ns,
            ready_ns: thread.used.waited_ns,
            stopped_ns: collected.cost.pauses.total_ns,
            rests: None,
        })
    };
    Answer {
        summary: time.summary(hot.or(rows.first())),
        findings: hot.and_then(|hot| time.finding(hot, turns())).into_iter().collect(),
        sections,
        notes: notes(collected, &cpu),
        cost: Cost { target_cpu_ns: Some(cpu.ours), ..collected.cost.clone() },
        measured: collected.measured,
        end: collected.end,
        ..Answer::default()
    }
}

fn method_table(calls: &Calls, rows: &[Row], cpu: &Cpu, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("method", "Method", Unit::Text),
        Column::new("self-percent", "Self", Unit::Percent),
        Column::new("self", "Self time", Unit::Nanoseconds),
        Column::new("total-percent", "Total", Unit::Percent),
        Column::new("total", "Total time", Unit::Nanoseconds),
    ]);
    for row in rows.iter().take(top) {
        table.push([
            Cell::from(calls.method_name(row.method)),
            Cell::from(percent(row.itself, cpu.all)),
            Cell::from(row.itself),
            Cell::from(percent(row.total, cpu.all)),
            Cell::from(row.total),
        ]);
    }
    table.omitted_rows = rows.len().saturating_sub(top) as u64;
    Section::new("methods", "CPU time by method; self includes framework code it calls", Body::Table(table))
}

/// Where the process's time went by kind of thread: those without .NET code have no stacks.
fn thread_table(collected: &Collected, cpu: &Cpu) -> Section {
    let mut outside: BTreeMap<String, u64> = BTreeMap::new();
    for used in collected.outside.values().filter(|used| used.ran_ns > 0 && !is_ours(used)) {
        *outside.entry(kind_of_work(&used.name)).or_default() += used.ran_ns;
    }
    let mut outside: Vec<(String, u64)> = outside.into_iter().collect();
    outside.sort_by_key(|(name, ns)| (Reverse(*ns), name.clone()));
    let mut table = Table::new([
        Column::new("threads", "Threads", Unit::Text),
        Column::new("share", "Share", Unit::Percent),
        Column::new("cpu", "CPU time", Unit::Nanoseconds),
    ]);
    let mut row = |name: String, ns: u64| {
        table.push([Cell::from(name), Cell::from(percent(ns, cpu.all)), Cell::from(ns)]);
    };
    row("running .NET code, seen in samples".to_owned(), cpu.seen);
    row("running .NET code, between samples".to_owned(), cpu.managed.saturating_sub(cpu.seen));
    for (name, ns) in outside.iter().take(MOST_OUTSIDE) {
        row(format!("not managed: {name}"), *ns);
    }
    table.omitted_rows = outside.len().saturating_sub(MOST_OUTSIDE) as u64;
    Section::new("threads", "CPU time of the process", Body::Table(table))
}

fn notes(collected: &Collected, cpu: &Cpu) -> Vec<String> {
    let mut notes = collected.notes.clone();
    let window = nanos(collected.measured);
    if cpu.managed > 0 && percent(cpu.seen, cpu.managed) < POOR_COVER {
        notes.push(format!(
            "Samples cover {:.0} % of the CPU time of .NET threads; the rest was used in moments between them.",
            percent(cpu.seen, cpu.managed)
        ));
    }
    let waited: u64 = collected.threads.values().map(|thread| thread.used.waited_ns).sum();
    if waited > cpu.managed {
        notes.push(format!(
            "Its threads were ready to run for {} more, but others had the processors.",
            time(waited)
        ));
    }
    let pauses = collected.cost.pauses;
    if pauses.count > 0 {
        notes.push(pauses_note(pauses.total_ns, window));
    }
    if collected.samples == 0 {
        notes.push("No sample came: no thread ran .NET code.".to_owned());
    }
    notes.push(format!(
        "{} samples, weighed by {} readings of the threads' CPU time.",
        collected.samples, collected.readings
    ));
    notes
}
