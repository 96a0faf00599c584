//! `compilations`: which code of the program makes the just-in-time compiler work.

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::Seen;
use model::{Body, Cell, Column, Confidence, Finding, Section, Severity, Table, Unit};
use runtime_events::{RuntimeEvent, keyword, provider};
use stacks::StackKey;

use crate::blame::{method, own_frame, place};
use crate::capped::Capped;
use crate::events::{self, Stacks, Watcher};
use crate::profiler::{Answer, Engine, Pause, Profiler, Run, Spec};
use crate::ratio::{count_words, fraction, per_second};
use crate::{Kind, Parameter, ProfilerError};

/// Shows who makes the compiler work.
pub struct Compilations;

static SPEC: Spec = Spec {
    id: "compilations",
    name: "Compilations",
    question: "Which code makes the just-in-time compiler work?",
    engine: Engine::EventPipe,
    parameters: &[Parameter {
        name: "storm",
        kind: Kind::Integer { min: 1, max: 1_000_000, default: 100 },
        help: "methods compiled a second from which it is a storm",
    }],
    since: "3.1",
    pause: Pause::None,
    cost: "about 500 bytes of events for each method that is compiled",
    duration: Duration::from_secs(10),
};

/// While the session runs: a count for each stack.
#[derive(Default)]
struct Watch(Capped<Option<StackKey>, u64>);

impl Watcher for Watch {
    fn event(&mut self, seen: &Seen<'_>, event: &RuntimeEvent<'_>, stacks: &mut Stacks) {
        if let RuntimeEvent::JittingStarted(_) = event {
            *self.0.entry(stacks.key(seen.event.stack)) += 1;
        }
    }
}

impl Profiler for Compilations {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        // Collect: the runtime's events of compiled methods.
        let runtime = Provider::new(provider::RUNTIME, keyword::JIT, Level::Verbose);
        let watched = events::watch(run, &TraceRequest::new(64, vec![runtime]), Watch::default())?;
        // Name: stacks get their methods when the session is over.
        let mut table = Table::new([
            Column::new("method", "Method", Unit::Text),
            Column::new("compiled", "Compiled", Unit::Count),
        ]);
        let counts = watched.watcher.0.sorted_by_key(|count| *count);
        let total: u64 = counts.iter().map(|(_, count)| **count).sum();
        let mut first = None;
        for (stack, count) in counts {
            let frames = stack.map(|stack| watched.frames(stack)).unwrap_or_default();
            let Some(frame) = own_frame(&frames) else { continue };
            table.push([Cell::from(place(frame)), Cell::from(*count)]);
            first.get_or_insert_with(|| frame.clone());
        }
        // Judge: one compilation for each method is how .NET works; hundreds a second that never end are not.
        let storm = fraction(run.settings.integer("storm"));
        let is_storm = per_second(total, watched.measured) >= storm && fraction(total) >= storm;
        let finding = first.filter(|_| is_storm).map(|frame| {
            Finding::new("jit-storm", Severity::Warning, Confidence::High, "The compiler never rests")
                .culprit(method(&frame))
                .evidence("Compiled", count_words(total))
                .advice("Compile expressions and rules once, and keep the delegate.")
        });
        Ok(Answer {
            summary: format!("{} methods were compiled.", count_words(total)),
            findings: finding.into_iter().collect(),
            sections: vec![Section::new("methods", "For whom", Body::Table(table))],
            notes: watched.notes.clone(),
            cost: watched.cost.clone(),
            measured: watched.measured,
            end: watched.end,
            ..Answer::default()
        })
    }
}
