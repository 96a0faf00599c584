//! From what is wrong to a report.

use std::collections::BTreeSet;

use facts::{LookFacts, StillThread};
use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Section, Severity, Stack, Stacks, Table, ThreadId,
    Unit, Value, format_duration,
};

use super::judge::{BlockedPool, Deadlock, Held, Letters, Orphan, Verdict};
use super::watch::{OwnersSought, Watched};
use super::words;
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::inside::Seen;
use crate::profiler::Answer;
use crate::ratio::count_words;

pub(super) fn answer(watched: &Watched, verdict: &Verdict, about: About, settings: &Settings) -> Answer {
    let mut letters = Letters::default();
    let mut report =
        Parts { watched, letters: &mut letters, findings: Vec::new(), rows: Vec::new(), locks: Vec::new() };
    for found in &verdict.deadlocks {
        report.deadlock(found);
    }
    for found in &verdict.orphans {
        report.orphan(found);
    }
    for found in &verdict.held {
        report.held(found);
    }
    let Parts { mut findings, rows, locks, .. } = report;
    let shown: Vec<ThreadId> = rows.iter().map(|row| row.thread).collect();
    findings.extend(verdict.pool.as_ref().and_then(|pool| blocked_pool(watched, pool)));
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let mut sections = Vec::new();
    sections.extend(table(rows, top));
    sections.extend(lock_table(locks));
    let pool = verdict.pool.as_ref().and_then(|pool| pool_stack(watched, pool));
    sections.extend(stacks(watched, &shown, pool, top));
    let notes = notes(watched, verdict);
    let still = shown.iter().filter_map(|thread| still_thread(watched, *thread)).collect();
    let facts = LookFacts { still, ..LookFacts::default() };
    Answer { facts, ..about.into_answer(summary(watched, verdict), findings, sections, notes) }
}

fn still_thread(watched: &Watched, thread: ThreadId) -> Option<StillThread> {
    let seen = watched.named(thread)?;
    Some(StillThread { id: thread.0, frames: seen.frames.iter().map(|frame| Frame::clone(frame)).collect() })
}

/// A thread of the table.
struct Row {
    thread: ThreadId,
    cells: Vec<Cell>,
}

/// The report in the making.
struct Parts<'a> {
    watched: &'a Watched,
    letters: &'a mut Letters,
    findings: Vec<Finding>,
    rows: Vec<Row>,
    locks: Vec<Vec<Cell>>,
}

