//! Who makes outgoing HTTP calls and database commands, to whom, how long they take and whether they fail.

use std::collections::BTreeMap;
use std::time::Duration;

use diagnostics_ipc::{EventFilter, Level, Provider, TraceRequest};
use event_session::{Going, Seen};
use facts::CallsKind;
use judgement::signs::Tally;
use model::{Confidence, Culprit, Fact, Finding, Redaction, Severity, TargetText, Value, format_duration};
use profilers::{
    Answer, Engine, OtherEvents, Others, Pause, Profiler, ProfilerError, Run, Spec, other_events,
};
use stacks::StackKey;

use crate::dependencies::{self, Call, Detail, Edge, Tracker};
use crate::wording::call_advice;
use crate::words::percent;

/// The event source of outgoing HTTP calls (.NET 5), for programs that have switched the library's notes off.
const HTTP: &str = "System.Net.Http";
/// `RequestStart`: scheme, host, port, path, versions.
const REQUEST_START: u32 = 1;
/// Buffer in the target, in megabytes.
const BUFFER_MB: u32 = 32;
/// Calls after which it is known who makes them: an event costs the program up to 10 us, and a call has two.
const MAX_CALLS: u64 = 3000;
/// Callers, statements and failures that are kept apart.
const MAX_GROUPS: usize = 4096;
/// Of one group.
const MAX_WORDS: usize = 64;
/// Places with a finding.
const MAX_FINDINGS: usize = 3;
/// Slow calls that ended, or failed ones, from which it is sure.
const SURE: u64 = 3;

/// What its finding is called: a half of others.
const HTTP_CALLER: &str = "http-caller";

/// Who calls.
pub(crate) struct Calls;

static SPEC: Spec = Spec {
    id: "outgoing-calls",
    name: "Outgoing calls",
    question: "Who makes slow or failing HTTP calls and database commands, and to whom?",
    engine: Engine::EventPipe,
    parameters: &[],
    since: "3.1",
    pause: Pause::None,
    cost: "two events for each call",
    duration: Duration::from_secs(3),
};

impl Profiler for Calls {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let http = Provider {
            filter: EventFilter::Only(vec![REQUEST_START]),
            ..Provider::new(HTTP, 0, Level::Informational)
        };
        let request = TraceRequest::new(BUFFER_MB, vec![dependencies::provider(Detail::Whom), http]);
        let others = other_events(run, &request, Watch::default())?;
        let answer = others.answer(String::new());
        let window_ns = u64::try_from(answer.measured.as_nanos()).unwrap_or(u64::MAX);
        let places = places(&others, window_ns);
        let redaction = run.settings.redaction();
        let mut all = Tally::default();
        places.iter().for_each(|place| all.sum(&place.tally));
        let findings = places.iter().filter_map(|place| place.finding(window_ns, redaction));
        let findings: Vec<Finding> = findings.take(MAX_FINDINGS).collect();
        let summary = match (findings.first(), all.begun, all.slow) {
            (Some(worst), ..) => format!("{}.", worst.title),
            (None, 0, _) => "No call began.".to_owned(),
            (None, begun, 0) => format!("{begun} calls began; none of them is slow."),
            (None, begun, slow) => {
                format!("{begun} calls began; {slow} took a second or longer, too few to matter.")
            }
        };
        let caller = http_caller(&others, redaction);
        Ok(Answer { summary, findings: findings.into_iter().chain(caller).collect(), ..answer })
    }
}

/// What is kept of the calls of one stack to one place.
#[derive(Clone, Debug, Default)]
struct Group {
    tally: Tally,
    /// What they ask for, and for how long.
    asked: BTreeMap<TargetText, u64>,
    /// How they fail.
    failures: BTreeMap<String, u64>,
    message: TargetText,
}

impl Group {
    fn add<B>(&mut self, call: &Call<B>) {
        call.count(&mut self.tally);
        count(&mut self.asked, call.whom.what.clone(), call.took_ns);
        let Some(end) = &call.end else { return };
        if let Some(failure) = &end.failure {
            count(&mut self.failures, failure.clone(), 1);
        }
        if !end.message.is_empty() {
            self.message = end.message.clone();
        }
    }

