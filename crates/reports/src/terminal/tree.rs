//! Trees: the values in columns, then the labels with lines that show who is below whom.

use model::{Node, Tree};

use super::grid::{GAP, LastColumn};
use super::page::{Ink, Page};
use super::table::{NOTHING, grid};
use super::text::{Align, cut, pad, width};
use crate::hostile::printable;

/// Columns of one level of lines, such as `├─ `.
const STEP: usize = 3;

/// A node on its way to the page: its lines, and how deep it is.
struct Branch<'a> {
    node: &'a Node,
    /// For each level above and its own: true when a sibling follows.
    rails: Vec<bool>,
}

pub(super) fn draw(page: &mut Page, tree: &Tree, indent: usize) {
    let margin = " ".repeat(indent);
    let branches = branches(tree);
    if branches.is_empty() {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, NOTHING)]);
        return;
    }
    let room = page.room(indent);
    // The labels are the reason for the tree: the values leave them at least a third.
    let values = grid(&tree.columns, branches.iter().map(|branch| branch.node.values.as_slice()));
    let (heading, rows) = values.lay_out(room - room / 3 - GAP, LastColumn::Shares);
    let values_width = rows.iter().map(|row| width(row)).max().unwrap_or(0);
    let values_width = if values_width == 0 { 0 } else { values_width + GAP };
    if !heading.is_empty() {
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, &heading)]);
    }
    let room = room.saturating_sub(values_width);
    for (branch, row) in branches.iter().zip(rows) {
        let prefix = prefix(&branch.rails, room / 2 / STEP);
        let label = cut(&printable(&branch.node.label), room.saturating_sub(width(&prefix)));
        let row = pad(&row, values_width, Align::Left);
        page.line(&[(Ink::Plain, &margin), (Ink::Plain, &row), (Ink::Faint, &prefix), (Ink::Plain, &label)]);
    }
}

/// Every node, parents before children.
fn branches(tree: &Tree) -> Vec<Branch<'_>> {
    let mut found = Vec::new();
    // A stack instead of recursion: call trees can be deep.
    let mut open: Vec<Branch<'_>> =
        tree.roots.iter().rev().map(|node| Branch { node, rails: Vec::new() }).collect();
    while let Some(branch) = open.pop() {
        for (from_the_end, node) in branch.node.children.iter().rev().enumerate() {
            let mut rails = branch.rails.clone();
            rails.push(from_the_end > 0);
            open.push(Branch { node, rails });
        }
        found.push(branch);
    }
    found
}

/// The lines before a label. Below `deepest` levels they would push the label off the page, so a number says
/// the level instead.
fn prefix(rails: &[bool], deepest: usize) -> String {
    if rails.len() > deepest {
        return format!("{}[{}] ", " ".repeat(deepest.saturating_sub(1) * STEP), rails.len());
    }
    let Some((own, above)) = rails.split_last() else { return String::new() };
    let mut prefix: String = above.iter().map(|follows| if *follows { "│  " } else { "   " }).collect();
    prefix.push_str(if *own { "├─ " } else { "└─ " });
    prefix
}
