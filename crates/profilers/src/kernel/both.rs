//! Running, ready and waiting threads in one picture.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use facts::LookFacts;
use model::{Body, Cell, Column, Section, Table, Unit};
use stacks::StackKey;

use super::answer::{Case, Said};
use super::cpu::{self, Running, mostly};
use super::off_cpu::Waiting;
use super::places::{paths, places};
use super::view::{Spell, by_stack, by_whole};
use crate::ratio::percent;
use crate::sampling::Framework;

pub(super) fn say(case: &Case<'_>) -> Said {
    let (running, waiting) = (Running::of(case), Waiting::of(case));
    let picture = Wall { case, waiting: &waiting };
    let spells: Vec<Spell> = picture.spells().map(|(_, spell)| *spell).collect();
    let times = by_stack(&spells);
    let mut sections = vec![picture.methods(&times)];
    sections.extend(paths(&case.view.calls, &times, "Most time by path through your code"));
    sections.push(picture.threads());
    sections.push(picture.tree(&spells, &times));
    let mut findings = running.findings();
    findings.extend(waiting.findings());
    let mut notes = cpu::notes(case);
    notes.extend(waiting.idle_note());
    Said { summary: picture.summary(&running), findings, sections, notes, facts: LookFacts::default() }
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Running,
    Ready,
    Waiting,
}

/// Times on each side.
#[derive(Clone, Default)]
struct Sides {
    running: u64,
    ready: u64,
    waiting: u64,
    stacks: HashMap<StackKey, u64>,
}

impl Sides {
    fn add(&mut self, side: Side, spell: &Spell) {
        *(match side {
            Side::Running => &mut self.running,
            Side::Ready => &mut self.ready,
            Side::Waiting => &mut self.waiting,
        }) += spell.ns;
        if let Some(stack) = spell.stack {
            *self.stacks.entry(stack).or_default() += spell.ns;
        }
    }

    fn total(&self) -> u64 {
        self.running + self.ready + self.waiting
    }
}

struct Wall<'a> {
    case: &'a Case<'a>,
    waiting: &'a Waiting<'a>,
}

impl Wall<'_> {
    fn spells(&self) -> impl Iterator<Item = (Side, &Spell)> {
        let view = &self.case.view;
        let running = view.running.iter().map(|spell| (Side::Running, spell));
        let ready = view.ready.iter().map(|spell| (Side::Ready, spell));
        let waiting = self.waiting.shown().map(|judged| (Side::Waiting, &judged.spell));
        running.chain(ready).chain(waiting)
    }

    fn all(&self) -> Sides {
        let mut all = Sides::default();
        self.spells().for_each(|(side, spell)| all.add(side, spell));
        all
    }

    fn columns(first: impl IntoIterator<Item = Column>) -> Table {
        let sides = [
            Column::new("running", "Running", Unit::Nanoseconds),
            Column::new("ready", "Ready", Unit::Nanoseconds),
            Column::new("waiting", "Waiting", Unit::Nanoseconds),
            Column::new("share", "Share", Unit::Percent),
        ];
        Table::new(first.into_iter().chain(sides))
    }

    fn methods(&self, times: &HashMap<StackKey, u64>) -> Section {
        let calls = &self.case.view.calls;
        let mut methods: HashMap<_, Sides> = HashMap::new();
        for (side, spell) in self.spells() {
            let method = spell.stack.and_then(|stack| calls.named_frame(stack)).map(|(method, _)| method);
            methods.entry(method).or_default().add(side, spell);
        }
        let words = |method| match method {
            Some(method) => calls.method_name(method),
            None => "(no stack)",
        };
        let mut rows: Vec<_> = methods.into_iter().collect();
        rows.sort_by_key(|(method, sides)| (Reverse(sides.total()), words(*method)));
        let whole: u64 = rows.iter().map(|(_, sides)| sides.total()).sum();
        let places = places(calls, times);
        let mut table = Wall::columns([
            Column::new("method", "Method", Unit::Text),
            Column::new("place", "Mostly at", Unit::Text),
        ]);
        for (method, sides) in rows.iter().take(self.case.top()) {
            table.push([
                Cell::from(words(*method)),
                Cell::from(method.and_then(|method| places.get(&method).cloned())),
                Cell::from(sides.running),
                Cell::from(sides.ready),
                Cell::from(sides.waiting),
                Cell::from(percent(sides.total(), whole)),
            ]);
        }
        table.omitted_rows = rows.len().saturating_sub(self.case.top()) as u64;
        Section::new("methods", "Time by method, with framework code it calls", Body::Table(table))
    }

    fn threads(&self) -> Section {
        let view = &self.case.view;
        let mut threads: BTreeMap<u64, Sides> = BTreeMap::new();
        for (side, spell) in self.spells() {
            threads.entry(spell.thread).or_default().add(side, spell);
        }
        let mut rows: Vec<_> = threads.into_iter().collect();
        rows.sort_by_key(|(thread, sides)| (Reverse(sides.total()), *thread));
        let whole: u64 = rows.iter().map(|(_, sides)| sides.total()).sum();
        let mut table =
            Wall::columns([Column::new("thread", "Thread", Unit::Text), Column::new("tid", "TID", Unit::Id)]);
        table.columns.push(Column::new("method", "Mostly in", Unit::Text));
        for (thread, sides) in rows.iter().take(self.case.top()) {
            table.push([
                Cell::from(view.thread_words(*thread)),
                Cell::from(*thread),
                Cell::from(sides.running),
                Cell::from(sides.ready),
                Cell::from(sides.waiting),
                Cell::from(percent(sides.total(), whole)),
                Cell::from(mostly(self.case, &sides.stacks)),
            ]);
        }
        table.omitted_rows = rows.len().saturating_sub(self.case.top()) as u64;
        Section::new("threads", "Time by thread", Body::Table(table))
    }

    fn tree(&self, spells: &[Spell], times: &HashMap<StackKey, u64>) -> Section {
        let view = &self.case.view;
        let framework = Framework::of(self.case.settings.choice("framework"));
        let tree = match framework {
            Framework::Fold => view.calls.tree(times, Unit::Nanoseconds, framework),
            Framework::Show => view.whole.tree(&by_whole(spells), Unit::Nanoseconds, framework),
        };
        Section::new("calls", "Call tree by time: running, ready and waiting", Body::Tree(tree))
    }

    fn summary(&self, running: &Running<'_>) -> String {
        let all = self.all();
        format!(
            "{} Of their time, threads ran {:.0} %, were ready without a processor {:.0} % and waited {:.0} %.",
            running.summary(),
            percent(all.running, all.total()),
            percent(all.ready, all.total()),
            percent(all.waiting, all.total())
        )
    }
}
