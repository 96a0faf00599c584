//! Recording one process for as long as was asked for.

use std::time::{Duration, Instant};

use kernel_collector::{Collecting, NamesFirst, Recorded, Target};
use model::WindowEnd;
use perf_sampler::Wake;
use process_view::Process;

use super::{Picture, request};
use crate::ProfilerError;
use crate::control::Stop;
use crate::openers::sampling;
use crate::profiler::Run;
use crate::ratio::count_words;

/// How long is waited at once.
const SLICE: Duration = Duration::from_millis(50);

pub(super) fn collect(picture: Picture, run: &Run<'_>) -> Result<(Recorded, WindowEnd), ProfilerError> {
    if !run.process.visible {
        return Err(ProfilerError::NotVisible { profiler: picture.spec().id });
    }
    let mut request = request(picture, vec![Target::from(run.process)], run.settings);
    if run.sharing.is_some_and(|sharing| !sharing.expects_code()) {
        request.names = NamesFirst::Once;
    }
    let mut collecting = Collecting::start(request).map_err(sampling)?;
    if let Some(code) = collecting.code(run.process.pid) {
        run.hand_on_code(|| code);
    }
    let begin = Instant::now();
    let end = loop {
        let elapsed = begin.elapsed();
        let left = run.duration.saturating_sub(elapsed);
        if left.is_zero() {
            break WindowEnd::Completed;
        }
        let samples = collecting.counts().on_cpu + collecting.wait_stacks();
        let note = format!("{} samples", count_words(samples));
        run.control.progress(elapsed, run.duration, &note);
        if run.control.wait(Duration::ZERO) == Stop::Cancelled {
            break WindowEnd::Cancelled;
        }
        if collecting.wait(left.min(SLICE))? == Wake::TargetsEnded
            || !Process::new(run.process.pid).is_alive()
        {
            break WindowEnd::TargetExited;
        }
    };
    Ok((collecting.finish(), end))
}
