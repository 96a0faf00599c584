//! Fixed threads for the tests of what users see.

use std::sync::Arc;

use model::{Frame, FrameKind};
use process_view::{ProcessorTime, TaskState};

use super::sight::{Seen, Sight, why};

/// A frame, written as `module!name` or `module!name@file:line`; without a module it is of `Shop`.
fn frame(text: &str) -> Arc<Frame> {
    let (module, rest) = text.split_once('!').unwrap_or(("Shop", text));
    let (name, place) =
        rest.split_once('@').map_or((rest, None), |(name, place)| (name, place.split_once(':')));
    Arc::new(Frame {
        kind: FrameKind::Managed,
        name: name.to_owned(),
        module: Some(module.to_owned()),
        file: place.map(|(file, _)| format!("src/{file}")),
        line: place.and_then(|(_, line)| line.parse().ok()),
    })
}

/// A thread with these frames, innermost first, that waits in a futex, or runs.
pub(crate) fn thread(inside: u32, name: &str, state: TaskState, frames: &[&str]) -> Seen {
    let frames: Vec<Arc<Frame>> = frames.iter().map(|text| frame(text)).collect();
    Seen {
        inside,
        task: None,
        name: name.to_owned(),
        managed: true,
        cut: false,
        why: why(&frames, Some(state)),
        frames,
        native: Vec::new(),
        state: Some(state),
        started: Some(100 + u64::from(inside)),
        waits_in: (state == TaskState::Sleeping).then(|| "futex".to_owned()),
        processor: Some(ProcessorTime { ran_ns: 40_000_000, waited_ns: 0 }),
        rests: Some(7),
    }
}

/// All of them.
pub(crate) fn sight(threads: Vec<Seen>) -> Sight {
    Sight {
        threads,
        lines: super::Lines { exact: 9, method_start: 0 },
        waits_told: true,
        native_refused: false,
    }
}
