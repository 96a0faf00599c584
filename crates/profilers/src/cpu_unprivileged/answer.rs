//! Analysing: from processor time by stack to an answer.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use model::{Body, Cell, Column, Confidence, Cost, Finding, Section, Severity, Table, Unit, format_duration};
use stacks::StackKey;

use super::clocks::Used;
use super::collect::Collected;
use crate::Settings;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::{nanos, percent};
use crate::sampling::{Calls, Framework, MethodId, has_content, pauses_note};
use crate::threads::kind_of_work;

/// A process that uses less than this of one processor, in per cent, or would if others left it to it, is not short of
/// it, whatever it does.
const BUSY_PROCESS: f64 = 50.0;
/// From less than this of a processor, in per cent, nothing is concluded.
const LEAST_USE: f64 = 10.0;
/// Shorter windows prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// A hot method does at least this part of its work itself, or in the framework, in per cent.
const OWN_WORK: f64 = 10.0;
/// And this part together with one other method: one that hands its work to many others is not to blame.
const CONCENTRATED: f64 = 70.0;
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

/// A method of the program's own with the framework code it calls, or else one of the framework.
struct Row {
    method: MethodId,
    /// In it, and in framework code that it calls.
    itself: u64,
    /// In it and in everything that it calls.
    total: u64,
}

pub(super) fn answer(collected: &Collected, settings: &Settings) -> Answer {
    let calls = &collected.calls;
    let cpu = Cpu::of(collected);
    let rows = methods(calls, &cpu);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let framework = Framework::of(settings.choice("framework"));
    let mut sections = vec![method_table(calls, &rows, &cpu, top)];
    sections.push(thread_table(collected, &cpu));
    let tree = calls.tree(&cpu.stacks, Unit::Nanoseconds, framework);
    sections.push(Section::new("calls", "Call tree by CPU time", Body::Tree(tree)));
    sections.retain(has_content);
    let hot = hot(calls, &cpu, &rows, settings);
    Answer {
        summary: summary(collected, &cpu, hot.or(rows.first())),
        findings: hot.and_then(|hot| finding(collected, &cpu, hot)).into_iter().collect(),
        sections,
        notes: notes(collected, &cpu),
        cost: Cost { target_cpu_ns: Some(cpu.ours), ..collected.cost.clone() },
        measured: collected.measured,
        end: collected.end,
    }
}

fn time(nanoseconds: u64) -> String {
    format_duration(Duration::from_nanos(nanoseconds))
}

fn methods(calls: &Calls, cpu: &Cpu) -> Vec<Row> {
    let mut itself: HashMap<MethodId, u64> = HashMap::new();
    for (stack, ns) in &cpu.stacks {
        let named = calls.own_frame(*stack).or_else(|| calls.frames(*stack).next());
        if let Some((method, _)) = named {
            *itself.entry(method).or_default() += ns;
        }
    }
    let mut rows: Vec<Row> = calls
        .spent(&cpu.stacks)
        .into_iter()
        .filter(|(method, _)| itself.contains_key(method) || calls.method(*method).is_some_and(|it| it.own))
        .map(|(method, spent)| Row {
            method,
            itself: itself.get(&method).copied().unwrap_or(0),
            total: spent.total,
        })
        .collect();
    rows.sort_by(|a, b| {
        let name = |row: &Row| calls.method_name(row.method).to_owned();
        (b.itself, b.total, name(a)).cmp(&(a.itself, a.total, name(b)))
    });
    rows
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

fn summary(collected: &Collected, cpu: &Cpu, most: Option<&Row>) -> String {
    let window = format_duration(collected.measured);
    let used = format!(
        "The process used {} of CPU in {window} ({:.0} % of one processor)",
        time(cpu.all),
        percent(cpu.all, nanos(collected.measured))
    );
    if collected.calls.is_nameless() {
        return format!("{used}; the names of its methods did not come.");
    }
    match most {
        Some(row) if cpu.all > 0 => format!(
            "Most CPU: {} ({:.0} %). {used}.",
            collected.calls.method_name(row.method),
            percent(row.total, cpu.all)
        ),
        _ => format!("{used}; none of it was seen in .NET code."),
    }
}

/// The innermost method of the program's own that takes the named share, if it does the work itself.
fn hot<'a>(calls: &Calls, cpu: &Cpu, rows: &'a [Row], settings: &Settings) -> Option<&'a Row> {
    #[expect(clippy::cast_precision_loss, reason = "a per cent between 1 and 100")]
    let least = settings.integer("hot") as f64;
    rows.iter()
        .filter(|row| calls.method(row.method).is_some_and(|method| method.own))
        .filter(|row| percent(row.total, cpu.all) >= least)
        .min_by_key(|row| (row.total, Reverse(row.itself)))
        .filter(|row| percent(row.itself, row.total) >= OWN_WORK)
        .filter(|row| {
            percent(row.itself + heaviest_helper(calls, cpu, row.method), row.total) >= CONCENTRATED
        })
}

