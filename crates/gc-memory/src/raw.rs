//! What was copied while nothing moved.

use std::time::Duration;

use crate::finalizer::FinalizerQueue;
use crate::handles::{Handle, Handles};
use crate::layout::HeapLayout;
use crate::stacks::Stacks;
use crate::tables::Tables;

/// Copies of all that holds objects, of one moment. [`GcMemory::tell`](crate::GcMemory::tell) makes sense of them.
#[derive(Clone, Debug, Default)]
pub struct RawRoots {
    pub(crate) heap: HeapLayout,
    pub(crate) handles: Handles,
    pub(crate) finalizer: Option<FinalizerQueue>,
    pub(crate) stacks: Stacks,
    pub(crate) tables: Tables,
    /// What threads may still fill with objects: from, to.
    pub(crate) allocating: Vec<(u64, u64)>,
    pub(crate) took: Duration,
}

impl RawRoots {
    /// Where the generations lie.
    #[must_use]
    pub fn heap(&self) -> &HeapLayout {
        &self.heap
    }

    /// All handles that hold or watch an object.
    #[must_use]
    pub fn handles(&self) -> &[Handle] {
        &self.handles.found
    }

    /// Objects with finalizers; none if the queue could not be read.
    #[must_use]
    pub fn finalizer_queue(&self) -> Option<&FinalizerQueue> {
        self.finalizer.as_ref()
    }

    /// How long the copying took.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.took
    }

    /// Sentences on what is not in the copies.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.heap.in_disorder {
            missing
                .push("a collection was under way while the roots were read: some may be wrong".to_owned());
        }
        if self.handles.is_cut {
            missing.push(format!("only the first {} handles were read", self.handles.found.len()));
        }
        match &self.finalizer {
            None => missing.push("the finalizer queue could not be read".to_owned()),
            Some(queue) if queue.is_cut => missing.push(format!(
                "only the first {} objects with finalizers were read",
                queue.ready.len() + queue.registered.len()
            )),
            Some(_) => {}
        }
        if self.tables.is_cut {
            missing.push(
                "there are more arrays of static fields than were read: some fields have no name".to_owned(),
            );
        }
        if self.stacks.missing > 0 {
            missing
                .push(format!("the stacks of {} threads were not read, or not whole", self.stacks.missing));
        }
        missing
    }
}
