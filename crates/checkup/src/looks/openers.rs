//! Who opens files and sockets that stay open.

use std::time::Duration;

use facts::method_name;
use model::{Confidence, Culprit, Fact, Finding, Frame, Severity};
use profilers::{Answer, Engine, Openers, Pause, Profiler, ProfilerError, Run, Spec, culprit_of, openers};

/// What its finding is called: a half of `descriptor-leak`, whose other half is that they become more.
const OPENER: &str = "descriptor-opener";

/// Who opens.
pub(crate) struct Opened;

static SPEC: Spec = Spec {
    id: "openers",
    name: "Open files and sockets",
    question: "Who opens files and sockets that stay open?",
    engine: Engine::Kernel,
    parameters: &[],
    since: "3.1",
    pause: Pause::None,
    cost: "some 10 us for each file and socket that is opened",
    duration: Duration::from_secs(4),
};

impl Profiler for Opened {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn run(&self, run: &Run<'_>) -> Result<Answer, ProfilerError> {
        let seen = openers(run)?;
        let left: u64 = seen.left_open.iter().map(|(_, count)| count).sum();
        let summary =
            format!("{} files and sockets were opened, {left} of them are open still.", seen.opened);
        Ok(Answer {
            summary,
            findings: finding(&seen, left).into_iter().collect(),
            sections: Vec::new(),
            notes: seen.notes,
            cost: seen.cost,
            measured: seen.measured,
            end: seen.end,
            ..Answer::default()
        })
    }
}

fn finding(seen: &Openers, left: u64) -> Option<Finding> {
    let mut places: Vec<(&Frame, u64)> = Vec::new();
    for (frames, count) in &seen.left_open {
        let Some(frame) = opener(frames) else { continue };
        match places.iter_mut().find(|(known, _)| known.name == frame.name) {
            Some(place) => place.1 += count,
            None => places.push((frame, *count)),
        }
    }
    let (frame, count) = places.into_iter().max_by_key(|(_, count)| *count)?;
    let name = method_name(&frame.name).to_owned();
    let title = format!("{name} opened {count} of {left} that stayed open");
    Some(
        Finding::new(OPENER, Severity::Info, Confidence::Medium, title)
            .culprit(Culprit { name, ..culprit_of(frame) })
            .fact(Fact::Opened { count, of: left })
            .evidence("Opened by it and left open", format!("{count} of {left}")),
    )
}

/// The innermost frame of the program's own; of a stack that has none, such as one of a connection that the framework opens on a
/// thread of its own, nobody is to blame.
fn opener(frames: &[Frame]) -> Option<&Frame> {
    let is_managed = |frame: &&Frame| frame.kind == model::FrameKind::Managed;
    frames.iter().filter(is_managed).find(|frame| !symbols::is_framework(frame) && frame.name != "?")
}