impl Parts<'_> {
    fn deadlock(&mut self, found: &Deadlock) {
        let ring = &found.cycle.threads;
        let count = ring.len();
        let title = match found.cycle.behind.len() {
            0 => format!("Deadlock: {count} threads wait for each other's locks"),
            1 => format!("Deadlock: {count} threads wait for each other's locks, 1 more waits behind them"),
            more => {
                format!("Deadlock: {count} threads wait for each other's locks, {more} more wait behind them")
            }
        };
        let severity = if found.give_up.is_empty() { Severity::Critical } else { Severity::Warning };
        let mut finding = Finding::new("deadlock", severity, found.confidence, title).fact(Fact::measured([
            ("threads", Value::count(count)),
            ("behind", Value::count(found.cycle.behind.len())),
            ("window", Value::time(self.watched.apart)),
        ]));
        // The first lock is the one that the first thread holds: the last one waits for it.
        let before = ring.iter().cycle().skip(count - 1);
        let turns: Vec<(ThreadId, ThreadId)> = ring.iter().copied().zip(before.copied()).collect();
        for (thread, waits_for_its) in &turns {
            let holds = self.letter(*waits_for_its);
            let wants = self.letter(*thread);
            let next = ring.iter().cycle().skip_while(|other| *other != thread).nth(1).copied();
            let holder = next.map(|next| words::thread(self.watched, next)).unwrap_or_default();
            let place = words::place(self.watched, *thread);
            let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
            finding = finding.evidence(
                words::thread(self.watched, *thread),
                format!("holds {holds} and waits for {wants}, held by {holder},{place}"),
            );
            self.row(*thread, Some(holds));
        }
        for (thread, waits_for_its) in &turns {
            finding = self.lock(finding, *waits_for_its, Some(*thread));
        }
        finding = finding.evidence("Not moved for", self.still(ring));
        if !found.give_up.is_empty() {
            let who = words::threads(self.watched, &found.give_up);
            finding =
                finding.evidence("Has a time limit", format!("{who}: gives up by itself after a while"));
        }
        let finding = self.about(finding, &[ring.as_slice(), found.cycle.behind.as_slice()].concat());
        let finding = self.culprit(finding, ring.first().copied());
        self.findings.push(
            finding
                .advice("Take these locks in the same order everywhere: sort the objects by an id before locking both.")
                .advice("Or hold one lock only: copy what is needed, leave the first, then enter the second.")
                .advice("Nothing but a restart frees the threads."),
        );
        for thread in &found.cycle.behind {
            self.row(*thread, None);
        }
    }

    fn orphan(&mut self, found: &Orphan) {
        let count = found.waiting.len() + found.behind.len();
        let title = format!(
            "{} wait for a lock whose owner has ended without giving it back",
            if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
        );
        let owner = match found.owner.0 {
            0 => "a thread that has ended; the runtime does not keep its number".to_owned(),
            number => format!("thread {number}, which has ended"),
        };
        let finding = Finding::new("orphaned-lock", Severity::Critical, found.confidence, title)
            .fact(Fact::measured([("waiting", Value::count(count))]));
        let finding = self.lock_of(finding, &found.waiting, None).evidence("Held by", owner);
        let finding = finding
            .evidence("Waiting", words::threads(self.watched, &found.waiting))
            .evidence("Not moved for", self.still(&found.waiting));
        let finding = self.about(finding, &found.waiting);
        let finding = self.culprit(finding, found.waiting.first().copied());
        self.findings.push(
            finding
                .advice("Look for Monitor.Enter without try and finally, in code that enters this lock: lock (...) leaves it on every path.")
                .advice("An exception, or the end of the thread, between Enter and Exit leaves the lock closed for good.")
                .advice("Nothing but a restart frees the threads."),
        );
        for thread in found.waiting.iter().chain(&found.behind) {
            self.row(*thread, None);
        }
    }

    fn held(&mut self, found: &Held) {
        let count = found.waiting.len() + found.behind.len();
        let waits = if count == 1 { "1 thread waits".to_owned() } else { format!("{count} threads wait") };
        let owner = words::thread(self.watched, found.owner);
        let title = format!("{waits} for a lock that {owner} holds while it waits for something else");
        let seen = self.watched.named(found.owner);
        let why = seen.map(|seen| seen.why.words()).unwrap_or_default();
        let place = words::place(self.watched, found.owner).map(|place| format!(", in {place}"));
        let limit = if found.for_ever { ", without a time limit" } else { "" };
        let finding = Finding::new("lock-held-in-wait", Severity::Warning, found.confidence, title)
            .fact(Fact::measured([("waiting", Value::count(count))]));
        let finding = self
            .lock_of(finding, &found.waiting, Some(found.owner))
            .evidence("Its holder", format!("{why}{limit}{}", place.unwrap_or_default()))
            .evidence("Waiting", words::threads(self.watched, &found.waiting))
            .evidence("Not moved for", self.still(&[&[found.owner], found.waiting.as_slice()].concat()));
        let finding = self.about(finding, &[&[found.owner], found.waiting.as_slice()].concat());
        let finding = self.culprit(finding, Some(found.owner));
        self.findings.push(
            finding
                .advice("Find out who should end the holder's wait, and whether that needs the same lock.")
                .advice("Do not wait for events, tasks or other threads while holding a lock; at least wait with a time limit."),
        );
        let holds = found.waiting.first().map(|thread| self.letter(*thread));
        self.row(found.owner, holds);
        for thread in found.waiting.iter().chain(&found.behind) {
            self.row(*thread, None);
        }
    }

    fn letter(&mut self, thread: ThreadId) -> String {
        self.letters.of(self.watched, thread).unwrap_or_else(|| "a lock".to_owned())
    }

    fn lock_of(&mut self, finding: Finding, waiting: &[ThreadId], holder: Option<ThreadId>) -> Finding {
        match waiting.first() {
            Some(first) => self.lock(finding, *first, holder),
            None => finding,
        }
    }

    /// What is known of the lock that a thread waits for, as evidence and as a row of the table of locks.
    fn lock(&mut self, finding: Finding, waits: ThreadId, holder: Option<ThreadId>) -> Finding {
        let letter = self.letter(waits);
        let class = self.watched.locks.get(&waits).and_then(|lock| lock.class.clone());
        let fields = words::fields(self.watched, waits);
        let text = match (&class, &fields) {
            (Some(class), Some(fields)) => format!("{class}, field {fields}"),
            (Some(class), None) => class.clone(),
            (None, Some(fields)) => format!("field {fields}"),
            (None, None) => "of a type that could not be found out".to_owned(),
        };
        let lock = self.watched.after.waits.get(&waits).map(|wait| wait.lock);
        let waiting = self.watched.after.waits.values().filter(|wait| Some(wait.lock) == lock).count();
        self.locks.push(vec![
            Cell::from(letter.as_str()),
            Cell::from(class),
            Cell::from(fields),
            Cell::from(
                holder.map_or("a thread that has ended".to_owned(), |id| words::thread(self.watched, id)),
            ),
            Cell::from(waiting as u64),
        ]);
        finding.evidence(format!("Lock {letter}"), text)
    }

    /// The threads that a finding is about, where they are and what their locks are.
    fn about(&self, finding: Finding, threads: &[ThreadId]) -> Finding {
        let own = threads.iter().filter_map(|thread| self.watched.named(*thread)?.own_frame());
        let locks = threads.iter().filter_map(|thread| self.watched.locks.get(thread));
        let locks = locks.flat_map(|lock| lock.class.iter().chain(&lock.fields));
        let names: BTreeSet<String> = own.map(|frame| frame.name.clone()).chain(locks.cloned()).collect();
        let ids = threads.iter().map(|thread| thread.0);
        finding.fact(Fact::threads(ids)).fact(Fact::names(names))
    }

    /// The program's method that a thread is in.
    fn culprit(&self, finding: Finding, thread: Option<ThreadId>) -> Finding {
        let frame = thread.and_then(|thread| self.watched.named(thread)).and_then(|seen| seen.own_frame());
        match frame {
            Some(frame) => finding.culprit(blame::method(frame)),
            None => finding,
        }
    }

    /// The one that moved last counts for all.
    fn still(&self, threads: &[ThreadId]) -> String {
        let last =
            threads.iter().min_by_key(|thread| self.watched.still.get(thread).copied().unwrap_or_default());
        last.map(|thread| words::still(self.watched, *thread)).unwrap_or_default()
    }

    fn row(&mut self, thread: ThreadId, holds: Option<String>) {
        if self.rows.iter().any(|row| row.thread == thread) {
            return;
        }
        let wants = self.watched.wants_lock(thread).then(|| self.letter(thread));
        let doing = || self.watched.named(thread).map(|seen| seen.why.words());
        self.rows.push(Row {
            thread,
            cells: vec![
                Cell::from(words::thread(self.watched, thread)),
                Cell::from(holds),
                Cell::from(wants.or_else(doing)),
                Cell::from(words::place(self.watched, thread)),
                Cell::from(words::still(self.watched, thread)),
            ],
        });
    }
}

