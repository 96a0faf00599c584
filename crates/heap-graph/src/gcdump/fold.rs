//! From the graph of a file to ours: made-up nodes and types go, the rest is numbered anew, in place.

use std::collections::HashMap;

use super::memory_graph::RawGraph;
use super::names::without_size_note;
use super::pseudo::Pseudo;
use crate::builder::check_roots;
use crate::error::Error;
use crate::generations::Generations;
use crate::graph::{Fields, HeapGraph, Losses, TypeInfo};
use crate::ids::{NONE, as_index, as_u32};
use crate::references::without_nothing;
use crate::sizes::Sizes;

/// Our graph of a file's graph.
pub(super) fn fold(mut raw: RawGraph) -> Result<HeapGraph, Error> {
    let pseudo = Pseudo::find(&raw);
    let (types, type_of) = fold_types(&raw, &pseudo.made_up);
    let mut sizes = Sizes::default();
    for (node, &size) in (0_u32..).zip(&raw.sizes) {
        if !pseudo.made_up[as_index(node)] {
            sizes.push(u64::from(size) + pseudo.more_bytes.get(&node).copied().unwrap_or(0));
        }
    }
    sizes.shrink_to_fit();
    drop(std::mem::take(&mut raw.sizes));
    let mut new_node = Vec::with_capacity(pseudo.made_up.len());
    let mut next = 0;
    for &made_up in &pseudo.made_up {
        new_node.push(if made_up { NONE } else { next });
        next += u32::from(!made_up);
    }
    let mut targets = raw.targets;
    let mut kept = 0;
    let mut ends = 0;
    let mut write = 0;
    for (node, &made_up) in pseudo.made_up.iter().enumerate() {
        let (from, to) = (ends, as_index(raw.starts[node + 1]));
        ends = to;
        if made_up {
            continue;
        }
        for edge in from..to {
            targets[write] = new_node[as_index(targets[edge])];
            write += 1;
        }
        raw.starts[kept + 1] = as_u32(write);
        raw.node_types[kept] = type_of[as_index(raw.node_types[node])];
        raw.addresses[kept] = raw.addresses[node];
        kept += 1;
    }
    targets.truncate(write);
    raw.starts.truncate(kept + 1);
    raw.node_types.truncate(kept);
    raw.addresses.truncate(kept);
    // References to the parts of huge objects, which are folded into them, are no loss.
    without_nothing(&mut raw.starts, &mut targets, &mut Vec::new());
    let (roots, _) = pseudo.roots.resolve(|node| Some(new_node[as_index(node)]).filter(|&node| node != NONE));
    check_roots(kept, roots.len())?;
    Ok(HeapGraph {
        types,
        node_types: raw.node_types,
        sizes,
        addresses: raw.addresses,
        starts: raw.starts,
        targets,
        fields: Fields::default(),
        roots,
        generations: Generations::default(),
        dependent: Vec::new(),
        losses: Losses { clipped_sizes: pseudo.clipped, ..Losses::default() },
        is_64_bit: raw.is_64_bit,
    })
}

/// Our types, and by type of the file the one of ours that it is. Types of made-up nodes are left out; those
/// that differ only in a note on their objects' sizes become one.
fn fold_types(raw: &RawGraph, made_up: &[bool]) -> (Vec<TypeInfo>, Vec<u32>) {
    let mut used = vec![false; raw.types.len()];
    let mut left_out = vec![false; raw.types.len()];
    for (&its_type, &made_up) in raw.node_types.iter().zip(made_up) {
        let list = if made_up { &mut left_out } else { &mut used };
        list[as_index(its_type)] = true;
    }
    let mut types: Vec<TypeInfo> = Vec::new();
    let mut ids = vec![NONE; raw.types.len()];
    let mut known: HashMap<(&str, Option<&str>), u32> = HashMap::new();
    for noted in [false, true] {
        for (index, found) in raw.types.iter().enumerate() {
            let note_free = without_size_note(&found.name);
            let dropped = !used[index] && (left_out[index] || raw.is_undefined_type(index));
            if dropped || note_free.is_some() != noted {
                continue;
            }
            let name = note_free.unwrap_or(&found.name);
            let key = (name, found.module.as_deref());
            ids[index] = match known.get(&key) {
                Some(&base) if noted => base,
                _ => {
                    types
                        .push(TypeInfo { name: name.into(), module: found.module.as_deref().map(Box::from) });
                    as_u32(types.len() - 1)
                }
            };
            known.entry(key).or_insert(ids[index]);
        }
    }
    (types, ids)
}
