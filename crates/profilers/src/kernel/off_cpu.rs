//! The picture of waiting threads.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use facts::LookFacts;
use model::{Body, Cell, Column, Finding, Section, Table, Unit, format_duration};
use stacks::StackKey;

use super::answer::{Case, Said};
use super::cpu::mostly;
use super::places::{paths, places};
use super::view::{Spell, by_stack, by_whole};
use super::waits::{Idle, Judged, Wait, judge};
use crate::hot_method::time;
use crate::ratio::{fraction, percent};
use crate::sampling::{BlockedPool, Doing, Doings, Framework, Kinds, MethodId, Mode, sync_over_async};

/// Shorter windows prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// Less waiting than this part of one thread's time, in per cent, is none to speak of.
const LEAST_WAITING: f64 = 1.0;

pub(super) fn say(case: &Case<'_>) -> Said {
    let waiting = Waiting::of(case);
    let mut sections = vec![waiting.kinds(), waiting.methods()];
    let shown = by_stack(waiting.spells());
    sections.extend(paths(&case.view.calls, &shown, "Longest waits by path through your code"));
    sections.push(waiting.threads());
    sections.push(waiting.tree());
    let mut notes: Vec<String> = waiting.idle_note().into_iter().collect();
    notes.extend(waiting.ready_note());
    let (summary, findings) = (waiting.summary(), waiting.findings());
    Said { summary, findings, sections, notes, facts: LookFacts::default() }
}

/// Waiting threads of a case.
pub(super) struct Waiting<'a> {
    case: &'a Case<'a>,
    judged: Vec<Judged>,
    /// Time of those that are shown.
    shown_ns: u64,
}

