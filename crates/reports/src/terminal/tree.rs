//! Trees: the values in columns, then the labels with lines that show who is below whom.

use std::collections::HashSet;

use model::{Cell, Node, Tree};

use super::grid::{GAP, LastColumn};
use super::page::{Ink, Page};
use super::table::{NOTHING, grid};
use super::text::{Align, cut, pad, width};
use crate::hostile::printable;
use crate::phrases::counted;

/// Nodes that are drawn; a call tree has thousands, and the other formats show them.
pub(super) const HEAVIEST: usize = 30;
/// Nodes that are drawn of a tree that is shown for its own sake.
pub(super) const WHOLE: usize = 500;
/// Columns of one level of lines, such as `├─ `.
const STEP: usize = 3;

/// A node on its way to the page: its lines, and how deep it is.
struct Branch<'a> {
    node: &'a Node,
    /// For each level above and its own: true when a sibling follows.
    rails: Vec<bool>,
}

pub(super) fn draw(page: &mut Page, tree: &Tree, indent: usize, most: usize) {
    let margin = " ".repeat(indent);
    let (branches, left_out) = branches(tree, most);
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
    if left_out > 0 {
        let more = format!("… and {}; html and json show them", counted(left_out as u64, "smaller node"));
        page.line(&[(Ink::Plain, &margin), (Ink::Faint, &more)]);
    }
}

/// The nodes that are drawn, parents before children, and how many are not.
fn branches(tree: &Tree, most: usize) -> (Vec<Branch<'_>>, usize) {
    let all = all_branches(tree, |_| true);
    if all.len() <= most {
        return (all, 0);
    }
    // The heaviest: a node is no heavier than the one above it, so what is drawn hangs together.
    let mut order: Vec<(usize, f64)> =
        all.iter().enumerate().map(|(at, branch)| (at, weight(branch.node))).collect();
    order.sort_by(|(a, light), (b, heavy)| heavy.total_cmp(light).then(a.cmp(b)));
    let drawn: HashSet<*const Node> =
        order.iter().take(most).map(|(at, _)| std::ptr::from_ref(all[*at].node)).collect();
    let left_out = all.len() - most;
    (all_branches(tree, |node| drawn.contains(&std::ptr::from_ref(node))), left_out)
}

fn weight(node: &Node) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "only to compare")]
    match node.values.first() {
        Some(Cell::Number(number)) => *number as f64,
        Some(Cell::Fraction(fraction)) => *fraction,
        _ => 0.0,
    }
}

/// The wanted nodes, parents before children.
fn all_branches(tree: &Tree, wanted: impl Fn(&Node) -> bool) -> Vec<Branch<'_>> {
    let mut found = Vec::new();
    // A stack instead of recursion: call trees can be deep.
    let mut open: Vec<Branch<'_>> = tree
        .roots
        .iter()
        .rev()
        .filter(|node| wanted(node))
        .map(|node| Branch { node, rails: Vec::new() })
        .collect();
    while let Some(branch) = open.pop() {
        let children = branch.node.children.iter().rev().filter(|node| wanted(node));
        for (from_the_end, node) in children.enumerate() {
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
