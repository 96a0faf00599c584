//! Values over time, one sparkline per line.

use model::{Series, Unit};

use super::grid::{Grid, Head, LastColumn};
use super::page::{Ink, Page};
use super::table::NOTHING;
use super::text::{Align, width};
use crate::hostile::printable;
use crate::sparkline::{draw as sparkline, extent};
use crate::value::{MISSING, format_number};

/// Columns of a sparkline: wide enough for a shape, narrow enough to leave the label whole.
const SPARKLINE: std::ops::RangeInclusive<usize> = 8..=40;

pub(super) fn draw(page: &mut Page, series: &Series, indent: usize) {
    let margin = " ".repeat(indent);
    if series.lines.is_empty() {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, NOTHING)]);
        return;
    }
    let mut rows: Vec<Vec<String>> = series
        .lines
        .iter()
        .map(|line| {
            let numbers = extent(line).map(|extent| [extent.min, extent.max, extent.last]);
            let mut row = vec![printable(&line.label), String::new()];
            row.extend((0..3).map(|index| number(numbers, index, series.unit)));
            row
        })
        .collect();
    let others: usize =
        (0..5).map(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0) + 2).sum();
    let room = page.room(indent).saturating_sub(others).clamp(*SPARKLINE.start(), *SPARKLINE.end());
    for (row, line) in rows.iter_mut().zip(&series.lines) {
        row[1] = sparkline(line, room);
    }
    let head = |title: &str, align, shrinks| Head { title: title.to_owned(), align, shrinks };
    let heads = vec![
        head("", Align::Left, true),
        head("", Align::Left, false),
        head("min", Align::Right, false),
        head("max", Align::Right, false),
        head("last", Align::Right, false),
    ];
    let (heading, rows) = Grid { heads, rows }.lay_out(page.room(indent), LastColumn::Shares);
    page.line(&[(Ink::Plain, &margin), (Ink::Faint, &heading)]);
    for row in rows {
        page.line(&[(Ink::Plain, &margin), (Ink::Plain, &row)]);
    }
}

fn number(numbers: Option<[f64; 3]>, index: usize, unit: Unit) -> String {
    numbers.map_or_else(|| MISSING.to_owned(), |numbers| format_number(numbers[index], unit))
}
