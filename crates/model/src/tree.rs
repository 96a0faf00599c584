//! Trees: nested in memory, a flat list in JSON.
//!
//! Call trees are deep, and JSON readers (ours included) stop at some depth of nesting. So a tree is written as
//! the list of its nodes in reading order, each with its depth.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Cell, Column};

/// Deepest tree that is read: far beyond any call stack worth showing, and safe for code that recurses.
const DEEPEST: usize = 1024;

/// A tree whose nodes carry values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "FlatTree", try_from = "FlatTree")]
pub struct Tree {
    /// What the values of each node mean.
    pub columns: Vec<Column>,
    /// The top nodes.
    pub roots: Vec<Node>,
}

/// One node of a [`Tree`].
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it stands for.
    pub label: String,
    /// One value per column of the tree.
    pub values: Vec<Cell>,
    /// The nodes below.
    pub children: Vec<Node>,
}

/// A tree as it is written.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tree", description = "A tree whose nodes carry values, as a list in reading order.")]
struct FlatTree {
    /// What the values of each node mean.
    columns: Vec<Column>,
    /// All nodes; each is followed by the nodes below it.
    nodes: Vec<FlatNode>,
}

/// One node of a tree.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Node")]
struct FlatNode {
    /// 0 for a top node, one more than its parent for any other.
    depth: usize,
    /// What it stands for.
    label: String,
    /// One value per column of the tree.
    values: Vec<Cell>,
}

/// Why a list of nodes is no tree.
#[derive(Debug, Error)]
#[error("node {index} has depth {depth}, which no node before it allows")]
struct NotATree {
    index: usize,
    depth: usize,
}

impl JsonSchema for Tree {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        FlatTree::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        FlatTree::json_schema(generator)
    }
}

impl From<Tree> for FlatTree {
    fn from(tree: Tree) -> Self {
        let mut nodes = Vec::new();
        let mut waiting: Vec<(usize, Node)> = tree.roots.into_iter().rev().map(|root| (0, root)).collect();
        while let Some((depth, node)) = waiting.pop() {
            waiting.extend(node.children.into_iter().rev().map(|child| (depth + 1, child)));
            nodes.push(FlatNode { depth, label: node.label, values: node.values });
        }
        FlatTree { columns: tree.columns, nodes }
    }
}

impl TryFrom<FlatTree> for Tree {
    type Error = NotATree;

    fn try_from(flat: FlatTree) -> Result<Self, NotATree> {
        let mut roots = Vec::new();
        // The nodes from a root down to the latest one.
        let mut open: Vec<Node> = Vec::new();
        for (index, FlatNode { depth, label, values }) in flat.nodes.into_iter().enumerate() {
            if depth > open.len() || depth >= DEEPEST {
                return Err(NotATree { index, depth });
            }
            close(&mut open, depth, &mut roots);
            open.push(Node { label, values, children: Vec::new() });
        }
        close(&mut open, 0, &mut roots);
        Ok(Tree { columns: flat.columns, roots })
    }
}

/// Hands finished nodes to their parents until only `depth` are open.
fn close(open: &mut Vec<Node>, depth: usize, roots: &mut Vec<Node>) {
    while open.len() > depth {
        let Some(node) = open.pop() else { return };
        match open.last_mut() {
            Some(parent) => parent.children.push(node),
            None => roots.push(node),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(label: &str, children: Vec<Node>) -> Node {
        Node { label: label.to_owned(), values: vec![], children }
    }

    #[test]
    fn a_tree_is_a_flat_list_in_json_and_nested_in_memory() {
        let tree = Tree {
            columns: vec![],
            roots: vec![
                node("a", vec![node("b", vec![node("c", vec![])]), node("d", vec![])]),
                node("e", vec![]),
            ],
        };
        let text = serde_json::to_string(&tree).unwrap();
        let depths: Vec<&str> = text.matches("\"depth\":").collect();
        assert_eq!(depths.len(), 5);
        assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), tree);
    }

    #[test]
    fn deep_trees_survive_and_impossible_ones_are_refused() {
        let mut deep = node("leaf", vec![]);
        for _ in 0..DEEPEST - 1 {
            deep = node("frame", vec![deep]);
        }
        let tree = Tree { columns: vec![], roots: vec![deep] };
        let text = serde_json::to_string(&tree).unwrap();
        assert_eq!(serde_json::from_str::<Tree>(&text).unwrap(), tree);
        let orphan = r#"{"columns":[],"nodes":[{"depth":1,"label":"x","values":[]}]}"#;
        assert!(serde_json::from_str::<Tree>(orphan).is_err());
    }
}
