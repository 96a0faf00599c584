//! From two looks to an answer.

use std::time::Duration;

use model::{
    Body, Cell, Column, Confidence, Fact, Finding, Frame, Node, Section, Severity, Table, Tree, Unit, Value,
    format_duration,
};
use task_graph::Leaf;

use super::judge::{Branch, Group, Seen};
use crate::Settings;
use crate::about::About;
use crate::blame;
use crate::profiler::Answer;
use crate::ratio::count_words;

/// Looks that are closer together prove nothing.
const SHORTEST_PROOF: Duration = Duration::from_millis(900);
/// Methods of a chain that evidence names.
const MOST_STEPS: usize = 6;
/// Most places of the tree that are shown.
const MOST_PLACES: usize = 400;

pub(super) fn answer(seen: &Seen, about: About, settings: &Settings) -> Answer {
    let least = usize::try_from(settings.integer("least")).unwrap_or(usize::MAX);
    let top = usize::try_from(settings.integer("top")).unwrap_or(usize::MAX);
    let suspects = seen.suspects();
    let mut findings = Vec::new();
    if seen.window >= SHORTEST_PROOF {
        findings.extend(seen.circles.iter().map(|circle| circle_finding(seen, circle)));
        findings.extend(suspects.iter().filter_map(|group| finding(seen, group, least)));
    }
    let mut sections = Vec::new();
    if !seen.chains.is_empty() {
        sections.push(place_table(seen, top));
    }
    if !seen.branches.is_empty() {
        sections.push(tree(&seen.branches, top));
    }
    let notes = notes(seen, least, &findings);
    about.into_answer(summary(seen), findings, sections, notes)
}

fn summary(seen: &Seen) -> String {
    let (_, now) = seen.methods;
    if now == 0 {
        return "No async method is pending.".to_owned();
    }
    let still: usize = seen.chains.iter().map(|chain| chain.still).sum();
    let waiting: usize = seen.chains.iter().map(|chain| chain.now).sum();
    let window = format_duration(seen.window);
    let most = seen.places().first().map_or(String::new(), |place| {
        format!(
            " First of all: {} in {}, for {}.",
            count_words(place.sum(|chain| chain.now) as u64),
            blame::place(place.at),
            place.chains.first().map_or("", |chain| chain.waits_for())
        )
    });
    format!(
        "{} async methods are pending; {} of {} chains of awaits have not moved for {window}.{most}",
        count_words(now as u64),
        count_words(still as u64),
        count_words(waiting as u64)
    )
}

fn finding(seen: &Seen, group: &Group<'_>, least: usize) -> Option<Finding> {
    let still = group.sum(|chain| chain.still);
    let (before, now) = (group.sum(|chain| chain.before), group.sum(|chain| chain.now));
    if still < least {
        return None;
    }
    let window = format_duration(seen.window);
    let count = count_words(still as u64);
    let all = still == before && now >= before;
    let title = match group.leaf {
        Some(Leaf::Semaphore) => format!("{count} operations wait for a SemaphoreSlim that nobody releases"),
        _ => format!("{count} operations wait for a task that nobody completes"),
    };
    let confidence = if all { Confidence::High } else { Confidence::Medium };
    let moved = if all { "none moved".to_owned() } else { format!("{} moved", before.saturating_sub(still)) };
    let mut finding = Finding::new("stuck-tasks", Severity::Warning, confidence, title)
        .culprit(blame::method(group.at))
        .fact(Fact::measured([
            ("unmoved", Value::count(still)),
            ("before", Value::count(before)),
            ("now", Value::count(now)),
            ("window", Value::time(seen.window)),
        ]))
        .evidence("Unmoved", format!("{count} for {window}; {moved}, {} wait now", count_words(now as u64)));
    if now > before {
        let more = count_words((now - before) as u64);
        finding = finding.evidence("Growth", format!("{more} more within {window}"));
    }
    if let Some(chain) = group.chains.iter().max_by_key(|chain| chain.still) {
        let names = chain.methods().iter().map(|frame| frame.name.clone());
        finding = finding.fact(Fact::names(names)).evidence("Chain", path(chain.methods()));
    }
    let awaited = group.sum(|chain| chain.awaited);
    finding = match group.leaf {
        Some(Leaf::Semaphore) => semaphore_advice(finding, seen),
        _ => finding
            .evidence("They wait for", completions(awaited, now))
            .advice("Find who is to complete the TaskCompletionSource, and why that never happens: a reply that is not matched, an error path without SetException.")
            .advice("Give the wait a limit: a CancellationToken with a time, or Task.WhenAny with Task.Delay."),
    };
    let blocked = group.sum(|chain| chain.blocking);
    if blocked > 0 {
        finding = finding
            .evidence("Threads", format!("{blocked} block until these end (Task.Wait or Task.Result)"));
    }
    Some(finding)
}

fn completions(awaited: usize, now: usize) -> String {
    match awaited {
        0 => "a TaskCompletionSource".to_owned(),
        1 if now > 1 => "one and the same TaskCompletionSource".to_owned(),
        1 => "one TaskCompletionSource".to_owned(),
        many => format!("{} TaskCompletionSources", count_words(many as u64)),
    }
}

fn semaphore_advice(finding: Finding, seen: &Seen) -> Finding {
    let most = seen.semaphores.iter().max_by_key(|(_, _, waiters)| *waiters);
    let finding = match most {
        Some((free, most, waiters)) if *most < i32::MAX => {
            finding.evidence("Semaphore", format!("{free} of {most} places free, {waiters} wait for one"))
        }
        Some((free, _, waiters)) => {
            finding.evidence("Semaphore", format!("{free} places free, {waiters} wait for one"))
        }
        None => finding,
    };
    finding
        .advice("Look for a way out between WaitAsync and Release without Release: an exception, an early return. Release belongs into a finally.")
        .advice("Who holds it may wait itself: look for another chain below that begins with the same method.")
}

