//! A walk over the heap from outside: objects lie one behind the other.

use std::collections::HashMap;

use runtime_memory::Memory;

use crate::layout::{HeapLayout, HeapRange};
use crate::shape::Shape;

/// Memory that is read at once.
const CHUNK: usize = 1 << 20;
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
    /// Ranges that were left because something in them is no object.
    pub(crate) broken: u64,
}

impl<'m, M: Memory> Walk<'m, M> {
    /// `hole` is the method table of what lies between objects.
    pub(crate) fn new(memory: &'m M, hole: u64, gaps: impl IntoIterator<Item = (u64, u64)>) -> Walk<'m, M> {
        let shapes = HashMap::from([(hole, Some(Shape::hole()))]);
        let gaps = gaps.into_iter().collect();
        let (chunk, references) = (Vec::new(), Vec::new());
        Walk { memory, shapes, hole, gaps, chunk, chunk_at: 0, references, broken: 0 }
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
        let (mut at, mut empty) = (range.start, 0);
        while at.saturating_add(SMALLEST) <= range.end {
            if let Some(end) = self.gaps.get(&at).filter(|end| **end >= at && **end <= range.end) {
                at = end.saturating_add(SMALLEST);
                continue;
            }
            let Some(head) = self.word(at, range.end) else {
                self.broken += 1;
                return Ok(());
            };
            // Memory that was never given out.
            if head & !MARKS == 0 {
                empty += 8;
                if empty > MOST_EMPTY {
                    self.broken += 1;
                    return Ok(());
                }
                at += 8;
                continue;
            }
            empty = 0;
            let Some(met) = self.object(at, head & !MARKS, range.end, is_type) else {
                self.broken += 1;
                return Ok(());
            };
            if met.method_table != self.hole {
                self.collect(&met, range.end);
                meet(&met, &self.references)?;
            }
            at = at.saturating_add(met.bytes.next_multiple_of(8).max(SMALLEST));
        }
        Ok(())
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
