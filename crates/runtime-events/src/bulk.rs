//! Lists of records of one size, iterated in place.

use std::marker::PhantomData;
use std::slice::ChunksExact;

use crate::ClrInstance;
use crate::error::FieldError;
use crate::layout::{Fields, Layout};

/// A record of a list.
pub trait Record: Sized {
    /// The field that is named when the list is cut off.
    #[doc(hidden)]
    const NAME: &'static str;
    /// How many bytes it takes, for pointers of this many.
    #[doc(hidden)]
    fn size(pointer: usize) -> usize;
    /// Takes it from as many bytes.
    #[doc(hidden)]
    fn from_bytes(bytes: &[u8], pointer: usize) -> Self;
}

/// A list, or the part of one that fits into an event: parts of a list have ascending numbers.
#[derive(Debug, PartialEq)]
pub struct Bulk<'a, T> {
    /// Which part of the list, counted from 0.
    pub index: u32,
    /// Which runtime.
    pub clr: ClrInstance,
    records: &'a [u8],
    pointer: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Bulk<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Bulk<'_, T> {}

impl<'a, T: Record> Bulk<'a, T> {
    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len() / T::size(self.pointer)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The records, in their order.
    #[must_use]
    pub fn iter(&self) -> BulkIter<'a, T> {
        let records = self.records.chunks_exact(T::size(self.pointer));
        BulkIter { records, pointer: self.pointer, kind: PhantomData }
    }
}

impl<'a, T: Record> IntoIterator for Bulk<'a, T> {
    type Item = T;
    type IntoIter = BulkIter<'a, T>;

    fn into_iter(self) -> BulkIter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Record> Layout<'a> for Bulk<'a, T> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let index = fields.take("index")?;
        let count = fields.take::<u32>("count")?;
        let clr = fields.take("clr")?;
        let pointer = fields.pointer_bytes();
        let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(T::size(pointer)));
        let records = fields.bytes(size.unwrap_or(usize::MAX), T::NAME)?;
        Ok(Bulk { index, clr, records, pointer, kind: PhantomData })
    }
}

/// Records of a list.
#[derive(Clone, Debug)]
pub struct BulkIter<'a, T> {
    records: ChunksExact<'a, u8>,
    pointer: usize,
    kind: PhantomData<fn() -> T>,
}

impl<T: Record> Iterator for BulkIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.records.next().map(|bytes| T::from_bytes(bytes, self.pointer))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.records.size_hint()
    }
}

impl<T: Record> ExactSizeIterator for BulkIter<'_, T> {}

/// Reads numbers from a record. What is not there, which the size of the record rules out, is 0.
pub(crate) struct Numbers<'a> {
    bytes: &'a [u8],
    pointer: usize,
}

impl<'a> Numbers<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8], pointer: usize) -> Self {
        Numbers { bytes, pointer }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> [u8; N] {
        let Some((array, rest)) = self.bytes.split_first_chunk::<N>() else { return [0; N] };
        self.bytes = rest;
        *array
    }

    #[inline]
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    #[inline]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    #[inline]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    #[inline]
    pub fn pointer(&mut self) -> u64 {
        if self.pointer == 4 { u64::from(self.u32()) } else { self.u64() }
    }
}
