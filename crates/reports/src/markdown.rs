//! GitHub-flavoured Markdown, for an issue or a chat.
//!
//! Everything of the report goes through `Document::text`; the markup around it is `'static` text of this
//! file, so a string of the target cannot get in unescaped without a type error.

mod escape;

use model::{Body, Cell, Column, Finding, Node, Report, Series, Stacks, Table, Tree};

use crate::phrases;
use crate::sparkline;
use crate::value::{MISSING, format_cell, format_number, format_whole, is_numeric};
use escape::Document;

/// Levels of nested lists; deeper nodes stay at this level and say their own.
const DEEPEST: usize = 16;

/// Columns of a sparkline.
const SPARKLINE: usize = 32;

const NOTHING: &str = "_none_\n";

/// A whole report.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut doc = Document::default();
    doc.raw("# ")
        .text(&report.profiler.name)
        .raw(": ")
        .text(&phrases::target_parts(&report.target).join(" · "));
    doc.raw("\n\n").text(&phrases::window(&report.window)).raw("\n");
    if !report.summary.is_empty() {
        doc.raw("\n**").text(&report.summary).raw("**\n");
    }
    if !report.findings.is_empty() {
        doc.raw("\n## Findings\n");
    }
    for finding in &report.findings {
        draw_finding(&mut doc, finding);
    }
    for section in &report.sections {
        doc.raw("\n## ").text(&section.title).raw("\n\n");
        match &section.body {
            Body::Table(table) => draw_table(&mut doc, table),
            Body::Tree(tree) => draw_tree(&mut doc, tree),
            Body::Stacks(stacks) => draw_stacks(&mut doc, stacks),
            Body::Series(series) => draw_series(&mut doc, series),
        }
    }
    if !report.notes.is_empty() {
        doc.raw("\n## Notes\n\n");
    }
    for note in &report.notes {
        doc.raw("- ").text(note).raw("\n");
    }
    draw_cost(&mut doc, report);
    doc.finish()
}

fn draw_finding(doc: &mut Document, finding: &Finding) {
    doc.raw("\n### ").raw(finding.severity.word()).raw(": ").text(&finding.title);
    if let Some(doubt) = phrases::doubt(finding.confidence) {
        doc.raw(" (").raw(doubt).raw(")");
    }
    doc.raw("\n\n");
    if let Some(culprit) = &finding.culprit {
        doc.raw("- ").raw(phrases::culprit_kind(culprit.kind)).raw(" **").text(&culprit.name).raw("**");
        if let Some(place) = phrases::culprit_place(culprit) {
            doc.raw(" (").text(&place).raw(")");
        }
        doc.raw("\n");
    }
    for evidence in &finding.evidence {
        doc.raw("- ").text(&evidence.what).raw(": ").text(&evidence.seen).raw("\n");
    }
    if !finding.advice.is_empty() {
        doc.raw("\nWhat to do:\n\n");
    }
    for advice in &finding.advice {
        doc.raw("1. ").text(advice).raw("\n");
    }
    if let Some(command) = &finding.command {
        doc.raw("\nDig deeper: **").text(command).raw("**\n");
    }
}

fn draw_table(doc: &mut Document, table: &Table) {
    if table.rows.is_empty() && table.omitted_rows == 0 {
        doc.raw(NOTHING);
        return;
    }
    let aligned = table.columns.iter().map(|column| (column.title.clone(), is_numeric(column.unit)));
    draw_table_head(doc, &aligned.collect::<Vec<_>>());
    for row in &table.rows {
        let cells = table.columns.iter().enumerate();
        let cells =
            cells.map(|(index, column)| format_cell(row.get(index).unwrap_or(&Cell::Missing), column.unit));
        draw_row(doc, &cells.collect::<Vec<_>>());
    }
    if table.omitted_rows > 0 {
        doc.raw("\n… and ").text(&phrases::counted(table.omitted_rows, "more row")).raw("\n");
    }
}

