//! What has not moved between two looks.

use std::collections::{HashMap, HashSet};

use crate::graph::Step;
use crate::objects::Address;
use crate::shapes::Shape;

/// A shape in two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The shape as it was last seen.
    pub shape: Shape,
    /// How many waited before.
    pub before: usize,
    /// How many of those wait still: the same objects, or, where objects were moved, ones with the same content.
    pub still: usize,
}

impl Change {
    /// How many wait now.
    #[must_use]
    pub fn now(&self) -> usize {
        self.shape.waiters.len()
    }
}

/// Compares two looks; what has not moved stands first.
#[must_use]
pub fn compare(before: &[Shape], now: Vec<Shape>) -> Vec<Change> {
    let old: HashMap<&[Step], &Shape> = before.iter().map(|shape| (shape.steps.as_slice(), shape)).collect();
    let mut changes: Vec<Change> = now
        .into_iter()
        .map(|shape| {
            let old = old.get(shape.steps.as_slice());
            let before = old.map_or(0, |old| old.waiters.len());
            let still = old.map_or(0, |old| still(&old.waiters, &shape.waiters));
            Change { shape, before, still }
        })
        .collect();
    changes.sort_by(|a, b| {
        b.still.cmp(&a.still).then(b.now().cmp(&a.now())).then_with(|| a.shape.steps.cmp(&b.shape.steps))
    });
    changes
}

/// How many of one list are in the other.
fn still(before: &[(Address, u64)], now: &[(Address, u64)]) -> usize {
    let there: HashSet<Address> = before.iter().map(|(address, _)| *address).collect();
    let here: HashSet<Address> = now.iter().map(|(address, _)| *address).collect();
    let stayed = there.intersection(&here).count();
    // The rest may have been moved by a collection: each is paired with one that looks the same.
    let mut moved: HashMap<u64, usize> = HashMap::new();
    for (_, print) in before.iter().filter(|(address, _)| !here.contains(address)) {
        *moved.entry(*print).or_default() += 1;
    }
    let mut paired = 0;
    for (_, print) in now.iter().filter(|(address, _)| !there.contains(address)) {
        if let Some(left) = moved.get_mut(print).filter(|left| **left > 0) {
            *left -= 1;
            paired += 1;
        }
    }
    stayed + paired
}
