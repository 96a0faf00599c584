//! How a collection was decided on.

use crate::bulk::Numbers;
use crate::error::FieldError;
use crate::gc::{GcDynamic, GcReason, PauseMode};
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

/// What a collection did to one generation of one heap. Bytes, all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GenerationHistory {
    /// Its size before, holes included.
    pub size_before: u64,
    /// Holes in it before that can be given out.
    pub free_list_before: u64,
    /// Holes in it before that are too small for that.
    pub free_objects_before: u64,
    /// Its size after, holes included.
    pub size_after: u64,
    /// Holes in it after that can be given out.
    pub free_list_after: u64,
    /// Holes in it after that are too small for that.
    pub free_objects_after: u64,
    /// What came into it from younger ones.
    pub came_in: u64,
    /// What survived because it was pinned.
    pub pinned_survived: u64,
    /// What survived otherwise.
    pub survived: u64,
    /// What may be allocated before it is collected again.
    pub budget: u64,
}

impl GenerationHistory {
    fn read(numbers: &mut Numbers<'_>) -> GenerationHistory {
        let mut next = || numbers.pointer();
        GenerationHistory {
            size_before: next(),
            free_list_before: next(),
            free_objects_before: next(),
            size_after: next(),
            free_list_after: next(),
            free_objects_after: next(),
            came_in: next(),
            pinned_survived: next(),
            survived: next(),
            budget: next(),
        }
    }
}

/// Event 204: what a collection did to one heap. The workstation collector has one heap, the server's many.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PerHeapHistory<'a> {
    /// Which runtime.
    pub clr: ClrInstance,
    /// Which heap.
    pub heap: u32,
    generations: &'a [u8],
    pointer: usize,
}

/// Numbers of a [`GenerationHistory`].
const NUMBERS: usize = 10;

impl<'a> PerHeapHistory<'a> {
    /// Its generations: 0, 1, 2, large objects, and pinned objects (.NET 5). Those that were not collected have sizes, too.
    pub fn generations(&self) -> impl ExactSizeIterator<Item = GenerationHistory> + use<'a> {
        let pointer = self.pointer;
        let each = self.generations.chunks_exact((NUMBERS * pointer).max(1));
        each.map(move |bytes| GenerationHistory::read(&mut Numbers::new(bytes, pointer)))
    }
}

impl<'a> Layout<'a> for PerHeapHistory<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let clr = fields.take("clr")?;
        let pointer = fields.pointer_bytes();
        // What was allocated where in generation 2, and the reasons of decisions: for those who tune collectors.
        for _ in 0..6 {
            fields.pointer("allocated")?;
        }
        for _ in 0..5 {
            fields.take::<u32>("decision")?;
        }
        let heap = fields.take("heap")?;
        fields.pointer("extra_gen0_commit")?;
        let count = fields.take::<u32>("count")?;
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(NUMBERS * pointer));
        let generations = fields.bytes(bytes.unwrap_or(usize::MAX), "generations")?;
        Ok(PerHeapHistory { clr, heap, generations, pointer })
    }
}

/// What the collector has of the system's memory: told by the dynamic event of that name (.NET 8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommittedUsage {
    /// Bytes for objects.
    pub in_use: u64,
    /// Bytes that are about to be given back.
    pub to_give_back: u64,
    /// Bytes of free regions of its heaps.
    pub free: u64,
    /// Bytes of free regions that all heaps share.
    pub shared_free: u64,
    /// Bytes for its own tables.
    pub bookkeeping: u64,
}

impl CommittedUsage {
    /// The data of a dynamic event, if it is this one.
    #[must_use]
    pub fn of(event: &GcDynamic<'_>) -> Option<CommittedUsage> {
        if event.name != "CommittedUsage" {
            return None;
        }
        let mut numbers = event.data.get(2..)?.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        Some(CommittedUsage {
            in_use: numbers.next()?,
            to_give_back: numbers.next()?,
            free: numbers.next()?,
            shared_free: numbers.next()?,
            bookkeeping: numbers.next()?,
        })
    }
}