/// Titles, each with true when its column is right-aligned.
fn draw_table_head(doc: &mut Document, titles: &[(String, bool)]) {
    for (title, _) in titles {
        doc.raw("| ").text(title).raw(" ");
    }
    doc.raw("|\n");
    for (_, right) in titles {
        doc.raw(if *right { "| ---: " } else { "| --- " });
    }
    doc.raw("|\n");
}

fn draw_row(doc: &mut Document, cells: &[String]) {
    for cell in cells {
        doc.raw("| ").text(cell).raw(" ");
    }
    doc.raw("|\n");
}

fn draw_tree(doc: &mut Document, tree: &Tree) {
    if tree.roots.is_empty() {
        doc.raw(NOTHING);
        return;
    }
    let titles: Vec<&str> = tree.columns.iter().map(|column| column.title.as_str()).collect();
    if !titles.is_empty() {
        doc.raw("Values: ").text(&titles.join(", ")).raw("\n\n");
    }
    for root in &tree.roots {
        draw_node(doc, root, &tree.columns, 0);
    }
}

fn draw_node(doc: &mut Document, node: &Node, columns: &[Column], depth: usize) {
    for _ in 0..depth.min(DEEPEST) {
        doc.raw("  ");
    }
    doc.raw("- ");
    if depth > DEEPEST {
        doc.text(&format!("[{depth}]")).raw(" ");
    }
    for (index, column) in columns.iter().enumerate() {
        let value = format_cell(node.values.get(index).unwrap_or(&Cell::Missing), column.unit);
        doc.raw(if index == 0 { "**" } else { "" })
            .text(&value)
            .raw(if index == 0 { "**" } else { "" })
            .raw(" · ");
    }
    doc.text(&node.label).raw("\n");
    for child in &node.children {
        draw_node(doc, child, columns, depth + 1);
    }
}

fn draw_stacks(doc: &mut Document, stacks: &Stacks) {
    if stacks.stacks.is_empty() {
        doc.raw(NOTHING);
    }
    for stack in &stacks.stacks {
        doc.raw("- **")
            .text(&format_whole(stack.weight, stacks.unit))
            .raw("** ")
            .text(&phrases::threads(stack))
            .raw("\n");
        for frame in &stack.frames {
            doc.raw("  - at ").text(&phrases::frame_name(frame));
            if let Some(place) = phrases::frame_place(frame) {
                doc.raw(" (").text(&place).raw(")");
            }
            doc.raw("\n");
        }
    }
}

fn draw_series(doc: &mut Document, series: &Series) {
    if series.lines.is_empty() {
        doc.raw(NOTHING);
        return;
    }
    let titles = [("Line", false), ("Over time", false), ("Min", true), ("Max", true), ("Last", true)];
    draw_table_head(doc, &titles.map(|(title, right)| (title.to_owned(), right)));
    for line in &series.lines {
        let numbers = sparkline::extent(line).map(|extent| [extent.min, extent.max, extent.last]);
        let mut cells = vec![line.label.clone(), sparkline::draw(line, SPARKLINE)];
        cells.extend((0..3).map(|index| {
            numbers.map_or_else(|| MISSING.to_owned(), |numbers| format_number(numbers[index], series.unit))
        }));
        draw_row(doc, &cells);
    }
}

fn draw_cost(doc: &mut Document, report: &Report) {
    doc.raw("\n## Cost\n\n");
    for (label, value) in phrases::cost(&report.cost) {
        doc.raw("- ").raw(label).raw(": ").text(&value).raw("\n");
    }
    doc.raw("\n---\n\ndrdotnet ").text(&report.tool_version).raw(", profiler ").text(&report.profiler.id);
    let parameters = phrases::parameters(report);
    if !parameters.is_empty() {
        doc.raw(" (").text(&parameters).raw(")");
    }
    doc.raw("\n");
}