fn circle_finding(seen: &Seen, circle: &[Frame]) -> Finding {
    let window = format_duration(seen.window);
    let finding = Finding::new(
        "await-circle",
        Severity::Critical,
        Confidence::High,
        format!("{} async operations wait for each other and never end", circle.len()),
    )
    .fact(Fact::measured([
        ("operations", Value::count(circle.len())),
        ("window", Value::time(seen.window)),
    ]))
    .fact(Fact::names(circle.iter().map(|frame| frame.name.clone())))
    .evidence("Circle", path(circle))
    .evidence("Unmoved", format!("in both looks, {window} apart"))
    .advice("One of them must not await the other: hand over the result instead of the task, or await outside of it.");
    match circle.iter().find(|frame| frame.module.is_some() && blame::is_own(frame)) {
        Some(frame) => finding.culprit(blame::method(frame)),
        None => finding,
    }
}

/// `A -> B -> C`, from the one that is awaited by nobody inwards; long ones without their middle.
fn path(frames: &[Frame]) -> String {
    let names: Vec<String> = frames.iter().map(blame::place).collect();
    if names.len() <= MOST_STEPS {
        return names.join(" -> ");
    }
    let half = MOST_STEPS / 2;
    let (first, last) = (&names[..half], &names[names.len() - half..]);
    format!("{} -> ({} more) -> {}", first.join(" -> "), names.len() - 2 * half, last.join(" -> "))
}

fn place_table(seen: &Seen, top: usize) -> Section {
    let mut table = Table::new([
        Column::new("still", "Unmoved", Unit::Count),
        Column::new("before", "Before", Unit::Count),
        Column::new("now", "Now", Unit::Count),
        Column::new("waits-for", "Wait for", Unit::Text),
        Column::new("in", "In", Unit::Text),
    ]);
    let places = seen.places();
    for place in places.iter().take(top) {
        table.push([
            Cell::from(place.sum(|chain| chain.still) as u64),
            Cell::from(place.sum(|chain| chain.before) as u64),
            Cell::from(place.sum(|chain| chain.now) as u64),
            Cell::from(place.chains.first().map(|chain| chain.waits_for())),
            Cell::from(blame::place(place.at)),
        ]);
    }
    table.omitted_rows = places.len().saturating_sub(top) as u64;
    Section::new("places", "Pending operations by what they wait for", Body::Table(table))
}

/// The trees of the second look, from who is awaited by nobody to what is waited for.
fn tree(branches: &[Branch], top: usize) -> Section {
    let mut roots = Vec::new();
    let mut open: Vec<Node> = Vec::new();
    let mut seen_roots = 0;
    for branch in branches.iter().take(MOST_PLACES) {
        seen_roots += usize::from(branch.depth == 0);
        if seen_roots > top {
            break;
        }
        close(&mut open, branch.depth, &mut roots);
        let mut label = blame::place(&branch.frame);
        if branch.blocking > 0 {
            label.push_str(" (a thread blocks until it ends)");
        }
        open.push(Node { label, values: vec![Cell::from(branch.count as u64)], children: Vec::new() });
    }
    close(&mut open, 0, &mut roots);
    let columns = vec![Column::new("operations", "Operations", Unit::Count)];
    Section::new("awaits", "Who awaits whom", Body::Tree(Tree { columns, roots }))
}

/// Hands finished nodes to their parents until only `depth` are open.
fn close(open: &mut Vec<Node>, depth: usize, roots: &mut Vec<Node>) {
    while open.len() > depth {
        let Some(node) = open.pop() else { return };
        match open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => roots.push(node),
        }
    }
}

fn notes(seen: &Seen, least: usize, findings: &[Finding]) -> Vec<String> {
    let mut notes = Vec::new();
    if !seen.understood {
        notes.push(
            "The fields of Task that tell who awaits whom were not found in this runtime (no task was ever made, or the \
             program is trimmed in an unusual way), so nothing can be said."
                .to_owned(),
        );
    }
    let unmoved = seen.chains.iter().any(|chain| !chain.is_ordinary() && chain.still > 0);
    if findings.is_empty() && unmoved {
        notes.push(format!(
            "An operation that waits is no illness by itself: a service awaits its end, its listener, its queue. Only \
             {least} or more that wait for the same, unmoved, are called stuck (--set least=N)."
        ));
    }
    if seen.collections > 0 {
        let times = match seen.collections {
            1 => "A full collection".to_owned(),
            many => format!("{many} full collections"),
        };
        notes.push(format!(
            "{times} found the objects, during which everything stood still: as asked for, or because this runtime cannot \
             walk its heap for an agent (9 and newer can). Only what is in use is listed."
        ));
    } else if !seen.chains.is_empty() {
        notes.push(
            "Operations that nothing refers to any more are listed too until the next collection sweeps them; --set \
             dead=sweep makes one first."
                .to_owned(),
        );
    }
    if seen.moved > 0 {
        notes.push(format!(
            "{} objects were moved by a collection before they could be read; their operations may be missing.",
            count_words(u64::from(seen.moved))
        ));
    }
    if seen.window < SHORTEST_PROOF {
        notes.push(
            "The looks are too close together to say what is stuck: give it some seconds with --duration."
                .to_owned(),
        );
    }
    if seen.cut {
        notes.push("There are more operations than fit; the rest is left out.".to_owned());
    }
    notes
}
