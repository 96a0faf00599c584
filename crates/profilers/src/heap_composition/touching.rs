//! Who makes native memory grow: the methods that run when pages outside of the managed heap are touched for the first time.
//!
//! Nobody tells of native blocks that are taken and not given back. But a block that is used is touched, and the kernel can say
//! what ran at each first touch of a page. What is freed and taken again has its pages already.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use kernel_collector::{Collecting, Recorded, Request, Target};
use model::{Cost, Frame, FrameKind};
use perf_sampler::{Collect, Trigger, Wake};
use stacks::{Profile, StackKey};

use super::makers::Maker;
use crate::ProfilerError;
use crate::blame::is_own;
use crate::control::Stop;
use crate::openers::sampling;
use crate::profiler::Run;

/// Of so many new pages, one is looked at: 64 kB.
const EVERY: u32 = 16;
/// Longest look.
const LONGEST: Duration = Duration::from_secs(2);
/// How long is waited at once.
const SLICE: Duration = Duration::from_millis(50);
/// Fewer samples say nothing.
const ENOUGH: usize = 10;

const METHOD: &str = "samples of the kernel at pages that are touched for the first time";

/// Watches for a short while who touches new memory that does not lie in these ranges. None if nobody of the program's did.
/// And what it cost.
pub(super) fn watch(run: &Run<'_>, but: Vec<Range<u64>>) -> Result<(Option<Maker>, Cost), ProfilerError> {
    let mut request = Request::new(vec![Target::from(run.process)], Collect::OnCpu);
    request.sampling.trigger = Trigger::NewMemory { every: EVERY, but };
    let mut collecting = Collecting::start(request).map_err(sampling)?;
    let until = Instant::now() + LONGEST.min(run.duration);
    while Instant::now() < until
        && run.control.wait(Duration::ZERO) != Stop::Cancelled
        && collecting.wait(SLICE)? != Wake::TargetsEnded
    {}
    let recorded = collecting.finish();
    let counts = recorded.summary.counts;
    let cost = Cost {
        method: METHOD.to_owned(),
        bytes: counts.stack_bytes,
        events: counts.on_cpu,
        events_lost: counts.lost,
        ..Cost::default()
    };
    Ok((most(&recorded), cost))
}

/// The method of the program's own with the most new memory, if it is more than half of what the program touched.
fn most(recorded: &Recorded) -> Option<Maker> {
    let profile = &recorded.processes.first()?.profiles.on_cpu;
    if profile.samples.len() < ENOUGH {
        return None;
    }
    let mut stacks: HashMap<StackKey, u64> = HashMap::new();
    for sample in &profile.samples {
        if let Some(stack) = sample.stack {
            *stacks.entry(stack).or_default() += sample.weight;
        }
    }
    let mut methods: HashMap<&str, (&Frame, u64)> = HashMap::new();
    for (stack, weight) in stacks {
        if let Some(frame) = own(profile, stack) {
            methods.entry(&frame.name).or_insert((frame, 0)).1 += weight;
        }
    }
    let of = profile.samples.iter().map(|sample| sample.weight).sum();
    let by_weight = |(frame, weight): &(&Frame, u64)| (*weight, std::cmp::Reverse(frame.name.clone()));
    let (frame, weight) = methods.into_values().max_by_key(by_weight)?;
    (weight * 2 > of).then(|| Maker { frame: frame.clone(), weight, of })
}

/// The innermost frame of the program's own .NET code.
fn own(profile: &Profile, stack: StackKey) -> Option<&Frame> {
    profile.frames_of(stack).find(|frame| frame.kind == FrameKind::Managed && is_own(frame))
}
