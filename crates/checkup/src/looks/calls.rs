//! Who makes outgoing HTTP calls, and to whom.

use std::time::Duration;

use diagnostics_ipc::{EventFilter, Level, Provider, TraceRequest};
use event_session::Seen;
use model::{Confidence, Finding, Severity, TargetText};
use profilers::{Answer, Engine, Pause, Profiler, ProfilerError, Run, Spec, event_stacks};

/// The event source of outgoing HTTP calls (.NET 5).
const HTTP: &str = "System.Net.Http";
/// `RequestStart`: scheme, host, port, path, versions.
const REQUEST_START: u32 = 1;

/// Who calls.
pub(crate) struct Calls;

static SPEC: Spec = Spec {
    id: "http-calls",
    name: "Outgoing HTTP calls",
    question: "Who makes outgoing HTTP calls, and to whom?",
    engine: Engine::EventPipe,
    parameters: &[],
    since: "5",
    pause: Pause::None,
    cost: "one event for each call that begins",
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
        let seen = event_stacks(run, &TraceRequest::new(32, vec![http]), host)?;
        let redaction = run.settings.redaction();
        let Some((culprit, host, count, all)) = super::heaviest(&seen) else {
            return Ok(super::answer(seen, "No call began.".to_owned(), None));
        };
        let host = TargetText::new(&host).shown(redaction);
        let summary = format!("{all} calls began, {count} of them to {host} by {}.", culprit.name);
        // How slow they are, the rule knows from the counters.
        let finding = Finding::new("http-caller", Severity::Info, Confidence::Medium, summary.clone())
            .culprit(culprit)
            .evidence("Calls to", host)
            .evidence("Begun by it", format!("{count} of {all}"));
        Ok(super::answer(seen, summary, Some(finding)))
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
