//! Collecting: every throw, and the handler that ended it.

use std::collections::{HashMap, HashSet};

use event_session::Seen;
use model::{Frame, TargetText};
use nettrace::ThreadId;
use runtime_events::RuntimeEvent;
use runtime_events::exception::ExceptionThrown;
use stacks::StackKey;

use crate::blame::{own_place, throwing_frame};
use crate::capped::Capped;
use crate::events::{Stacks, Watched, Watcher};

/// Exceptions in flight on one thread; more than this are never thrown inside each other's handlers.
const MOST_IN_FLIGHT: usize = 32;
/// Threads that are followed from throw to handler.
const MOST_THREADS: usize = 10_000;

/// Exceptions of one type, thrown at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Throws {
    /// How often.
    pub(super) count: u64,
    /// Those that a handler was seen for.
    pub(super) caught: u64,
    /// Those that were thrown again by a handler.
    pub(super) rethrown: u64,
    /// Those that were thrown while another one was handled.
    pub(super) nested: u64,
    /// Time from throw to handler, all together.
    pub(super) dispatch_ns: u64,
}

/// Messages that differ in their digits only.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Messages {
    pub(super) count: u64,
    /// The first one.
    pub(super) first: TargetText,
    /// Others differ from it in their digits.
    pub(super) varied: bool,
}

/// What one handler caught.
#[derive(Clone, Debug, Default)]
struct Handler {
    count: u64,
    /// Its method as the runtime calls it.
    signature: String,
}

type Place = (String, Option<StackKey>);

struct InFlight {
    place: Place,
    thrown_ns: u64,
    message: TargetText,
}

/// What is known while the session runs.
#[derive(Default)]
pub(super) struct Watch {
    throws: Capped<Place, Throws>,
    /// By type, message without its numbers, and stack.
    messages: Capped<(String, TargetText, Option<StackKey>), Messages>,
    handlers: Capped<Option<StackKey>, Handler>,
    threads: HashMap<ThreadId, Vec<InFlight>>,
}

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        match event {
            RuntimeEvent::ExceptionThrown(thrown) => self.thrown(seen, thrown, stacks),
            RuntimeEvent::CatchStart(handler) => {
                let in_flight = self.threads.get_mut(&seen.event.thread()).and_then(Vec::pop);
                // Thrown before the session began.
                let Some(thrown) = in_flight else { return };
                let throws = self.throws.entry(thrown.place);
                throws.caught += 1;
                throws.dispatch_ns += seen.at_ns.saturating_sub(thrown.thrown_ns);
                let handled = self.handlers.entry(stacks.key(seen.event.stack));
                if handled.count == 0 {
                    handled.signature = handler.method_name.to_string();
                }
                handled.count += 1;
            }
            _ => {}
        }
    }
}

impl Watch {
    fn thrown(&mut self, seen: &Seen<'_>, thrown: &ExceptionThrown<'_>, stacks: &mut Stacks) {
        let type_name = thrown.type_name.to_string();
        let message = TargetText::new(&thrown.message.to_string());
        let place = (type_name.clone(), stacks.key(seen.event.stack));
        let throws = self.throws.entry(place.clone());
        throws.count += 1;
        throws.rethrown += u64::from(thrown.flags.is_rethrown());
        throws.nested += u64::from(thrown.flags.is_nested());
        let messages = self.messages.entry((type_name, message.map(pattern), place.1));
        if messages.count == 0 {
            messages.first.clone_from(&message);
        }
        messages.count += 1;
        messages.varied |= messages.first != message;
        let thread = seen.event.thread();
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&thread) {
            return;
        }
        let in_flight = self.threads.entry(thread).or_default();
        if in_flight.len() >= MOST_IN_FLIGHT {
            in_flight.remove(0);
        }
        in_flight.push(InFlight { place, thrown_ns: seen.at_ns, message });
    }
}

/// A message without its numbers: `row 17 of 20` and `row 9 of 20` are the same complaint.
fn pattern(message: &str) -> String {
    let mut pattern = String::with_capacity(message.len());
    for letter in message.chars() {
        let letter = if letter.is_numeric() { '#' } else { letter };
        if letter != '#' || !pattern.ends_with('#') {
            pattern.push(letter);
        }
    }
    pattern
}

/// An exception that nobody was seen to catch before the process ended.
#[derive(Clone, Debug)]
pub(super) struct Fatal {
    pub(super) type_name: String,
    pub(super) message: TargetText,
    pub(super) frames: Vec<Frame>,
}

/// What exceptions of one type said that were thrown at one place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) type_name: String,
    /// Without numbers where they differ.
    pub(super) message: TargetText,
    /// The program's own code.
    pub(super) place: Option<String>,
    pub(super) count: u64,
}

