//! The picture of running threads.

use std::collections::BTreeMap;
use std::collections::HashMap;

use facts::LookFacts;
use model::{Body, Cell, Column, Finding, Section, Table, ThreadId, Unit};
use perf_sampler::KernelSide;
use stacks::StackKey;

use super::answer::{Case, Said};
use super::kinds::{Kind, kind};
use super::places::{heaviest_paths, path_section, places};
use super::quality::measured;
use super::view::{by_stack, by_whole};
use crate::hot_method::{CpuTime, Row, Turns, time};
use crate::ratio::{nanos, percent};
use crate::sampling::Framework;

pub(super) fn say(case: &Case<'_>) -> Said {
    let running = Running::of(case);
    let mut sections = vec![running.methods()];
    let hottest = heaviest_paths(&case.view.calls, &running.stacks);
    sections.extend(path_section(hottest.clone(), "Hottest paths through your code"));
    sections.push(kinds(case));
    sections.push(threads(case));
    sections.push(running.tree());
    let facts = LookFacts { running: hottest, ..LookFacts::default() };
    Said { summary: running.summary(), findings: running.findings(), sections, notes: notes(case), facts }
}

/// Running threads of a case.
pub(super) struct Running<'a> {
    case: &'a Case<'a>,
    pub(super) stacks: HashMap<StackKey, u64>,
    rows: Vec<Row>,
}

impl<'a> Running<'a> {
    pub(super) fn of(case: &'a Case<'a>) -> Running<'a> {
        let stacks = by_stack(&case.view.running);
        let mut running = Running { case, stacks, rows: Vec::new() };
        running.rows = running.time().rows();
        running
    }

    fn time(&self) -> CpuTime<'_> {
        let case = self.case;
        CpuTime {
            calls: &case.view.calls,
            stacks: &self.stacks,
            all: case.all,
            window: measured(case.recorded),
        }
    }

    fn hot(&self) -> Option<&Row> {
        self.time().hot(&self.rows, self.case.settings.integer("hot"))
    }

    pub(super) fn summary(&self) -> String {
        self.time().summary(self.hot().or(self.rows.first()))
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let turns = self.case.process.threads.values().map(|clock| Turns {
            window_ns: nanos(clock.looked),
            ran_ns: nanos(clock.ran),
            ready_ns: nanos(clock.ready),
            stopped_ns: 0,
            rests: clock.rests,
        });
        self.hot().and_then(|hot| self.time().finding(hot, turns)).into_iter().collect()
    }

    fn methods(&self) -> Section {
        let (calls, all, top) = (&self.case.view.calls, self.case.all, self.case.top());
        let places = places(calls, &self.stacks);
        let mut table = Table::new([
            Column::new("method", "Method", Unit::Text),
            Column::new("self-percent", "Self", Unit::Percent),
            Column::new("alone-percent", "Alone", Unit::Percent),
            Column::new("total-percent", "Total", Unit::Percent),
            Column::new("total", "Total time", Unit::Nanoseconds),
            Column::new("place", "Mostly at", Unit::Text),
        ]);
        for row in self.rows.iter().take(top) {
            table.push([
                Cell::from(calls.method_name(row.method)),
                Cell::from(percent(row.itself, all)),
                Cell::from(percent(row.alone, all)),
                Cell::from(percent(row.total, all)),
                Cell::from(row.total),
                Cell::from(places.get(&row.method).cloned()),
            ]);
        }
        table.omitted_rows = self.rows.len().saturating_sub(top) as u64;
        let title = "CPU time by method; self includes framework, runtime and kernel code it calls";
        Section::new("methods", title, Body::Table(table))
    }

    pub(super) fn tree(&self) -> Section {
        let view = &self.case.view;
        let framework = Framework::of(self.case.settings.choice("framework"));
        let tree = match framework {
            Framework::Fold => view.calls.tree(&self.stacks, Unit::Nanoseconds, framework),
            Framework::Show => view.whole.tree(&by_whole(&view.running), Unit::Nanoseconds, framework),
        };
        Section::new("calls", "Call tree by CPU time", Body::Tree(tree))
    }
}

