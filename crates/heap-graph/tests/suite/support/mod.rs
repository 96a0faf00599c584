//! Heaps of any shape, for property tests.
#![expect(clippy::unwrap_used, reason = "clippy knows test functions, but not the functions that they call")]

use heap_graph::{Address, GraphBuilder, HeapGraph, RootKind};
use proptest::prelude::*;

/// A heap before it is built.
#[derive(Debug, Clone)]
pub struct Plan {
    pub types: Vec<(String, Option<String>)>,
    /// Type, size, references.
    pub objects: Vec<(usize, u64, Vec<usize>)>,
    pub roots: Vec<(RootKind, Option<String>, usize)>,
}

impl Plan {
    pub fn build(&self) -> HeapGraph {
        // The order of addresses is not the order of objects.
        let count = self.objects.len() as u64;
        let at = |object: usize| Address(0x1000 + (object as u64 * 7 + 3) % (count * 7 + 1) * 24);
        let mut builder = GraphBuilder::new();
        let types: Vec<_> =
            self.types.iter().map(|(name, module)| builder.add_type(name, module.as_deref())).collect();
        for (index, (its_type, size, references)) in self.objects.iter().enumerate() {
            let count = u32::try_from(references.len()).unwrap();
            builder.object(at(index), types[*its_type], *size, count).unwrap();
            references.iter().for_each(|&target| builder.reference(at(target)).unwrap());
        }
        for (kind, name, target) in &self.roots {
            builder.root(*kind, name.as_deref(), at(*target)).unwrap();
        }
        builder.finish().unwrap()
    }
}

pub fn plans(most_objects: usize) -> impl Strategy<Value = Plan> {
    let types =
        proptest::collection::vec(("[A-Za-z0-9.`é€\u{10400}]{0,12}", proptest::option::of(".{0,9}")), 1..5);
    (types, 1..=most_objects).prop_flat_map(|(types, count)| {
        let size = prop_oneof![8 => 0_u64..200, 1 => 0x7fff_fffd_u64..0x8000_0003, 1 => 0_u64..0x8_0000_0000];
        // A size of 2^31 - 1, which no object has, is how other tools write any larger one.
        let size = size.prop_map(|size| if size == 0x7fff_ffff { 0x8000_0000 } else { size });
        let references = proptest::collection::vec(0..count, 0..4);
        let object = (0..types.len(), size, references);
        let root = (
            proptest::sample::select(RootKind::ALL.to_vec()),
            proptest::option::of("[a-z. \\[\\]]{0,10}"),
            0..count,
        );
        let objects = proptest::collection::vec(object, count);
        let roots = proptest::collection::vec(root, 0..5);
        (Just(types), objects, roots).prop_map(|(types, objects, roots)| Plan { types, objects, roots })
    })
}
