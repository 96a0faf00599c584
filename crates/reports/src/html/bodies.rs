//! Tables, trees and stacks.

use model::{Body, Cell, Column, Node, Stack, Stacks, Table, Tree, Unit};

use super::chart;
use super::markup::Markup;
use crate::phrases;
use crate::value::{format_cell, format_whole, is_numeric};

/// Forks of a tree that are open at first. A node with one child is no fork: a long chain of calls holds no
/// choice, and to open it call by call is a chore.
const OPEN_FORKS: u32 = 3;

/// Deepest indentation of a tree, in levels; deeper nodes say their level in a number.
const DEEPEST: u32 = 32;

/// Stacks that are open at first.
const OPEN_STACKS: usize = 3;

pub(super) fn draw(page: &mut Markup, body: &Body) {
    let empty = match body {
        Body::Table(table) => table.rows.is_empty() && table.omitted_rows == 0,
        Body::Tree(tree) => tree.roots.is_empty(),
        Body::Stacks(stacks) => stacks.stacks.is_empty(),
        Body::Series(series) => series.lines.is_empty(),
    };
    match body {
        _ if empty => {
            page.raw("<p class=\"none\">none</p>\n");
        }
        Body::Table(table) => draw_table(page, table),
        Body::Tree(tree) => draw_tree(page, tree),
        Body::Stacks(stacks) => draw_stacks(page, stacks),
        Body::Series(series) => chart::draw(page, series),
    }
}

fn draw_table(page: &mut Markup, table: &Table) {
    page.raw("<div class=\"scroll\">\n<table>\n<thead><tr>");
    for column in &table.columns {
        page.element("th", class_of(column.unit), &column.title);
    }
    page.raw("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.raw("<tr>");
        for (index, column) in table.columns.iter().enumerate() {
            let cell = row.get(index).unwrap_or(&Cell::Missing);
            page.raw("<td class=\"").raw(class_of(column.unit)).raw("\"");
            draw_share(page, cell, column.unit);
            page.raw(">").text(&format_cell(cell, column.unit)).raw("</td>");
        }
        page.raw("</tr>\n");
    }
    page.raw("</tbody>\n</table>\n</div>\n");
    if table.omitted_rows > 0 {
        let more = format!("… and {}", phrases::counted(table.omitted_rows, "more row"));
        page.element("p", "more", &more).raw("\n");
    }
}

/// Per cent also become the length of a bar behind the number.
fn draw_share(page: &mut Markup, cell: &Cell, unit: Unit) {
    let share = match cell {
        Cell::Number(number) => *number as f64,
        Cell::Fraction(value) => *value,
        Cell::Missing | Cell::Text(_) => return,
    };
    if unit == Unit::Percent && share > 0.0 && share <= 100.0 {
        page.raw(" style=\"--share:").number(share).raw("%\"");
    }
}

fn class_of(unit: Unit) -> &'static str {
    match unit {
        Unit::Percent => "number share",
        Unit::Time => "time",
        _ if is_numeric(unit) => "number",
        _ => "text",
    }
}

fn draw_tree(page: &mut Markup, tree: &Tree) {
    page.raw("<div class=\"scroll\">\n<div class=\"tree\" style=\"--columns:")
        .number(tree.columns.len() as f64);
    page.raw("\">\n");
    if !tree.columns.is_empty() {
        page.raw("<div class=\"row head\">");
        for column in &tree.columns {
            page.element("span", class_of(column.unit), &column.title);
        }
        page.raw("<span></span></div>\n");
    }
    for root in &tree.roots {
        draw_node(page, root, &tree.columns, 0, 0);
    }
    page.raw("</div>\n</div>\n");
}

fn draw_node(page: &mut Markup, node: &Node, columns: &[Column], depth: u32, forks: u32) {
    if node.children.is_empty() {
        page.raw("<div class=\"row\">");
        draw_node_row(page, node, columns, depth);
        page.raw("</div>\n");
        return;
    }
    page.raw(if forks < OPEN_FORKS { "<details open>" } else { "<details>" }).raw("<summary class=\"row\">");
    draw_node_row(page, node, columns, depth);
    page.raw("</summary>\n");
    let forks = forks + u32::from(node.children.len() > 1);
    for child in &node.children {
        draw_node(page, child, columns, depth + 1, forks);
    }
    page.raw("</details>\n");
}

fn draw_node_row(page: &mut Markup, node: &Node, columns: &[Column], depth: u32) {
    for (index, column) in columns.iter().enumerate() {
        let cell = node.values.get(index).unwrap_or(&Cell::Missing);
        page.raw("<span class=\"").raw(class_of(column.unit)).raw("\"");
        draw_share(page, cell, column.unit);
        page.raw(">").text(&format_cell(cell, column.unit)).raw("</span>");
    }
    page.raw("<span class=\"label\" style=\"--depth:").number(depth.min(DEEPEST).into()).raw("\">");
    if depth > DEEPEST {
        page.element("span", "kind", &depth.to_string()).raw(" ");
    }
    page.text(&node.label).raw("</span>");
}

fn draw_stacks(page: &mut Markup, stacks: &Stacks) {
    for (index, stack) in stacks.stacks.iter().enumerate() {
        page.raw(if index < OPEN_STACKS {
            "<details class=\"stack\" open>"
        } else {
            "<details class=\"stack\">"
        });
        page.raw("<summary>").element("span", "weight", &format_whole(stack.weight, stacks.unit));
        page.element("span", "threads", &phrases::threads(stack));
        if let Some(innermost) = stack.frames.first() {
            page.element("span", "innermost", &phrases::frame_name(innermost));
        }
        page.raw("</summary>\n");
        draw_frames(page, stack);
        page.raw("</details>\n");
    }
}

fn draw_frames(page: &mut Markup, stack: &Stack) {
    page.raw("<ol>\n");
    for frame in &stack.frames {
        let kind = phrases::frame_kind(frame.kind);
        page.raw(if kind.is_some() { "<li class=\"foreign\">" } else { "<li>" });
        if let Some(module) = &frame.module {
            page.element("span", "module", module).raw("<span class=\"module\">!</span>");
        }
        page.element("span", "name", &frame.name);
        if let Some(place) = phrases::frame_place(frame) {
            page.raw(" ").element("span", "place", &place);
        }
        if let Some(kind) = kind {
            page.raw(" ").element("span", "kind", kind);
        }
        page.raw("</li>\n");
    }
    page.raw("</ol>\n");
}