fn threads_words(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

/// What a method waited.
struct Row {
    method: Option<MethodId>,
    ns: u64,
    kinds: BTreeMap<Wait, u64>,
}

impl<'a> Waiting<'a> {
    pub(super) fn of(case: &'a Case<'a>) -> Waiting<'a> {
        let mut waiting = Waiting { case, judged: judge(&case.view, case.window), shown_ns: 0 };
        waiting.shown_ns = waiting.shown().map(|judged| judged.spell.ns).sum();
        waiting
    }

    /// Waits that count: those that are not idle, unless idle ones are asked for.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Judged> {
        let all = self.case.shows_idle();
        self.judged.iter().filter(move |judged| all || !judged.wait.is_idle())
    }

    fn spells(&self) -> impl Iterator<Item = &Spell> {
        self.shown().map(|judged| &judged.spell)
    }

    /// Threads on average.
    fn on_average(&self, ns: u64) -> f64 {
        if self.case.window == 0 { 0.0 } else { fraction(ns) / fraction(self.case.window) }
    }

    fn kinds(&self) -> Section {
        let mut kinds: BTreeMap<Wait, (u64, HashMap<StackKey, u64>)> = BTreeMap::new();
        for judged in self.shown() {
            let (ns, stacks) = kinds.entry(judged.wait).or_default();
            *ns += judged.spell.ns;
            if let Some(stack) = judged.spell.stack {
                *stacks.entry(stack).or_default() += judged.spell.ns;
            }
        }
        let mut rows: Vec<_> = kinds.into_iter().collect();
        rows.sort_by_key(|(wait, (ns, _))| (Reverse(*ns), *wait));
        let mut table = Table::new([
            Column::new("wait", "Waiting for", Unit::Text),
            Column::new("share", "Share", Unit::Percent),
            Column::new("time", "Time", Unit::Nanoseconds),
            Column::new("threads", "Threads", Unit::Text),
            Column::new("method", "Mostly in", Unit::Text),
        ]);
        for (wait, (ns, stacks)) in rows {
            table.push([
                Cell::from(wait.words()),
                Cell::from(percent(ns, self.shown_ns)),
                Cell::from(ns),
                Cell::from(format!("{:.1}", self.on_average(ns))),
                Cell::from(mostly(self.case, &stacks)),
            ]);
        }
        Section::new("waits", "Time waiting, by what for; threads on average", Body::Table(table))
    }

    fn rows(&self) -> Vec<Row> {
        let calls = &self.case.view.calls;
        let mut rows: HashMap<Option<MethodId>, Row> = HashMap::new();
        for judged in self.shown() {
            let method =
                judged.spell.stack.and_then(|stack| calls.named_frame(stack)).map(|(method, _)| method);
            let row = rows.entry(method).or_insert_with(|| Row { method, ns: 0, kinds: BTreeMap::new() });
            row.ns += judged.spell.ns;
            *row.kinds.entry(judged.wait).or_default() += judged.spell.ns;
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| (b.ns, self.method_words(a)).cmp(&(a.ns, self.method_words(b))));
        rows
    }

    fn method_words(&self, row: &Row) -> &str {
        row.method.map_or("(no stack)", |method| self.case.view.calls.method_name(method))
    }

    fn methods(&self) -> Section {
        let rows = self.rows();
        let places = places(&self.case.view.calls, &by_stack(self.spells()));
        let mut table = Table::new([
            Column::new("method", "Method", Unit::Text),
            Column::new("place", "Mostly at", Unit::Text),
            Column::new("share", "Share", Unit::Percent),
            Column::new("time", "Time", Unit::Nanoseconds),
            Column::new("wait", "Mostly", Unit::Text),
        ]);
        for row in rows.iter().take(self.case.top()) {
            let wait = row.kinds.iter().max_by_key(|(_, ns)| **ns).map(|(wait, _)| wait.words());
            table.push([
                Cell::from(self.method_words(row)),
                Cell::from(row.method.and_then(|method| places.get(&method).cloned())),
                Cell::from(percent(row.ns, self.shown_ns)),
                Cell::from(row.ns),
                Cell::from(wait),
            ]);
        }
        table.omitted_rows = rows.len().saturating_sub(self.case.top()) as u64;
        Section::new("methods", "Time waiting, by method of your code", Body::Table(table))
    }

    fn threads(&self) -> Section {
        let view = &self.case.view;
        let mut threads: BTreeMap<u64, (u64, u64, HashMap<StackKey, u64>)> = BTreeMap::new();
        for spell in self.spells() {
            let (waited, _, stacks) = threads.entry(spell.thread).or_default();
            *waited += spell.ns;
            if let Some(stack) = spell.stack {
                *stacks.entry(stack).or_default() += spell.ns;
            }
        }
        for spell in &view.ready {
            threads.entry(spell.thread).or_default().1 += spell.ns;
        }
        let mut rows: Vec<_> = threads.into_iter().collect();
        rows.sort_by_key(|(thread, (waited, ready, _))| (Reverse(*waited), Reverse(*ready), *thread));
        let mut table = Table::new([
            Column::new("thread", "Thread", Unit::Text),
            Column::new("tid", "TID", Unit::Id),
            Column::new("waiting", "Waiting", Unit::Nanoseconds),
            Column::new("ready", "Ready", Unit::Nanoseconds),
            Column::new("method", "Mostly in", Unit::Text),
        ]);
        for (thread, (waited, ready, stacks)) in rows.iter().take(self.case.top()) {
            table.push([
                Cell::from(view.thread_words(*thread)),
                Cell::from(*thread),
                Cell::from(*waited),
                Cell::from(*ready),
                Cell::from(mostly(self.case, stacks)),
            ]);
        }
        table.omitted_rows = rows.len().saturating_sub(self.case.top()) as u64;
        let title = "By thread: waiting, and ready without a processor";
        Section::new("threads", title, Body::Table(table))
    }

    fn tree(&self) -> Section {
        let view = &self.case.view;
        let framework = Framework::of(self.case.settings.choice("framework"));
        let tree = match framework {
            Framework::Fold => view.calls.tree(&by_stack(self.spells()), Unit::Nanoseconds, framework),
            Framework::Show => view.whole.tree(&by_whole(self.spells()), Unit::Nanoseconds, framework),
        };
        Section::new("calls", "Call tree by time waiting", Body::Tree(tree))
    }

    fn summary(&self) -> String {
        let window = format_duration(Duration::from_nanos(self.case.window));
        let rows = self.rows();
        let threads: BTreeSet<u64> = self.spells().map(|spell| spell.thread).collect();
        let most = rows.first();
        let Some(most) = most.filter(|_| percent(self.shown_ns, self.case.window) >= LEAST_WAITING) else {
            return format!(
                "Threads hardly waited for anything but work in {window} ({} in all).",
                time(self.shown_ns)
            );
        };
        if most.method.is_none() {
            return format!(
                "{} waited for {} in {window}; of {:.0} % it is not known where.",
                threads_words(threads.len()),
                time(self.shown_ns),
                percent(most.ns, self.shown_ns)
            );
        }
        let wait = most.kinds.iter().max_by_key(|(_, ns)| **ns).map_or("", |(wait, _)| wait.words());
        format!(
            "Most waiting: {} ({:.0} %, {wait}). {} waited for {} in {window}, {:.1} at a time on average.",
            self.method_words(most),
            percent(most.ns, self.shown_ns),
            threads_words(threads.len()),
            time(self.shown_ns),
            self.on_average(self.shown_ns),
        )
    }

    /// Pool threads that block until tasks end.
    pub(super) fn findings(&self) -> Vec<Finding> {
        if Duration::from_nanos(self.case.window) < SHORTEST_PROOF {
            return Vec::new();
        }
        let whole = &self.case.view.whole;
        let mut doings = Doings::new(whole, Kinds::Tell);
        let mut pool = BlockedPool::default();
        // Which of its CPU time was the pool's is not always known; the more it is taken for, the less is blamed.
        pool.add_running(self.case.all);
        for judged in self.judged.iter().filter(|judged| !judged.wait.is_idle()) {
            let doing = if judged.wait == Wait::Task { Doing::WaitsForTask } else { Doing::Outside };
            if let Some(stack) = judged.spell.whole {
                pool.add(whole, &mut doings, stack, doing, judged.spell.ns);
            }
        }
        for spell in &self.case.view.ready {
            if let Some(stack) = spell.whole {
                // One that spins until a task ends, waits for it.
                let waits = doings.of(Some(stack), Mode::Outside) == Doing::WaitsForTask;
                let doing = if waits { Doing::WaitsForTask } else { Doing::Runs };
                pool.add(whole, &mut doings, stack, doing, spell.ns);
            }
        }
        sync_over_async(&pool, self.case.window).into_iter().collect()
    }

    /// What is folded away, in one sentence.
    pub(super) fn idle_note(&self) -> Option<String> {
        if self.case.shows_idle() {
            return None;
        }
        let mut ns = 0;
        // A thread counts for what it did longest.
        let mut threads: BTreeMap<u64, BTreeMap<Idle, u64>> = BTreeMap::new();
        for judged in &self.judged {
            if let Wait::Idle(idle) = judged.wait {
                ns += judged.spell.ns;
                *threads.entry(judged.spell.thread).or_default().entry(idle).or_default() += judged.spell.ns;
            }
        }
        let mut kinds: BTreeMap<Idle, u64> = BTreeMap::new();
        for idle in threads.values().filter_map(|idle| idle.iter().max_by_key(|(_, ns)| **ns)) {
            *kinds.entry(*idle.0).or_default() += 1;
        }
        if kinds.is_empty() {
            return None;
        }
        let parts: Vec<String> =
            kinds.iter().map(|(idle, count)| format!("{count} {}", idle.sentence())).collect();
        Some(format!(
            "Folded away as idle: {} of {} ({}); --set idle=show lists them.",
            time(ns),
            threads_words(threads.len()),
            parts.join(", ")
        ))
    }

    pub(super) fn ready_note(&self) -> Option<String> {
        let ns: u64 = self.case.view.ready.iter().map(|spell| spell.ns).sum();
        (percent(ns, self.case.window) >= 1.0).then(|| {
            format!(
                "Not counted as waiting: {} in which threads were ready to run, but others had the processors.",
                time(ns)
            )
        })
    }
}