    fn sum(&mut self, other: &Group) {
        self.tally.sum(&other.tally);
        other.asked.iter().for_each(|(what, ns)| count(&mut self.asked, what.clone(), *ns));
        other.failures.iter().for_each(|(failure, by)| count(&mut self.failures, failure.clone(), *by));
        if self.message.is_empty() {
            self.message.clone_from(&other.message);
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, by: u64) {
    if let Some(known) = known(counts, key, MAX_WORDS) {
        *known += by;
    }
}

/// What is kept of something, unless it is new and there is too much already.
fn known<K: Ord, V: Default>(all: &mut BTreeMap<K, V>, key: K, most: usize) -> Option<&mut V> {
    (all.len() < most || all.contains_key(&key)).then(|| all.entry(key).or_default())
}

type Key = (CallsKind, TargetText, usize, Option<StackKey>);

#[derive(Default)]
struct Watch {
    tracker: Tracker<Option<StackKey>>,
    groups: BTreeMap<Key, Group>,
    ended: u64,
    /// The last exception of each place, where it comes beside the end of a call.
    complaints: BTreeMap<TargetText, TargetText>,
    /// Calls as the event source tells of them, whether the library does or not, by host.
    bare: BTreeMap<(String, Option<StackKey>), u64>,
}

impl Watch {
    fn add(groups: &mut BTreeMap<Key, Group>, call: &Call<Option<StackKey>>) {
        let key = (call.kind, call.whom.place.clone(), call.library, call.begun);
        if let Some(group) = known(groups, key, MAX_GROUPS) {
            group.add(call);
        }
    }
}

impl OtherEvents for Watch {
    fn event(&mut self, seen: &Seen<'_>, stack: &mut dyn FnMut() -> Option<StackKey>) -> Going {
        if let Some(event) = dependencies::read(seen) {
            if event.edge == Edge::Complaint
                && let Some(last) = known(&mut self.complaints, event.whom.place.clone(), MAX_GROUPS)
            {
                *last = event.message.clone();
            }
            if let Some(call) = self.tracker.take(event, seen.at_ns, stack) {
                self.ended += 1;
                Watch::add(&mut self.groups, &call);
            }
        } else if let Some(host) = host(seen)
            && let Some(count) = known(&mut self.bare, (host, stack()), MAX_GROUPS)
        {
            *count += 1;
        }
        if self.ended < MAX_CALLS { Going::On } else { Going::Stop }
    }
}

/// Host and port of a call that begins.
fn host(seen: &Seen<'_>) -> Option<String> {
    let metadata = seen.event.metadata;
    if metadata.provider != HTTP || metadata.event.0 != REQUEST_START {
        return None;
    }
    let mut fields = seen.event.reader();
    let _scheme = fields.utf16().ok()?;
    let host = fields.utf16().ok()?.to_string();
    let port = fields.i32().ok()?;
    Some(format!("{host}:{port}"))
}

/// All calls to one place, and who makes most of the trouble.
struct Place {
    kind: CallsKind,
    place: TargetText,
    tally: Tally,
    /// Of the caller to blame.
    worst: Group,
    culprit: Option<Culprit>,
}

/// The places that are called, the slowest first.
fn places(others: &Others<Watch>, window_ns: u64) -> Vec<Place> {
    let watch = others.watcher();
    let mut groups = watch.groups.clone();
    for call in watch.tracker.under_way(window_ns) {
        Watch::add(&mut groups, &call);
    }
    name_places(&mut groups);
    // What one library does for another is reported by both: the one that reports more is believed.
    let mut libraries: BTreeMap<(CallsKind, &TargetText), BTreeMap<usize, u64>> = BTreeMap::new();
    for ((kind, place, library, _), group) in &groups {
        *libraries.entry((*kind, place)).or_default().entry(*library).or_default() += group.tally.total_ns;
    }
    let mut places = Vec::new();
    for ((kind, place), totals) in libraries {
        let Some((believed, _)) = totals.into_iter().max_by_key(|(_, total)| *total) else { continue };
        let mut callers: BTreeMap<Option<String>, (Option<Culprit>, Group)> = BTreeMap::new();
        let mut tally = Tally::default();
        for ((_, _, _, stack), group) in
            groups.iter().filter(|((of, to, library, _), _)| (*of, to, *library) == (kind, place, believed))
        {
            tally.sum(&group.tally);
            let culprit = stack.and_then(|stack| caller(others, stack));
            let name = culprit.as_ref().map(|culprit| culprit.name.clone());
            callers.entry(name).or_insert_with(|| (culprit, Group::default())).1.sum(group);
        }
        let blame = |group: &Group| (group.tally.slow_ns, group.tally.failed, group.tally.total_ns);
        let Some((culprit, mut worst)) = callers.into_values().max_by_key(|(_, group)| blame(group)) else {
            continue;
        };
        if let Some(message) = watch.complaints.get(place).filter(|_| worst.message.is_empty()) {
            worst.message = message.clone();
        }
        places.push(Place { kind, place: place.clone(), tally, worst, culprit });
    }
    places.sort_by_key(|place| std::cmp::Reverse((place.tally.slow_ns, place.tally.failed)));
    places
}

/// A library with activities says to whom a call goes when it ends: those that are under way go where the others go, if that is
/// one place.
fn name_places(groups: &mut BTreeMap<Key, Group>) {
    let nameless: Vec<Key> = groups.keys().filter(|(_, place, ..)| place.is_empty()).cloned().collect();
    for key in nameless {
        let (kind, empty, library, stack) = &key;
        let mut places = groups.keys().filter(|(of, to, by, _)| (of, by) == (kind, library) && to != empty);
        let Some(place) = places.next().map(|(_, place, ..)| place.clone()) else { continue };
        if places.any(|(_, other, ..)| *other != place) {
            continue;
        }
        let named = (*kind, place, *library, *stack);
        if let Some(group) = groups.remove(&key) {
            groups.entry(named).or_default().sum(&group);
        }
    }
}

/// The method of the program that makes a call.
fn caller(others: &Others<Watch>, stack: StackKey) -> Option<Culprit> {
    let frames = others.frames(stack);
    let is_own =
        |frame: &&model::Frame| !symbols::is_framework(frame) && !dependencies::is_between(&frame.name);
    frames.iter().find(is_own).map(super::method)
}

impl Place {
    fn finding(&self, window_ns: u64, redaction: Redaction) -> Option<Finding> {
        let Place { kind, tally, worst, .. } = self;
        let is_slow = tally.is_slow(*kind, window_ns);
        if !is_slow && !tally.is_failing() {
            return None;
        }
        let place = self.place.shown(redaction);
        let to = if self.place.is_empty() { String::new() } else { format!(" to {place}") };
        let calls = match kind {
            CallsKind::Http => format!("Outgoing HTTP calls{to}"),
            CallsKind::Database => format!("Database commands{to}"),
        };
        let (slow_ended, slow_ended_ns) = tally.slow_ended;
        let all_under_way = is_slow && slow_ended == 0;
        let title = match is_slow {
            true if all_under_way => format!("{calls} take longer than {}", time(tally.longest_ns)),
            true => format!("{calls} take {}", time(slow_ended_ns / slow_ended.max(1))),
            false => format!("{calls} fail: {} of {}", tally.failed, tally.ended),
        };
        let confidence = match if is_slow { slow_ended } else { tally.failed } {
            0 => Confidence::Low,
            few if few < SURE => Confidence::Medium,
            _ => Confidence::High,
        };
        let mut finding = Finding::new("slow-dependency", Severity::Warning, confidence, title).evidence(
            "Calls",
            format!("{} begun, {} ended, {} failed", tally.begun, tally.ended, tally.failed),
        );
        finding = finding.fact(Fact::measured([
            ("begun", Value::Count(tally.begun)),
            ("ended", Value::Count(tally.ended)),
            ("failed", Value::Count(tally.failed)),
            ("slow", Value::Count(tally.slow)),
            ("longest", Value::Nanoseconds(tally.longest_ns)),
            ("window", Value::Nanoseconds(window_ns)),
        ]));
        if is_slow {
            let at_once = tally.slow_at_once(window_ns);
            finding = finding
                .evidence("Slow ones under way", format!("{at_once:.1} at a time"))
                .evidence("The longest", time(tally.longest_ns));
        }
        if tally.failed > 0 {
            finding = finding.evidence("They fail with", failures(worst, redaction));
        }
        let asked = worst.asked.iter().filter(|(what, _)| !what.is_empty());
        if let Some((what, ns)) = asked.max_by_key(|(_, ns)| **ns) {
            // Of some calls that are under way it is not known yet.
            let unknown = worst.asked.get(&TargetText::default()).copied().unwrap_or(0);
            let share = *ns as f64 / (worst.tally.total_ns.saturating_sub(unknown) as f64).max(1.0) * 100.0;
            let most = if share >= 50.0 { "Most" } else { "The largest part" };
            let of = if *kind == CallsKind::Http { "for" } else { "in" };
            let seen = format!("{} ({})", what.shown(redaction), percent(share));
            finding = finding.evidence(format!("{most} of the time {of}"), seen);
        }
        if let Some(culprit) = &self.culprit {
            finding = finding
                .culprit(culprit.clone())
                .evidence("Begun by it", format!("{} of {}", worst.tally.begun, tally.begun));
        }
        let advice = call_advice(*kind, is_slow, all_under_way);
        Some(advice.iter().fold(finding, |finding, advice| finding.advice(*advice)))
    }
}

fn failures(group: &Group, redaction: Redaction) -> String {
    let mut failures: Vec<_> = group.failures.iter().collect();
    failures.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let words: Vec<String> = failures.iter().map(|(word, count)| format!("{word} ({count})")).collect();
    match group.message.is_empty() {
        true => words.join(", "),
        false => format!("{}: {}", words.join(", "), group.message.shown(redaction)),
    }
}

/// Who calls most, by the event source: how slow the calls are, the rule knows from the counters where the library tells nothing.
fn http_caller(others: &Others<Watch>, redaction: Redaction) -> Option<Finding> {
    let ((host, stack), count) = others.watcher().bare.iter().max_by_key(|(_, count)| **count)?;
    let host = TargetText::new(host).shown(redaction);
    let finding = Finding::new(HTTP_CALLER, Severity::Info, Confidence::Medium, format!("Calls to {host}"))
        .fact(Fact::CallsTo { place: host.clone(), begun: *count })
        .evidence("Calls to", host)
        .evidence("Begun by it", count.to_string());
    Some(match stack.and_then(|stack| caller(others, stack)) {
        Some(culprit) => finding.culprit(culprit),
        None => finding,
    })
}

fn time(ns: u64) -> String {
    format_duration(Duration::from_millis(ns / 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str, took_ns: u64) -> Call<()> {
        let whom = dependencies::Whom { place: TargetText::new("shop:81"), what: TargetText::new(path) };
        let end = Some(dependencies::Ended::default());
        Call { kind: CallsKind::Http, library: 0, begun: (), whom, took_ns, end }
    }

    #[test]
    fn a_full_table_goes_on_with_what_it_has() {
        let mut counts = BTreeMap::new();
        (0..MAX_WORDS).for_each(|word| count(&mut counts, word, 1));
        count(&mut counts, MAX_WORDS, 1);
        count(&mut counts, 0, 1);
        assert_eq!((counts.len(), counts.get(&0)), (MAX_WORDS, Some(&2)));
    }

    #[test]
    fn a_small_part_of_the_time_is_not_called_most_of_it() {
        let seen = |paths: &[&str]| {
            let mut worst = Group::default();
            paths.iter().for_each(|path| worst.add(&call(path, 2_000_000_000)));
            let (kind, place, tally) = (CallsKind::Http, TargetText::new("shop:81"), worst.tally);
            let finding =
                Place { kind, place, tally, worst, culprit: None }.finding(1, Redaction::Off).unwrap();
            finding.evidence.into_iter().find(|evidence| evidence.what.contains("of the time")).unwrap()
        };
        let (one, many) = (seen(&["/a", "/a", "/b"]), seen(&["/a", "/b", "/c", "/d"]));
        assert_eq!((one.what.as_str(), one.seen.as_str()), ("Most of the time for", "/a (67 %)"));
        assert_eq!(
            (many.what.as_str(), many.seen.as_str()),
            ("The largest part of the time for", "/d (25 %)")
        );
        // What the caller does not tell yet is no part of it.
        assert_eq!(seen(&["/a", "", ""]).seen, "/a (100 %)");
    }
}
