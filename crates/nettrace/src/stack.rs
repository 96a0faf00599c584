//! Stacks, which events refer to by number.

use crate::cursor::{Cursor, Parsed};
use crate::span_table::SpanTable;
use crate::{CodeAddress, PointerSize, StackId};

/// The instruction pointers of a thread, the innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack<'a> {
    /// Its number, which means something else after the next sequence point.
    pub id: StackId,
    bytes: &'a [u8],
    pointer_size: PointerSize,
}

impl<'a> Stack<'a> {
    pub(crate) fn new(id: StackId, bytes: &'a [u8], pointer_size: PointerSize) -> Self {
        Stack { id, bytes, pointer_size }
    }

    /// How many frames it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.pointer_size.bytes()
    }

    /// Whether it has no frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its addresses as they stand in the stream: the same bytes are the same stack.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where each frame stood, the innermost first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = CodeAddress> + ExactSizeIterator + use<'a> {
        let size = self.pointer_size.bytes();
        self.bytes.chunks_exact(size).map(|bytes| {
            CodeAddress(bytes.iter().rev().fold(0, |address, byte| address << 8 | u64::from(*byte)))
        })
    }
}

/// Stacks that have just arrived.
#[derive(Clone, Copy, Debug)]
pub struct Stacks<'a> {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) table: &'a SpanTable,
    pub(crate) pointer_size: PointerSize,
}

impl<'a> Stacks<'a> {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = Stack<'a>> + use<'a> {
        let Stacks { first, count, table, pointer_size } = *self;
        (first..first.saturating_add(count)).filter_map(move |number| {
            let bytes = table.get(table.span(number)?);
            Some(Stack::new(StackId(number), bytes, pointer_size))
        })
    }

    /// How many frames each of them has; also known to a reader that keeps no stacks
    /// ([`Reader::for_copying`](crate::Reader::for_copying)).
    pub fn depths(&self) -> impl Iterator<Item = (StackId, usize)> + use<'a> {
        let Stacks { first, count, table, pointer_size } = *self;
        (first..first.saturating_add(count)).filter_map(move |number| {
            Some((StackId(number), table.span(number)?.len() / pointer_size.bytes()))
        })
    }
}

/// Where a block of stacks is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StackBlock {
    pub first: u32,
    pub count: u32,
}

impl StackBlock {
    /// Takes all stacks of a block into the table; `read` counts them, also when the block is cut off.
    pub fn read(cursor: &mut Cursor<'_>, table: &mut SpanTable, read: &mut StackBlock) -> Parsed<()> {
        read.first = cursor.u32("first stack id")?;
        let count = cursor.u32("number of stacks")?;
        while read.count < count {
            let size = cursor.u32("stack size")?;
            let bytes = cursor.take(size as usize, "stack")?;
            let Some(number) = read.first.checked_add(read.count) else {
                return Err(cursor.invalid("number of stacks", "ids beyond 32 bits"));
            };
            table.push(number, bytes);
            read.count += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_size_of_a_pointer() {
        let bytes = [1, 2, 0, 0, 3, 0, 0, 0x80];
        let narrow = Stack::new(StackId(1), &bytes, PointerSize::Four);
        assert_eq!(narrow.frames().collect::<Vec<_>>(), [CodeAddress(0x201), CodeAddress(0x8000_0003)]);
        let wide = Stack::new(StackId(1), &bytes, PointerSize::Eight);
        assert_eq!(wide.frames().collect::<Vec<_>>(), [CodeAddress(0x8000_0003_0000_0201)]);
        assert_eq!((wide.len(), wide.is_empty()), (1, false));
    }

    #[test]
    fn stacks_before_the_cut_are_kept() {
        let mut table = SpanTable::new(1024);
        let mut read = StackBlock::default();
        let bytes = [7, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0xAA, 9, 0, 0, 0, 1];
        let fault = StackBlock::read(&mut Cursor::new(&bytes), &mut table, &mut read).unwrap_err();
        assert_eq!((fault.at, fault.what), (17, "stack"));
        assert_eq!((read.first, read.count), (7, 1));
        assert_eq!(table.get(table.span(7).unwrap()), [0xAA]);
    }
}
