//! The rows of the screen, before they are drawn.

use std::cmp::Reverse;

use model::{Frame, FrameKind};
use reports::printable;
use stacks::{CallTree, Profile, top_methods};

use super::state::{Side, Sort, State};

/// A method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodRow {
    /// Its name.
    pub name: String,
    /// Where its code comes from.
    pub kind: FrameKind,
    /// Whether it is the program's own.
    pub is_own: bool,
    /// Nanoseconds in it.
    pub own: u64,
    /// The same with all it calls.
    pub total: u64,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Nanoseconds of the side that is shown.
    pub time: u64,
}

/// The methods to be shown, in their order.
pub fn methods(state: &State) -> Vec<MethodRow> {
    let Some(interval) = state.shown() else { return Vec::new() };
    let picked = state.picked.as_ref().map(|picked| picked.id);
    let mut rows = methods_of(interval.profile(state.side), picked, Fold::of(state.side, state.folded));
    let filter = state.filter.to_lowercase();
    rows.retain(|row| filter.is_empty() || row.name.to_lowercase().contains(&filter));
    match state.sort {
        Sort::Own => rows.sort_by_key(|row| Reverse((row.own, row.total))),
        Sort::Total => rows.sort_by_key(|row| Reverse((row.total, row.own))),
        Sort::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    rows
}

/// Which frames are no methods: their time is their caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// None.
    Nothing,
    /// All but .NET code: every wait ends in the same function of the kernel.
    Native,
    /// All but the program's own code.
    Framework,
}

impl Fold {
    /// As it is shown.
    pub fn of(side: Side, folded: bool) -> Fold {
        match (side, folded) {
            (_, true) => Fold::Framework,
            (Side::OnCpu, false) => Fold::Nothing,
            (Side::OffCpu, false) => Fold::Native,
        }
    }

    fn has(self, frame: &Frame) -> bool {
        match self {
            Fold::Nothing => false,
            Fold::Native => frame.kind != FrameKind::Managed,
            Fold::Framework => !is_own(frame),
        }
    }
}

/// The methods of a profile, of all threads or of one.
pub fn methods_of(profile: &Profile, thread: Option<u64>, fold: Fold) -> Vec<MethodRow> {
    let of_thread = |slot: stacks::ThreadSlot| {
        let id = profile.threads.get(slot.0 as usize).map(|thread| thread.id);
        thread.is_none() || id == thread
    };
    let samples = profile.samples.iter().filter(|sample| of_thread(sample.thread));
    let tree = CallTree::new(profile, samples);
    let weights = top_methods(profile, &tree, |frame| fold.has(frame));
    let row = |weight: stacks::MethodWeight| {
        let frame = profile.frames.get(weight.frame.0 as usize)?;
        Some(MethodRow {
            name: printable(&frame.name),
            kind: frame.kind,
            is_own: is_own(frame),
            own: weight.own,
            total: weight.total,
        })
    };
    weights.into_iter().filter_map(row).collect()
}

/// Whether a frame is the program's own code.
fn is_own(frame: &Frame) -> bool {
    frame.kind == FrameKind::Managed && !symbols::is_framework(frame)
}

/// The threads by their time, most first.
pub fn threads(state: &State) -> Vec<ThreadRow> {
    let Some(interval) = state.shown() else { return Vec::new() };
    let profile = interval.profile(state.side);
    let mut times = vec![0_u64; profile.threads.len()];
    for sample in &profile.samples {
        if let Some(time) = times.get_mut(sample.thread.0 as usize) {
            *time = time.saturating_add(sample.weight);
        }
    }
    let row = |(thread, time): (&stacks::ProfileThread, u64)| ThreadRow {
        id: thread.id,
        name: printable(thread.name.as_deref().unwrap_or("?")),
        time,
    };
    let mut rows: Vec<ThreadRow> = profile.threads.iter().zip(times).map(row).collect();
    rows.sort_by_key(|row| (Reverse(row.time), row.id));
    rows
}

/// All time of the side that is shown, in nanoseconds.
pub fn total(state: &State) -> u64 {
    state.shown().map_or(0, |interval| interval.profile(state.side).total())
}

/// A time as part of one processor, or of one thread, in per cent.
pub fn percent(time: u64, of: std::time::Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    let time = time as f64;
    if of.is_zero() { 0.0 } else { time / 1e7 / of.as_secs_f64() }
}
