//! Tables.

use model::{Cell, Column, Table, Unit};

use super::grid::{Grid, Head, LastColumn};
use super::page::{Ink, Page};
use super::text::Align;
use crate::hostile::printable;
use crate::phrases::counted;
use crate::value::{format_cell, is_numeric};

/// Said instead of a table, tree, stack or series with nothing in it.
pub(super) const NOTHING: &str = "(none)";

pub(super) fn draw(page: &mut Page, table: &Table, indent: usize, last: LastColumn) {
    let margin = " ".repeat(indent);
    if table.rows.is_empty() && table.omitted_rows == 0 {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, NOTHING)]);
        return;
    }
    let grid = grid(&table.columns, table.rows.iter().map(Vec::as_slice));
    let (heading, rows) = match last == LastColumn::Shares && grid.is_prose() {
        true => grid.lay_out_prose(page.room(indent)),
        false => grid.lay_out(page.room(indent), last),
    };
    if !heading.is_empty() {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, &heading)]);
    }
    for row in rows {
        page.line(&[(Ink::Plain, &margin), (Ink::Plain, &row)]);
    }
    if table.omitted_rows > 0 {
        let more = format!("… and {}", counted(table.omitted_rows, "more row"));
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, &more)]);
    }
}

/// Columns and cells as texts; short rows are filled.
pub(super) fn grid<'a>(columns: &[Column], rows: impl Iterator<Item = &'a [Cell]>) -> Grid {
    let heads = columns.iter().map(|column| Head {
        title: printable(&column.title),
        align: if is_numeric(column.unit) { Align::Right } else { Align::Left },
        shrinks: column.unit == Unit::Text,
    });
    let texts = |row: &[Cell]| {
        let cell = |(index, column): (usize, &Column)| {
            printable(&format_cell(row.get(index).unwrap_or(&Cell::Missing), column.unit))
        };
        columns.iter().enumerate().map(cell).collect()
    };
    Grid { heads: heads.collect(), rows: rows.map(texts).collect() }
}