/// What the heaviest of the methods took that work for a method.
fn heaviest_helper(calls: &Calls, cpu: &Cpu, hot: MethodId) -> u64 {
    let mut helpers: HashMap<MethodId, u64> = HashMap::new();
    for (stack, ns) in &cpu.stacks {
        if calls.frames(*stack).any(|(method, _)| method == hot)
            && let Some((own, _)) = calls.own_frame(*stack)
            && own != hot
        {
            *helpers.entry(own).or_default() += ns;
        }
    }
    helpers.into_values().max().unwrap_or(0)
}

/// How long its threads were ready to run while others had the processors.
fn waited(collected: &Collected) -> u64 {
    collected.threads.values().map(|thread| thread.used.waited_ns).sum()
}

fn finding(collected: &Collected, cpu: &Cpu, hot: &Row) -> Option<Finding> {
    let calls = &collected.calls;
    let window = nanos(collected.measured);
    let wanted = percent(cpu.all + waited(collected), window);
    if collected.measured < SHORTEST_PROOF || wanted < BUSY_PROCESS || percent(cpu.all, window) < LEAST_USE {
        return None;
    }
    let name = calls.method_name(hot.method);
    let share = percent(hot.total, cpu.all);
    let heaviest = heaviest(calls, cpu, hot.method)?;
    let mut finding = Finding::new(
        "hot-method",
        Severity::Warning,
        Confidence::High,
        format!("{name} uses {share:.0} % of the CPU time"),
    )
    .culprit(blame::method(heaviest.own))
    .evidence("CPU used by it", format!("{} of {}", time(hot.total), time(cpu.all)))
    .evidence("The process", format!("{:.0} % of one processor", percent(cpu.all, window)));
    if let Some(called) = heaviest.calls {
        finding = finding.evidence("It is mostly in", called);
    }
    Some(
        finding
            .advice("Make it cheaper, or call it less often; its callers are in the call tree.")
            .advice("Fine if computing is what the process is for."),
    )
}

/// The frame of a method where most of its time is spent.
struct Heaviest<'a> {
    own: &'a model::Frame,
    /// The framework method that it calls there.
    calls: Option<String>,
}

fn heaviest<'a>(calls: &'a Calls, cpu: &Cpu, hot: MethodId) -> Option<Heaviest<'a>> {
    let mut by_line: HashMap<Option<u32>, (u64, &model::Frame)> = HashMap::new();
    let mut by_callee: BTreeMap<&str, u64> = BTreeMap::new();
    let mut whole = 0;
    for (stack, ns) in &cpu.stacks {
        let mut callee = None;
        for (method, frame) in calls.frames(*stack) {
            if method == hot {
                by_line.entry(frame.line).or_insert((0, frame)).0 += ns;
                whole += ns;
                if let Some(callee) = callee {
                    *by_callee.entry(callee).or_default() += ns;
                }
                break;
            }
            callee = Some(calls.method_name(method));
        }
    }
    let (_, own) = by_line.into_values().max_by_key(|(ns, frame)| (*ns, frame.line))?;
    let callee = by_callee.into_iter().max_by_key(|(_, ns)| *ns);
    let calls = callee.filter(|(_, ns)| percent(*ns, whole) > 50.0).map(|(name, _)| name.to_owned());
    Some(Heaviest { own, calls })
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
    let waited = waited(collected);
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