/// What came of it, with names.
#[derive(Debug, Default)]
pub(super) struct Thrown {
    /// By type and stack, the most frequent first.
    pub(super) throws: Vec<(String, Vec<Frame>, Throws)>,
    /// Of types and places that had no room.
    pub(super) other_throws: Throws,
    /// By type and place, the most frequent first.
    pub(super) messages: Vec<Said>,
    /// Messages that had no room.
    pub(super) other_messages: u64,
    /// By handler, the most frequent first.
    pub(super) handlers: Vec<(Frame, u64)>,
    /// The last one that was in flight at the end of the stream, if nobody catches what is thrown there.
    pub(super) last_in_flight: Option<Fatal>,
}

/// Gives names to what was seen.
pub(super) fn thrown(watched: &Watched<Watch>) -> Thrown {
    let watch = &watched.watcher;
    let frames = |stack: &Option<StackKey>| stack.map(|stack| watched.frames(stack)).unwrap_or_default();
    let by_count = watch.throws.sorted_by_key(|throws| throws.count);
    let throws =
        by_count.into_iter().map(|((name, stack), throws)| (name.clone(), frames(stack), throws.clone()));
    let mut handlers: Vec<(Frame, u64)> = Vec::new();
    for (stack, handler) in watch.handlers.sorted_by_key(|handler| handler.count) {
        let frames = frames(stack);
        let frame = throwing_frame(&frames).cloned().unwrap_or_else(|| named(&handler.signature));
        match handlers.iter_mut().find(|(known, _)| *known == frame) {
            Some((_, count)) => *count += handler.count,
            None => handlers.push((frame, handler.count)),
        }
    }
    handlers.sort_by(|(_, few), (_, many)| many.cmp(few));
    // Where others were caught, this one would have been too.
    let never_caught: HashSet<&Place> =
        watch.throws.iter().filter(|(_, throws)| throws.caught == 0).map(|(place, _)| place).collect();
    let last = watch.threads.values().filter_map(|in_flight| in_flight.last());
    let last = last.filter(|thrown| never_caught.contains(&thrown.place));
    let last_in_flight = last.max_by_key(|thrown| thrown.thrown_ns).map(|thrown| Fatal {
        type_name: thrown.place.0.clone(),
        message: thrown.message.clone(),
        frames: frames(&thrown.place.1),
    });
    Thrown {
        throws: throws.collect(),
        other_throws: watch.throws.others.clone(),
        messages: said(watched),
        other_messages: watch.messages.others.count,
        handlers,
        last_in_flight,
    }
}

/// Messages by the place that throws them: stacks that differ above it are one.
fn said(watched: &Watched<Watch>) -> Vec<Said> {
    let mut said: Vec<(&TargetText, bool, Said)> = Vec::new();
    let mut known: HashMap<(&str, &TargetText, Option<String>), usize> = HashMap::new();
    for ((type_name, pattern, stack), messages) in watched.watcher.messages.sorted_by_key(|kept| kept.count) {
        let place = stack.and_then(|stack| own_place(&watched.frames(stack)));
        let at = *known.entry((type_name, pattern, place.clone())).or_insert_with(|| {
            let (message, type_name) = (messages.first.clone(), type_name.clone());
            said.push((pattern, messages.varied, Said { type_name, message, place, count: 0 }));
            said.len() - 1
        });
        let (_, varied, row) = &mut said[at];
        *varied |= messages.varied || row.message != messages.first;
        row.count += messages.count;
    }
    let text = |(pattern, varied, row): (&TargetText, bool, Said)| match varied {
        true => Said { message: pattern.clone(), ..row },
        false => row,
    };
    let mut said: Vec<Said> = said.into_iter().map(text).collect();
    said.sort_by_key(|said| std::cmp::Reverse(said.count));
    said
}

/// A frame from what the runtime calls a handler's method: `instance void [Shop] Shop.Feed::Read(int32)`.
fn named(signature: &str) -> Frame {
    let name = signature.split('(').next().unwrap_or(signature);
    let name = name.rsplit("] ").next().unwrap_or(name).rsplit(' ').next().unwrap_or(name);
    let module =
        signature.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(module, _)| module);
    Frame {
        kind: model::FrameKind::Managed,
        name: name.replace("::", "."),
        module: module.map(str::to_owned),
        file: None,
        line: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_numbers_are_one() {
        assert_eq!(pattern("row 17 of 200"), pattern("row 9 of 20"));
        assert_ne!(pattern("row 17"), pattern("column 17"));
        assert_eq!(pattern("‘19,90’"), "‘#,#’");
    }

    #[test]
    fn a_handler_has_a_name_without_its_stack() {
        let frame = named("instance void [Shop] Shop.Feed::Read(int32)");
        assert_eq!((frame.name.as_str(), frame.module.as_deref()), ("Shop.Feed.Read", Some("Shop")));
        assert_eq!(named("").name, "");
    }
}
