//! A walk over the heap from outside: objects lie one behind the other.

use std::collections::HashMap;

use runtime_memory::Memory;

use crate::layout::{HeapLayout, HeapRange};
use crate::shape::Shape;

/// Memory that is read at once.
const CHUNK: usize = 1 << 20;
/// What is read beyond the place up to which objects are counted.
const BEYOND: u64 = 4 << 10;
/// The smallest object, which also stands behind what a thread may still fill.
const SMALLEST: u64 = 24;
/// More memory that was never given out does not lie between objects.
const MOST_EMPTY: u64 = 8 << 20;
/// Bits of an object's first word that the collector uses.
const MARKS: u64 = 7;

/// An object that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    pub(crate) at: u64,
    pub(crate) method_table: u64,
    pub(crate) bytes: u64,
}

/// One step of a walk.
struct Step {
    met: Option<Met>,
    next: u64,
}

/// Walks over heaps.
pub(crate) struct Walk<'m, M> {
    memory: &'m M,
    shapes: HashMap<u64, Option<Shape>>,
    hole: u64,
    /// What threads may still fill: by its beginning, its end.
    gaps: HashMap<u64, u64>,
    chunk: Vec<u8>,
    chunk_at: u64,
    references: Vec<u64>,
    /// Behind this nobody wants to know more.
    until: u64,
    /// Ranges that were left because something in them is no object.
    pub(crate) broken: u64,
}

impl<'m, M: Memory> Walk<'m, M> {
    /// `hole` is the method table of what lies between objects.
    pub(crate) fn new(memory: &'m M, hole: u64, gaps: impl IntoIterator<Item = (u64, u64)>) -> Walk<'m, M> {
        let shapes = HashMap::from([(hole, Some(Shape::hole()))]);
        let gaps = gaps.into_iter().collect();
        let (chunk, references) = (Vec::new(), Vec::new());
        Walk { memory, shapes, hole, gaps, chunk, chunk_at: 0, references, until: u64::MAX, broken: 0 }
    }

    /// Meets every object of the heap, holes left out, with what it refers to.
    pub(crate) fn each<E>(
        &mut self,
        heap: &HeapLayout,
        mut is_type: impl FnMut(u64) -> bool,
        mut meet: impl FnMut(&Met, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        for range in &heap.ranges {
            self.range(range, &mut is_type, &mut meet)?;
        }
        Ok(())
    }

    fn range<E>(
        &mut self,
        range: &HeapRange,
        is_type: &mut impl FnMut(u64) -> bool,
        meet: &mut impl FnMut(&Met, &[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut at = range.start;
        while let Some(step) = self.step(at, range.end, is_type) {
            if let Some(met) = step.met.filter(|met| met.method_table != self.hole) {
                self.collect(&met, range.end);
                meet(&met, &self.references)?;
            }
            at = step.next;
        }
        Ok(())
    }

    /// Counts the objects of a range up to an address, holes among them. Gives how many, and the address behind the last one.
    pub(crate) fn count(&mut self, range: &HeapRange, until: u64) -> (u64, u64) {
        self.until = until;
        let (mut at, mut objects) = (range.start, 0);
        while at < until
            && let Some(step) = self.step(at, range.end, &mut |_| true)
        {
            objects += u64::from(step.met.is_some());
            at = step.next;
        }
        self.until = u64::MAX;
        (objects, at)
    }

    /// What lies at an address: an object, or memory without one up to the next. None at the end, and where neither is.
    fn step(&mut self, at: u64, end: u64, is_type: &mut impl FnMut(u64) -> bool) -> Option<Step> {
        if at.saturating_add(SMALLEST) > end {
            return None;
        }
        if let Some(gap) = self.gaps.get(&at).filter(|gap| **gap >= at && **gap <= end) {
            return Some(Step { met: None, next: gap.saturating_add(SMALLEST) });
        }
        let found = match self.word(at, end).map(|head| head & !MARKS) {
            None => None,
            // Memory that was never given out.
            Some(0) => self.behind_empty(at, end).map(|next| Step { met: None, next }),
            Some(method_table) => self.object(at, method_table, end, is_type).map(|met| {
                let next = at.saturating_add(met.bytes.next_multiple_of(8).max(SMALLEST));
                Step { met: Some(met), next }
            }),
        };
        self.broken += u64::from(found.is_none());
        found
    }

    /// Behind memory that was never given out; none if it is too much.
    fn behind_empty(&mut self, from: u64, end: u64) -> Option<u64> {
        let mut at = from;
        while at < self.until && at.saturating_add(SMALLEST) <= end && self.word(at, end)? & !MARKS == 0 {
            at += 8;
            if at - from > MOST_EMPTY {
                return None;
            }
        }
        Some(at)
    }

    fn object(
        &mut self,
        at: u64,
        method_table: u64,
        end: u64,
        is_type: &mut impl FnMut(u64) -> bool,
    ) -> Option<Met> {
        let elements = self.word(at.checked_add(8)?, end)? & 0xffff_ffff;
        let memory = self.memory;
        let shape = self.shapes.entry(method_table);
        let shape =
            shape.or_insert_with(|| Shape::read(memory, method_table).filter(|_| is_type(method_table)));
        let shape = shape.as_ref()?;
        let elements = if shape.has_elements() { u32::try_from(elements).ok()? } else { 0 };
        let bytes = shape.bytes(elements);
        (at.checked_add(bytes)? <= end).then_some(Met { at, method_table, bytes })
    }

    /// What an object refers to, without nulls.
    fn collect(&mut self, met: &Met, end: u64) {
        self.references.clear();
        let Some(shape) = self.shapes.get(&met.method_table).cloned().flatten() else { return };
        if !shape.has_references() {
            return;
        }
        for (from, to) in shape.stretches(met.bytes) {
            let mut at = met.at + from;
            while at < met.at + to {
                match self.word(at, end) {
                    None => break,
                    Some(0) => {}
                    Some(reference) => self.references.push(reference),
                }
                at += 8;
            }
        }
    }

    /// Eight bytes, by way of a chunk that lies around them.
    fn word(&mut self, at: u64, end: u64) -> Option<u64> {
        let inside = |chunk: &[u8], chunk_at: u64| {
            let offset = usize::try_from(at.checked_sub(chunk_at)?).ok()?;
            Some(u64::from_le_bytes(chunk.get(offset..offset.checked_add(8)?)?.try_into().ok()?))
        };
        if let Some(word) = inside(&self.chunk, self.chunk_at) {
            return Some(word);
        }
        let end = end.min(self.until.max(at).saturating_add(BEYOND));
        let wanted = usize::try_from(end.checked_sub(at)?).unwrap_or(CHUNK).clamp(8, CHUNK);
        self.chunk.resize(wanted, 0);
        if !self.memory.read(at, &mut self.chunk) {
            // Not all of it is there.
            self.chunk = self.memory.up_to(at, wanted);
        }
        self.chunk_at = at;
        inside(&self.chunk, self.chunk_at)
    }
}
