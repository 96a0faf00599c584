//! From the stacks to an answer.

use std::collections::{BTreeMap, HashMap};

use model::{Body, Cell, Column, Frame, FrameKind, Section, Stack, Stacks, Table, Unit};

use super::tree;
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::inside::{Lines, Seen, Sight, names};
use crate::profiler::Answer;
use crate::ratio::count_words;
use crate::sampling::{Doing, Framework};

/// Rows of the table of places.
const MOST_PLACES: usize = 20;
/// Rows of the list of threads.
const MOST_THREADS: usize = 10_000;

pub(super) fn answer(sight: &Sight, about: About, settings: &Settings) -> Answer {
    let all_shown = settings.choice("idle") == "show";
    let shown: Vec<&Seen> = sight.threads.iter().filter(|thread| all_shown || !thread.is_idle()).collect();
    let framework = Framework::of(settings.choice("framework"));
    let mut sections = Vec::new();
    if !shown.is_empty() {
        sections.push(places(&shown));
        sections.push(Section::new("tree", "Merged stacks", Body::Tree(tree::tree(&shown, framework))));
        sections.push(stacks(&shown, settings.integer("top")));
    }
    if settings.choice("threads") == "show" {
        sections.push(thread_table(sight));
    }
    let notes = notes(sight, &shown);
    about.into_answer(summary(sight), Vec::new(), sections, notes)
}

fn summary(sight: &Sight) -> String {
    let count = |is: &dyn Fn(&Seen) -> bool| sight.threads.iter().filter(|thread| is(thread)).count();
    let all = sight.threads.len();
    let at_work = count(&|thread| !thread.is_idle());
    if at_work == 0 {
        return format!("All {all} threads wait for work: none has code of the program on its stack.");
    }
    let mut doings: BTreeMap<Doing, usize> = BTreeMap::new();
    for thread in sight.threads.iter().filter(|thread| !thread.is_idle()) {
        *doings.entry(thread.why.doing).or_default() += 1;
    }
    let mut doings: Vec<(Doing, usize)> = doings.into_iter().collect();
    doings.sort_by_key(|(doing, count)| (std::cmp::Reverse(*count), *doing));
    let parts: Vec<String> = doings
        .iter()
        .map(|(doing, count)| {
            let words = doing.words();
            let words = if *count == 1 { words.to_owned() } else { plural(words) };
            format!("{} {words}", count_words(*count as u64))
        })
        .collect();
    format!(
        "{} of {} threads have code of the program on their stacks: {}.",
        count_words(at_work as u64),
        count_words(all as u64),
        parts.join(", ")
    )
}

/// `waits for a lock` of one is `wait for a lock` of many.
fn plural(words: &str) -> String {
    let (first, rest) = words.split_once(' ').unwrap_or((words, ""));
    match first {
        "waits" | "runs" | "sleeps" => {
            format!("{} {rest}", first.trim_end_matches('s')).trim_end().to_owned()
        }
        _ => words.to_owned(),
    }
}

/// Where the threads are: the innermost method of the program's own, and what it waits for.
fn places(shown: &[&Seen]) -> Section {
    let mut groups: HashMap<(String, &str), Vec<&Seen>> = HashMap::new();
    for thread in shown {
        let place = place(thread);
        groups.entry((place, thread.why.doing.words())).or_default().push(thread);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(a, few), (b, many)| many.len().cmp(&few.len()).then(a.cmp(b)));
    let mut table = Table::new([
        Column::new("threads", "Threads", Unit::Count),
        Column::new("doing", "Doing", Unit::Text),
        Column::new("in", "In", Unit::Text),
        Column::new("names", "Names", Unit::Text),
    ]);
    for ((place, doing), threads) in groups.iter().take(MOST_PLACES) {
        table.push([
            Cell::from(threads.len() as u64),
            Cell::from(*doing),
            Cell::from(place.as_str()),
            Cell::from(names(threads).join(", ")),
        ]);
    }
    table.omitted_rows = groups.len().saturating_sub(MOST_PLACES) as u64;
    Section::new("places", "Where the threads are", Body::Table(table))
}

/// The program's own method, or else the innermost that has a name.
fn place(thread: &Seen) -> String {
    let innermost =
        || thread.frames.iter().map(AsRef::as_ref).find(|frame: &&Frame| frame.name != blame::UNNAMED);
    match thread.own_frame().or_else(innermost) {
        Some(frame) => blame::place(frame),
        None => "native code".to_owned(),
    }
}

