//! How a collection was decided on.

use crate::error::FieldError;
use crate::gc::{GcReason, PauseMode};
use crate::layout::{Fields, Layout};
use crate::{ClrInstance, Generation};

events! {
    /// The part of event 205 that every version has.
    Decision {
        /// The budget of generation 0 from now on.
        gen0_budget_bytes: u64,
        /// Heaps; more than one with the server collector.
        heaps: u32,
        /// The generation it chose.
        generation: Generation,
        /// How often the budget of generation 0 was reduced.
        gen0_reductions: u32,
        /// Why.
        reason: GcReason,
        /// What it did: 1 concurrent, 2 compacting, 4 promotion, 8 demotion, 16 card bundles, 32 elevation.
        mechanisms: u32,
        /// Which runtime.
        clr: ClrInstance,
        /// How much it may disturb.
        pause_mode: PauseMode [since 2],
        /// Memory in use on the machine, in percent.
        memory_load: u32 [since 2],
        /// Why this generation, in bits (.NET 5).
        condemn_reasons: u32 [since 3],
        /// More of them (.NET 5).
        more_condemn_reasons: u32 [since 3],
    }
}

/// Event 205: how a collection was decided on, for all heaps together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GlobalHeapHistory<'a> {
    /// What was decided.
    pub decision: Decision,
    times: &'a [u8],
}

impl<'a> GlobalHeapHistory<'a> {
    /// How long its steps took, in an order and a unit that the runtime keeps to itself (.NET 5).
    pub fn times(&self) -> impl ExactSizeIterator<Item = u32> + use<'a> {
        self.times.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes))
    }
}

impl<'a> Layout<'a> for GlobalHeapHistory<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let decision = Decision::decode(fields)?;
        let count = fields.since::<u32>(4, "time_count")?.unwrap_or_default();
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(4));
        Ok(GlobalHeapHistory { decision, times: fields.bytes(bytes.unwrap_or(usize::MAX), "times")? })
    }
}
