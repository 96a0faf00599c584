//! Lengths of some pauses, sorted.

use model::{Cell, Column, Table, Unit};

/// Lengths of some pauses.
pub(crate) struct Lengths {
    sorted: Vec<u64>,
    /// All of them together.
    pub(crate) total: u64,
}

impl Lengths {
    /// Of these.
    pub(crate) fn of(lengths: impl IntoIterator<Item = u64>) -> Lengths {
        let mut sorted: Vec<u64> = lengths.into_iter().collect();
        sorted.sort_unstable();
        Lengths { total: sorted.iter().sum(), sorted }
    }

    /// The length that this many per cent of them do not exceed.
    pub(crate) fn percentile(&self, percent: usize) -> u64 {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied().unwrap_or(0)
    }

    /// The longest; 0 of none.
    pub(crate) fn longest(&self) -> u64 {
        self.sorted.last().copied().unwrap_or(0)
    }

    /// A table of groups of pauses, of which the first column says what they are.
    pub(crate) fn table(first: Column) -> Table {
        Table::new([
            first,
            Column::new("pauses", "Pauses", Unit::Count),
            Column::new("total", "Total", Unit::Nanoseconds),
            Column::new("share-percent", "Share", Unit::Percent),
            Column::new("p50", "p50", Unit::Nanoseconds),
            Column::new("p95", "p95", Unit::Nanoseconds),
            Column::new("p99", "p99", Unit::Nanoseconds),
            Column::new("max", "Max", Unit::Nanoseconds),
        ])
    }

    /// One group in it, with its share of the window in per cent.
    pub(crate) fn row(&self, name: String, share: f64) -> [Cell; 8] {
        [
            Cell::from(name),
            Cell::from(self.sorted.len() as u64),
            Cell::from(self.total),
            Cell::from(share),
            Cell::from(self.percentile(50)),
            Cell::from(self.percentile(95)),
            Cell::from(self.percentile(99)),
            Cell::from(self.longest()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_occurred() {
        let lengths = Lengths::of((1..=200).rev());
        assert_eq!((lengths.percentile(50), lengths.percentile(99), lengths.longest()), (100, 198, 200));
        assert_eq!((lengths.total, Lengths::of([7]).percentile(50)), (20_100, 7));
        assert_eq!((Lengths::of([]).percentile(99), Lengths::of([]).longest()), (0, 0));
    }
}