/// Stacks that are the same in full, with file and line, and the threads that have them.
fn stacks(shown: &[&Seen], top: u64) -> Section {
    let mut merged: Vec<(Vec<Frame>, Vec<&Seen>)> = Vec::new();
    let mut index: HashMap<Vec<(String, Option<u32>)>, usize> = HashMap::new();
    for thread in shown {
        let frames = with_native(thread);
        let key = frames.iter().map(|frame| (frame.name.clone(), frame.line)).collect();
        let at = *index.entry(key).or_insert_with(|| {
            merged.push((frames, Vec::new()));
            merged.len() - 1
        });
        if let Some((_, threads)) = merged.get_mut(at) {
            threads.push(thread);
        }
    }
    merged.sort_by_key(|(_, threads)| std::cmp::Reverse(threads.len()));
    let most = usize::try_from(top).unwrap_or(usize::MAX);
    let left_out = merged.len().saturating_sub(most);
    let title = if left_out == 0 {
        "Stacks in full".to_owned()
    } else {
        format!("Stacks in full, the {most} most common ones of {}", merged.len())
    };
    let stacks = merged
        .into_iter()
        .take(most)
        .map(|(frames, threads)| Stack {
            weight: threads.len() as u64,
            threads: threads.iter().map(|thread| format!("{} ({})", thread.name, thread.tid())).collect(),
            frames,
        })
        .collect();
    Section::new("stacks", &title, Body::Stacks(Stacks { unit: Unit::Count, stacks }))
}

/// The frames with what is known of the thread below them: native ones, or the system call that it waits in.
fn with_native(thread: &Seen) -> Vec<Frame> {
    let managed = thread.frames.iter().map(|frame| Frame::clone(frame));
    if !thread.native.is_empty() {
        return thread.native.iter().cloned().chain(managed).collect();
    }
    let call = thread.waits_in.as_ref().map(|call| Frame {
        kind: FrameKind::Kernel,
        name: call.clone(),
        module: None,
        file: None,
        line: None,
    });
    call.into_iter().chain(managed).collect()
}

fn thread_table(sight: &Sight) -> Section {
    let mut table = Table::new([
        Column::new("tid", "TID", Unit::Id),
        Column::new("name", "Name", Unit::Text),
        Column::new("kind", "Kind", Unit::Text),
        Column::new("doing", "Doing", Unit::Text),
        Column::new("in", "In", Unit::Text),
        Column::new("waits-in", "System call", Unit::Text),
        Column::new("cpu", "CPU so far", Unit::Nanoseconds),
    ]);
    for thread in sight.threads.iter().take(MOST_THREADS) {
        let kind = match thread {
            thread if !thread.managed => "native",
            thread if thread.in_pool() => "pool",
            _ => "managed",
        };
        let is_native = thread.frames.is_empty();
        table.push([
            Cell::from(thread.tid()),
            Cell::from(thread.name.as_str()),
            Cell::from(kind),
            if is_native {
                Cell::from(thread.state.map(process_view::TaskState::word))
            } else {
                Cell::from(thread.why.words())
            },
            if is_native { Cell::Missing } else { Cell::from(place(thread)) },
            Cell::from(thread.waits_in.clone()),
            Cell::from(thread.processor.map(|processor| processor.ran_ns)),
        ]);
    }
    table.omitted_rows = sight.threads.len().saturating_sub(MOST_THREADS) as u64;
    Section::new("threads", "All threads", Body::Table(table))
}

fn notes(sight: &Sight, shown: &[&Seen]) -> Vec<String> {
    let mut notes = Vec::new();
    let hidden: Vec<&Seen> = sight.threads.iter().filter(|thread| thread.is_idle()).collect();
    if shown.len() < sight.threads.len() {
        let pool = hidden.iter().filter(|thread| thread.in_pool()).count();
        let native = hidden.iter().filter(|thread| thread.frames.is_empty() && !thread.in_pool()).count();
        notes.push(format!(
            "{} threads are not shown: {pool} of the pool that wait for work, {native} without .NET code, {} of the \
             framework that wait. --set idle=show (drdotnet stack --idle) shows them.",
            hidden.len(),
            hidden.len() - pool - native
        ));
    }
    let Lines { exact, method_start } = sight.lines;
    if method_start > 0 && exact == 0 {
        notes.push("Lines are those where the methods begin.".to_owned());
    } else if method_start > 0 {
        notes.push(format!("{method_start} lines are those where the methods begin; the others are exact."));
    }
    if shown.iter().any(|thread| thread.cut) {
        notes.push("Of the deepest stacks outer frames are missing.".to_owned());
    }
    if !sight.waits_told {
        notes.push(
            "The kernel does not tell this user which system calls threads wait in; root may see them."
                .to_owned(),
        );
    }
    if sight.native_refused {
        notes.push(
            "Native frames are not shown: this user may not read the memory of the process; root may."
                .to_owned(),
        );
    }
    let mut names = sight.threads.iter().map(|thread| thread.name.as_str());
    if sight.threads.len() > 1
        && let Some(first) = names.next()
        && names.all(|name| name == first)
    {
        notes.push(
            "All threads have the same name: this runtime does not give their names to the system, and this user may not \
             read them from its memory; root may."
                .to_owned(),
        );
    }
    notes
}