fn lock_table(rows: Vec<Vec<Cell>>) -> Option<Section> {
    let mut table = Table::new([
        Column::new("lock", "Lock", Unit::Text),
        Column::new("type", "Type", Unit::Text),
        Column::new("field", "Field", Unit::Text),
        Column::new("held-by", "Held by", Unit::Text),
        Column::new("waiting", "Waiting", Unit::Count),
    ]);
    for row in rows {
        table.push(row);
    }
    (!table.rows.is_empty()).then(|| Section::new("locks", "Locks", Body::Table(table)))
}

fn table(rows: Vec<Row>, top: usize) -> Option<Section> {
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::new([
        Column::new("thread", "Thread", Unit::Text),
        Column::new("holds", "Holds", Unit::Text),
        Column::new("waits-for", "Waits for", Unit::Text),
        Column::new("in", "In", Unit::Text),
        Column::new("still", "Not moved for", Unit::Text),
    ]);
    table.omitted_rows = u64::try_from(rows.len().saturating_sub(top)).unwrap_or(0);
    for row in rows.into_iter().take(top) {
        table.push(row.cells);
    }
    Some(Section::new("waits", "Who waits for whom", Body::Table(table)))
}

/// The stacks of the threads of the table, in its order.
fn stacks(watched: &Watched, threads: &[ThreadId], pool: Option<Stack>, top: usize) -> Option<Section> {
    let stack = |thread: &ThreadId| {
        let seen = watched.named(*thread)?;
        let frames: Vec<Frame> = seen.frames.iter().map(|frame| Frame::clone(frame)).collect();
        (!frames.is_empty()).then(|| Stack {
            weight: 1,
            threads: vec![words::thread(watched, *thread)],
            frames,
        })
    };
    let stacks: Vec<Stack> = threads.iter().filter_map(stack).chain(pool).take(top).collect();
    if stacks.is_empty() {
        return None;
    }
    Some(Section::new("stacks", "Their stacks", Body::Stacks(Stacks { unit: Unit::Count, stacks })))
}

/// One of the pool's stacks, for all that block on tasks.
fn pool_stack(watched: &Watched, pool: &BlockedPool) -> Option<Stack> {
    let first = pool.blocked.iter().find_map(|thread| watched.named(*thread))?;
    Some(Stack {
        weight: pool.blocked.len() as u64,
        threads: vec![words::threads(watched, &pool.blocked)],
        frames: first.frames.iter().map(|frame| Frame::clone(frame)).collect(),
    })
}

