//! Texts in columns, and the choice of which column gives way when they do not fit.

use super::text::{Align, cut, pad, width, wrap};

/// Columns between two columns.
pub(crate) const GAP: usize = 2;

/// A text column is not cut below this while another one can give way.
const USEFUL_TEXT: usize = 8;

/// A narrower column makes a tower of a sentence.
const USEFUL_SENTENCE: usize = 16;

/// Words of a text that is no sentence.
const LONGEST_NAME: usize = 4;

/// How the last text column of a table behaves when the table is too wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastColumn {
    /// Like the others: the widest text column gives way first.
    #[default]
    Shares,
    /// It takes what the others leave and gives way before them, as a command line should.
    Fills,
}

/// Heading of one column, and how it is set.
pub(crate) struct Head {
    pub(crate) title: String,
    pub(crate) align: Align,
    /// May be cut; a cut number would be a wrong number.
    pub(crate) shrinks: bool,
}

/// Texts in columns. Each row has one text per head.
pub(crate) struct Grid {
    pub(crate) heads: Vec<Head>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Grid {
    /// Chooses widths for at most `room` columns and sets the heading (empty without titles) and the rows.
    pub(crate) fn lay_out(&self, room: usize, last: LastColumn) -> (String, Vec<String>) {
        let widths = self.widths(room, last);
        let titles: Vec<&str> = self.heads.iter().map(|head| head.title.as_str()).collect();
        let heading = if titles.iter().all(|title| title.is_empty()) {
            String::new()
        } else {
            self.set(&titles, &widths)
        };
        let rows = self.rows.iter().map(|row| {
            let texts: Vec<&str> = row.iter().map(String::as_str).collect();
            self.set(&texts, &widths)
        });
        (heading, rows.collect())
    }

    /// Whether it is made of sentences: mostly text, with a cell that is longer than a name would be.
    pub(crate) fn is_prose(&self) -> bool {
        let numbers = self.heads.iter().filter(|head| !head.shrinks).count();
        numbers * 2 < self.heads.len()
            && self.rows.iter().flatten().any(|text| text.split(' ').count() > LONGEST_NAME)
    }

    /// The same, with sentences on as many lines as they need: a cut one says nothing.
    pub(crate) fn lay_out_prose(&self, room: usize) -> (String, Vec<String>) {
        let widths = self.widths(room, LastColumn::Shares);
        let (heading, _) = self.lay_out(room, LastColumn::Shares);
        let mut lines = Vec::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.heads);
            let cells: Vec<Vec<String>> = cells
                .map(|((text, width), head)| {
                    match head.shrinks && *width >= USEFUL_SENTENCE && text.contains(' ') {
                        true => wrap(text, *width),
                        false => vec![text.clone()],
                    }
                })
                .collect();
            for number in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
                let texts: Vec<&str> =
                    cells.iter().map(|cell| cell.get(number).map_or("", String::as_str)).collect();
                lines.push(self.set(&texts, &widths));
            }
        }
        (heading, lines)
    }

    /// One line: each text cut and padded to the width of its column.
    fn set(&self, texts: &[&str], widths: &[usize]) -> String {
        let cells = texts.iter().zip(widths).zip(&self.heads);
        let cells = cells.map(|((text, width), head)| pad(&cut(text, *width), *width, head.align));
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP))
    }

    fn widths(&self, room: usize, last: LastColumn) -> Vec<usize> {
        let natural = |(index, head): (usize, &Head)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|text| width(text));
            cells.chain([width(&head.title)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.heads.iter().enumerate().map(natural).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        let total: usize = widths.iter().sum();
        let mut excess = (total + gaps).saturating_sub(room);
        let texts: Vec<usize> = (0..widths.len()).filter(|index| self.heads[*index].shrinks).collect();
        if last == LastColumn::Fills {
            let filler = &texts[texts.len().saturating_sub(1)..];
            give_way(&mut widths, filler, 2 * USEFUL_TEXT, &mut excess);
        }
        give_way(&mut widths, &texts, USEFUL_TEXT, &mut excess);
        // Only numbers are left, or far too many columns: everything gives way.
        let all: Vec<usize> = (0..widths.len()).collect();
        give_way(&mut widths, &all, 1, &mut excess);
        widths
    }
}

/// Takes `excess` from the widest of the `candidates`, one column at a time, down to `floor`.
fn give_way(widths: &mut [usize], candidates: &[usize], floor: usize, excess: &mut usize) {
    while *excess > 0 {
        let Some(&widest) = candidates.iter().max_by_key(|index| widths[**index]) else { return };
        if widths[widest] <= floor {
            return;
        }
        widths[widest] -= 1;
        *excess -= 1;
    }
}
