//! For whom the just-in-time compiler works.

use std::time::Duration;

use diagnostics_ipc::{EventFilter, Level, Provider, TraceRequest};
use model::{Confidence, Fact, Finding, Frame, Severity, Value};
use profilers::{Answer, Engine, Pause, Profiler, ProfilerError, Run, Spec, event_stacks};
use runtime_events::{keyword, provider};

use crate::words::rate;

/// `MethodJittingStarted`.
pub(crate) const JITTING_STARTED: u32 = 145;
/// Methods compiled a second, all the time, from which it is a storm. A program that has started compiles next to nothing; one
/// that calls `Expression.Compile` or makes a `Regex` with `RegexOptions.Compiled` for each request compiles hundreds.
const STORM: f64 = 100.0;
/// Of these, the part that one place is to blame for, in per cent. A program that starts compiles for many.
const MOSTLY: u64 = 50;

/// For whom the compiler works.
pub(crate) struct Compilations;

static SPEC: Spec = Spec {
    id: "compilations",
    name: "Compilations",
    question: "Which code makes the just-in-time compiler work?",
    engine: Engine::EventPipe,
    parameters: &[],
    since: "3.1",
    pause: Pause::None,
    cost: "about 500 bytes of events for each method that is compiled",
    duration: Duration::from_secs(3),
};

/// What the runtime compiles to tell a session of something, such as the one of this look or of another, is not the program's.
fn is_telling(frame: &Frame) -> bool {
    TELLERS.iter().any(|teller| frame.name.starts_with(teller))
}

/// Event sources, and what passes on the notes of libraries to them.
const TELLERS: &[&str] = &[
    "System.Diagnostics.Tracing.",
    "System.Diagnostics.DiagnosticSourceEventSource",
    "System.Diagnostics.DiagnosticListener",
];

impl Profiler for Compilations {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let runtime = Provider {
            filter: EventFilter::Only(vec![JITTING_STARTED]),
            ..Provider::new(provider::RUNTIME, keyword::JIT, Level::Verbose)
        };
        let mut seen = event_stacks(run, &TraceRequest::new(64, vec![runtime]), |seen| {
            let metadata = seen.event.metadata;
            (metadata.provider == provider::RUNTIME && metadata.event.0 == JITTING_STARTED).then(String::new)
        })?;
        seen.counts.retain(|(_, frames, _)| !frames.iter().any(is_telling));
        let Some((culprit, _, count, all)) = super::heaviest(&seen) else {
            return Ok(super::answer(
                seen,
                "Nothing was compiled for the program's own code.".to_owned(),
                None,
            ));
        };
        let per_second = all as f64 / seen.measured.as_secs_f64().max(0.001);
        let summary = format!("{all} methods were compiled, {count} of them for {}.", culprit.name);
        let finding = (per_second >= STORM && count * 100 >= all * MOSTLY).then(|| {
            let title = format!("The compiler never rests: {} for {}", rate(per_second), culprit.name);
            Finding::new("jit-storm", Severity::Warning, Confidence::High, title)
                .culprit(culprit)
                .fact(Fact::measured([
                    ("compiled", Value::PerSecond(per_second)),
                    ("methods", Value::Count(all)),
                    ("for-it", Value::Count(count)),
                ]))
                .evidence("Methods compiled", rate(per_second))
                .evidence("Of these, for it", format!("{count} of {all}"))
                .advice("Compile expressions, rules and regular expressions once, and keep the delegate.")
        });
        Ok(super::answer(seen, summary, finding))
    }
}