fn blocked_pool(watched: &Watched, pool: &BlockedPool) -> Option<Finding> {
    let mut places: Vec<(&Frame, usize)> = Vec::new();
    for seen in pool.blocked.iter().filter_map(|thread| watched.named(*thread)) {
        let Some(frame) = seen.own_frame() else { continue };
        match places.iter_mut().find(|(known, _)| known.name == frame.name) {
            Some((_, count)) => *count += 1,
            None => places.push((frame, 1)),
        }
    }
    let (frame, _) = places.into_iter().max_by_key(|(_, count)| *count)?;
    let blocked = count_words(pool.blocked.len() as u64);
    let (severity, confidence, title) = if pool.free_known {
        let title = format!("{blocked} pool threads block on tasks, and no pool thread is free to run them");
        (Severity::Critical, Confidence::Medium, title)
    } else {
        (Severity::Warning, Confidence::Low, format!("{blocked} pool threads block on tasks"))
    };
    let finding = Finding::new("sync-over-async", severity, confidence, title).fact(Fact::measured([
        ("blocked", Value::count(pool.blocked.len())),
        ("at-work", Value::count(pool.at_work)),
    ]));
    let free = if pool.free_known { "none" } else { "not told by this runtime" };
    Some(
        finding
            .culprit(blame::method(frame))
            .evidence(
                "Blocked on tasks",
                format!("{blocked} of {} pool threads at work", count_words(pool.at_work as u64)),
            )
            .evidence("Free pool threads", free)
            .evidence("Not moved for", format!("at least {}", format_duration(watched.apart)))
            .advice("Await the task instead of Wait(), Result or GetAwaiter().GetResult(), up to the caller.")
            .advice("drdotnet run thread-pool shows how much work is waiting.")
            .advice("ThreadPool.SetMinThreads with a higher number gives time, it does not heal."),
    )
}

fn summary(watched: &Watched, verdict: &Verdict) -> String {
    let window = format_duration(watched.apart);
    if verdict.is_healthy() {
        let all = count_words(watched.after.threads.len() as u64);
        let contended = match verdict.contended {
            0 => "none waits for a lock that stands still".to_owned(),
            1 => "1 waits for a lock, and its owner is at work".to_owned(),
            count => format!("{count} wait for locks, and their owners are at work"),
        };
        return format!("No deadlock: {all} threads, looked at twice, {window} apart; {contended}.");
    }
    let mut parts = Vec::new();
    for found in &verdict.deadlocks {
        let count = found.cycle.threads.len();
        parts.push(format!("{count} threads wait for each other's locks"));
    }
    let several = |count: usize| if count == 1 { "1 lock".to_owned() } else { format!("{count} locks") };
    if !verdict.orphans.is_empty() {
        parts.push(format!("the owner of {} has ended", several(verdict.orphans.len())));
    }
    if !verdict.held.is_empty() {
        parts.push(format!("the owner of {} waits for something else", several(verdict.held.len())));
    }
    if let Some(pool) = &verdict.pool {
        let free = if pool.free_known { ", none is free" } else { "" };
        parts.push(format!("{} pool threads block on tasks{free}", pool.blocked.len()));
    }
    let text = parts.join("; ");
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}. Nothing of it moved within {window}.", letters.as_str())
}

fn managed(watched: &Watched) -> impl Iterator<Item = &Seen> {
    watched.sight.threads.iter().filter(|seen| seen.managed)
}

fn notes(watched: &Watched, verdict: &Verdict) -> Vec<String> {
    let mut notes = Vec::new();
    let has_locks = !verdict.deadlocks.is_empty() || !verdict.orphans.is_empty() || !verdict.held.is_empty();
    match watched.owners {
        OwnersSought::Nearby if has_locks => notes.push(
            "Fields that refer to a lock were searched in what is on the stacks only, since this runtime does not show its heap \
             to an agent; .NET 9 and newer do."
                .to_owned(),
        ),
        OwnersSought::PartOfHeap => notes.push(
            "The heap is large, and only a part of it was searched for fields that refer to the locks.".to_owned(),
        ),
        _ => {}
    }
    if has_locks && !watched.still.is_empty() {
        notes.push(
            "How long a thread has not moved is what the kernel's scheduler says; it may be off by some seconds in a month."
                .to_owned(),
        );
    }
    let names: BTreeSet<&str> = managed(watched).map(|seen| seen.name.as_str()).collect();
    if has_locks && names.len() == 1 && managed(watched).nth(1).is_some() {
        notes.push(
            "All threads have the same name: this runtime does not give the names of threads to the system."
                .to_owned(),
        );
    }
    if watched.misses_lock_objects {
        notes.push(
            "Only lock statements and Monitor were looked at: in this version of .NET the waits for System.Threading.Lock were \
             not found."
                .to_owned(),
        );
    }
    if watched.after.threads.values().any(|seen| seen.rests.is_none()) {
        notes.push("The kernel did not tell of all threads whether they ran between the looks.".to_owned());
    }
    notes
}
