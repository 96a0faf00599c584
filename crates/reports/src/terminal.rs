//! For people at a terminal.
//!
//! The worst comes first, no line is wider than asked, and colour only repeats what the words already say.

mod findings;
mod grid;
mod page;
mod series;
mod stacks;
mod table;
mod text;
mod tree;

use model::{Body, Report, Table};

use crate::hostile::{LONGEST_PROSE, printable, printable_within};
use crate::phrases;
use page::{GLUE, Ink, Page};

pub use grid::LastColumn;

/// Narrowest page that is drawn; a narrower style gets this width.
pub const NARROWEST: usize = 20;

/// Indentation of what stands under a heading.
const INDENT: usize = 2;

/// Whether escape sequences for colour are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// Plain text, for files and pipes.
    #[default]
    Never,
    /// Colours and bold text, for a terminal.
    Always,
}

/// What the page looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// Columns of the page, at least [`NARROWEST`]. `usize::MAX` never cuts a line.
    pub width: usize,
    /// Whether to use colour.
    pub colour: Colour,
}

impl Default for TerminalStyle {
    fn default() -> Self {
        TerminalStyle { width: 80, colour: Colour::Never }
    }
}

/// A whole report. Of trees the heaviest nodes are drawn.
#[must_use]
pub fn render(report: &Report, style: &TerminalStyle) -> String {
    draw(report, style, tree::HEAVIEST)
}

/// A report that is about its trees: they are drawn as a whole, as far as that is of use to anybody.
#[must_use]
pub fn render_with_trees(report: &Report, style: &TerminalStyle) -> String {
    draw(report, style, tree::WHOLE)
}

fn draw(report: &Report, style: &TerminalStyle, most_nodes: usize) -> String {
    let mut page = Page::new(style);
    heading(&mut page, report);
    for finding in &report.findings {
        page.blank();
        findings::draw(&mut page, finding);
    }
    for section in &report.sections {
        page.blank();
        page.hanging(&[], 0, Ink::Strong, &printable(&section.title));
        match &section.body {
            Body::Table(table) => table::draw(&mut page, table, INDENT, LastColumn::Shares),
            Body::Tree(tree) => tree::draw(&mut page, tree, INDENT, most_nodes),
            Body::Stacks(stacks) => stacks::draw(&mut page, stacks, INDENT),
            Body::Series(series) => series::draw(&mut page, series, INDENT),
        }
    }
    if !report.notes.is_empty() {
        page.blank();
        page.line(&[(Ink::Strong, "Notes")]);
        for note in &report.notes {
            page.hanging(&[(Ink::Plain, "  - ")], 4, Ink::Plain, &printable_within(note, LONGEST_PROSE));
        }
    }
    page.blank();
    cost(&mut page, report);
    page.finish()
}

/// A table alone, such as a list of processes.
///
/// With `width: usize::MAX` nothing is cut but names above [`LONGEST_NAME`](crate::LONGEST_NAME).
#[must_use]
pub fn render_table(table: &Table, style: &TerminalStyle, last: LastColumn) -> String {
    let mut page = Page::new(style);
    table::draw(&mut page, table, 0, last);
    page.finish()
}

fn heading(page: &mut Page, report: &Report) {
    let name = printable(&report.profiler.name);
    let target = phrases::target_parts(&report.target);
    let target = target.iter().map(|part| printable(part)).collect::<Vec<_>>().join(" · ");
    page.hanging(&[], INDENT, Ink::Strong, &format!("{name} · {target}"));
    page.hanging(&[], INDENT, Ink::Faint, &phrases::window(&report.window));
    if !report.summary.is_empty() {
        page.blank();
        page.hanging(&[], 0, Ink::Plain, &printable_within(&report.summary, LONGEST_PROSE));
    }
}

fn cost(page: &mut Page, report: &Report) {
    let parts = phrases::cost(&report.cost).into_iter().map(|(label, value)| match label {
        "method" => printable(&value),
        _ => format!("{label}: {}", printable(&value)).replace(' ', GLUE).replace(&format!(",{GLUE}"), ", "),
    });
    page.hanging(&[(Ink::Faint, "Cost  ")], 6, Ink::Faint, &parts.collect::<Vec<_>>().join("; "));
}

#[cfg(test)]
mod tests;