/// CPU time by the kind of code that ran.
fn kinds(case: &Case<'_>) -> Section {
    let view = &case.view;
    let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
    let mut known: HashMap<(StackKey, u64), Kind> = HashMap::new();
    let mut unseen = case.all;
    for spell in &view.running {
        let Some(stack) = spell.whole else { continue };
        let kind = *known.entry((stack, spell.thread)).or_insert_with(|| {
            kind(view.whole.frames(stack).map(|(_, frame)| frame), view.thread_name(spell.thread))
        });
        *kinds.entry(kind).or_default() += spell.ns;
        unseen = unseen.saturating_sub(spell.ns);
    }
    let mut table = Table::new([
        Column::new("kind", "Code", Unit::Text),
        Column::new("share", "Share", Unit::Percent),
        Column::new("cpu", "CPU time", Unit::Nanoseconds),
    ]);
    // Without symbols nobody can tell the collector's functions from others of the runtime.
    let merged = runtime_is_nameless(case) && !kinds.contains_key(&Kind::Collector);
    for (kind, ns) in kinds {
        let words =
            if merged && kind == Kind::Runtime { "runtime with garbage collector" } else { kind.words() };
        table.push([Cell::from(words), Cell::from(percent(ns, case.all)), Cell::from(ns)]);
    }
    if case.recorded.granted.kernel == KernelSide::Hidden && unseen > 0 {
        table.push([
            Cell::from("not seen: in the kernel"),
            Cell::from(percent(unseen, case.all)),
            Cell::from(unseen),
        ]);
    }
    Section::new("kinds", "CPU time by kind of code", Body::Table(table))
}

fn runtime_is_nameless(case: &Case<'_>) -> bool {
    case.process.profiles.without_symbols.iter().any(|(path, _)| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libcoreclr"))
    })
}

/// CPU time by thread, by the scheduler's own count where it is known.
fn threads(case: &Case<'_>) -> Section {
    let view = &case.view;
    let mut threads: BTreeMap<u64, (u64, HashMap<StackKey, u64>)> = BTreeMap::new();
    for spell in &view.running {
        let (ns, stacks) = threads.entry(spell.thread).or_default();
        *ns += spell.ns;
        if let Some(stack) = spell.stack {
            *stacks.entry(stack).or_default() += spell.ns;
        }
    }
    let ran = |thread: u64, sampled: u64| {
        let id = u32::try_from(thread).ok().map(ThreadId);
        let clock = id.and_then(|id| case.process.threads.get(&id));
        clock.map(|clock| nanos(clock.ran)).filter(|ran| *ran > 0).unwrap_or(sampled)
    };
    let mut rows: Vec<(u64, u64, HashMap<StackKey, u64>)> =
        threads.into_iter().map(|(thread, (ns, stacks))| (thread, ran(thread, ns), stacks)).collect();
    rows.sort_by_key(|(thread, ns, _)| (std::cmp::Reverse(*ns), *thread));
    let mut table = Table::new([
        Column::new("thread", "Thread", Unit::Text),
        Column::new("tid", "TID", Unit::Id),
        Column::new("busy", "Busy", Unit::Percent),
        Column::new("cpu", "CPU time", Unit::Nanoseconds),
        Column::new("method", "Mostly in", Unit::Text),
    ]);
    for (thread, ns, stacks) in rows.iter().take(case.top()) {
        table.push([
            Cell::from(view.thread_words(*thread)),
            Cell::from(*thread),
            Cell::from(percent(*ns, case.window)),
            Cell::from(*ns),
            Cell::from(mostly(case, stacks)),
        ]);
    }
    table.omitted_rows = rows.len().saturating_sub(case.top()) as u64;
    Section::new("threads", "CPU time by thread", Body::Table(table))
}

/// The method that most time of some stacks is spent in.
pub(super) fn mostly(case: &Case<'_>, stacks: &HashMap<StackKey, u64>) -> Option<String> {
    let calls = &case.view.calls;
    let mut methods: BTreeMap<&str, u64> = BTreeMap::new();
    for (stack, ns) in stacks {
        if let Some((method, _)) = calls.named_frame(*stack) {
            *methods.entry(calls.method_name(method)).or_default() += ns;
        }
    }
    methods
        .into_iter()
        .max_by_key(|(name, ns)| (*ns, std::cmp::Reverse(*name)))
        .map(|(name, _)| name.to_owned())
}

/// What is to be said of running threads.
pub(super) fn notes(case: &Case<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let ready: u64 = case.process.threads.values().map(|clock| nanos(clock.ready)).sum();
    if ready > case.all && case.all > 0 {
        notes.push(format!(
            "Its threads were ready to run for {} more, but others had the processors.",
            time(ready)
        ));
    }
    let samples = case.process.profiles.on_cpu.samples.len();
    if samples < FEW_SAMPLES {
        notes.push(format!(
            "Only {samples} samples: shares are rough. Look longer, or take more (--set rate=999)."
        ));
    }
    notes
}

/// Below this many samples, shares are rough.
const FEW_SAMPLES: usize = 100;
