//! Rows of bytes under consecutive numbers, all in one buffer that is emptied at once.

use std::ops::Range;

/// What a row costs beside its bytes.
const INDEX_COST: usize = size_of::<u32>();

/// Rows with numbers in a row.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number of its first row.
    first: u32,
    /// Where its ends begin in `ends`.
    index: usize,
    /// How many rows it has.
    count: u32,
    /// Where its first row begins in `bytes`.
    start: u32,
}

impl Run {
    fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }
}

/// The rows between two sequence points. A row with a number that is taken replaces the one that had it.
#[derive(Debug)]
pub(crate) struct SpanTable {
    bytes: Vec<u8>,
    /// Where each row ends in `bytes`; it begins where the one before it ends.
    ends: Vec<u32>,
    /// Ordered by number, without overlap.
    runs: Vec<Run>,
    limit: usize,
    /// Whether rows are remembered by their sizes alone.
    sizes_only: bool,
    /// Rows there was no room for, since the beginning.
    forgotten: u64,
}

impl SpanTable {
    pub fn new(limit: usize) -> Self {
        SpanTable {
            bytes: Vec::new(),
            ends: Vec::new(),
            runs: Vec::new(),
            limit,
            sizes_only: false,
            forgotten: 0,
        }
    }

    /// A table that knows which rows there are and how long each is, but not what is in them.
    pub fn of_sizes(limit: usize) -> Self {
        SpanTable { sizes_only: true, ..SpanTable::new(limit) }
    }

    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.runs.clear();
    }

    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds one row.
    pub fn push(&mut self, number: u32, row: &[u8]) {
        let start = self.ends.last().copied().unwrap_or(0);
        let size = start as usize + row.len();
        let held = if self.sizes_only { 0 } else { size };
        let fits =
            held + (self.ends.len() + 1) * INDEX_COST + self.runs.len() * size_of::<Run>() <= self.limit;
        let Some(end) = u32::try_from(size).ok().filter(|_| fits) else {
            self.forgotten += 1;
            return;
        };
        match self.runs.last_mut() {
            Some(run) if run.end() == u64::from(number) => run.count += 1,
            _ => {
                self.make_way(number);
                self.runs.push(Run { first: number, index: self.ends.len(), count: 1, start });
            }
        }
        if !self.sizes_only {
            self.bytes.extend_from_slice(row);
        }
        self.ends.push(end);
    }

    /// Drops the rows from `number` on.
    fn make_way(&mut self, number: u32) {
        while self.runs.pop_if(|run| run.first >= number).is_some() {}
        if let Some(run) = self.runs.last_mut() {
            run.count = run.count.min(number - run.first);
        }
    }

    #[inline]
    pub fn span(&self, number: u32) -> Option<Range<usize>> {
        let after = match self.runs.as_slice() {
            [_] => 1,
            runs => runs.partition_point(|run| run.first <= number),
        };
        let run = self.runs.get(after.checked_sub(1)?)?;
        let place = number.checked_sub(run.first).filter(|place| *place < run.count)?;
        let index = run.index + place as usize;
        let start = if place == 0 { run.start } else { *self.ends.get(index - 1)? };
        Some(start as usize..*self.ends.get(index)? as usize)
    }

    #[inline]
    pub fn get(&self, span: Range<usize>) -> &[u8] {
        self.bytes.get(span).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(u32, &[u8])]) -> SpanTable {
        let mut table = SpanTable::new(1024);
        for (number, row) in rows {
            table.push(*number, row);
        }
        table
    }

    fn row(table: &SpanTable, number: u32) -> Option<&[u8]> {
        table.span(number).map(|span| table.get(span))
    }

    #[test]
    fn rows_are_found_by_number() {
        let table = table(&[(1, b"one"), (2, b""), (3, b"three"), (10, b"ten")]);
        assert_eq!(row(&table, 1), Some(&b"one"[..]));
        assert_eq!(row(&table, 2), Some(&b""[..]));
        assert_eq!(row(&table, 3), Some(&b"three"[..]));
        assert_eq!(row(&table, 10), Some(&b"ten"[..]));
        assert_eq!([0, 4, 9, 11].map(|number| row(&table, number)), [None; 4]);
    }

    #[test]
    fn a_number_that_comes_again_gets_the_new_row() {
        let table = table(&[(5, b"a"), (6, b"b"), (9, b"c"), (6, b"d"), (7, b"e")]);
        assert_eq!(row(&table, 5), Some(&b"a"[..]));
        assert_eq!(row(&table, 6), Some(&b"d"[..]));
        assert_eq!(row(&table, 7), Some(&b"e"[..]));
        assert_eq!(row(&table, 9), None);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut table = table(&[(1, &[7; 1000]), (2, &[8; 100])]);
        assert_eq!((table.span(2), table.forgotten()), (None, 1));
        table.clear();
        table.push(u32::MAX, &[9; 100]);
        table.push(0, &[1]);
        assert_eq!(row(&table, u32::MAX), None);
        assert_eq!(row(&table, 0), Some(&[1][..]));
    }
}
