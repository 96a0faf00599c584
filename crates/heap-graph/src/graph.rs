//! The graph itself: five flat arrays, no pointer per object.

use std::ops::Range;

use crate::generations::{Generation, Generations};
use crate::ids::{Address, FieldId, NONE, NodeId, RootId, TypeId, as_index};
use crate::roots::{Root, Roots};
use crate::sizes::Sizes;

/// A type of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its full name.
    pub name: Box<str>,
    /// The module that defines it, when known.
    pub module: Option<Box<str>>,
}

/// What did not fit while a graph was built. All zero is a whole heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Losses {
    /// References to an address where no object is; they are left out.
    pub dangling_references: u64,
    /// Roots that point at no object; they are left out.
    pub dangling_roots: u64,
    /// Objects at an address that another object has too; the first one gets the references.
    pub repeated_addresses: u64,
    /// Objects whose size may be more than was written (a .gcdump of other tools ends at 2 GB).
    pub clipped_sizes: u64,
}

/// Objects, their types, their references and their roots. Made by a [`GraphBuilder`](crate::GraphBuilder) or
/// read from a [`.gcdump`](crate::gcdump).
///
/// Memory: 20 bytes per object (type 4, size 4, start of its references 4, address 8) and 4 per reference (8
/// when fields are known).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeapGraph {
    pub(crate) types: Vec<TypeInfo>,
    pub(crate) node_types: Vec<u32>,
    pub(crate) sizes: Sizes,
    pub(crate) addresses: Vec<u64>,
    /// Where each object's references start; one more than objects.
    pub(crate) starts: Vec<u32>,
    pub(crate) targets: Vec<u32>,
    pub(crate) fields: Fields,
    pub(crate) roots: Roots,
    pub(crate) generations: Generations,
    /// References that stand for dependent handles, sorted.
    pub(crate) dependent: Vec<(u32, u32)>,
    pub(crate) losses: Losses,
    pub(crate) is_64_bit: bool,
}

/// The fields that references come from: nothing is stored until one is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) names: Vec<Box<str>>,
    /// One per reference, or empty.
    pub(crate) of_edge: Vec<u32>,
}

impl HeapGraph {
    /// How many objects there are.
    pub fn node_count(&self) -> usize {
        self.node_types.len()
    }

    /// How many references between objects there are.
    pub fn reference_count(&self) -> usize {
        self.targets.len()
    }

    /// All objects, in the order in which they came.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.node_count()).map(NodeId::from_index)
    }

    /// All types.
    pub fn types(&self) -> impl ExactSizeIterator<Item = (TypeId, &TypeInfo)> {
        self.types.iter().enumerate().map(|(index, info)| (TypeId::from_index(index), info))
    }

    /// One type.
    pub fn type_info(&self, id: TypeId) -> &TypeInfo {
        &self.types[id.index()]
    }

    /// The types with exactly this name; several when modules or load contexts define it again.
    pub fn types_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        self.types().filter(move |(_, info)| *info.name == *name).map(|(id, _)| id)
    }

    /// The type of an object.
    #[inline]
    pub fn type_of(&self, node: NodeId) -> TypeId {
        TypeId(self.node_types[node.index()])
    }

    /// The bytes of an object itself.
    #[inline]
    pub fn size(&self, node: NodeId) -> u64 {
        self.sizes.get(node.index())
    }

    /// The bytes of all objects.
    pub fn total_size(&self) -> u64 {
        self.sizes.iter().fold(0, u64::saturating_add)
    }

    /// Where an object lay.
    pub fn address(&self, node: NodeId) -> Address {
        Address(self.addresses[node.index()])
    }

    /// The objects that an object refers to; one that two fields refer to comes twice.
    pub fn references(&self, node: NodeId) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.targets_of(node.index()).iter().map(|&target| NodeId(target))
    }

    /// The references of an object with the field each comes from, when that is known.
    pub fn references_with_fields(
        &self,
        node: NodeId,
    ) -> impl Iterator<Item = (NodeId, Option<FieldId>)> + '_ {
        self.edges_of(node.index()).map(|edge| (NodeId(self.targets[edge]), self.field_of(edge)))
    }

    /// The name of a field.
    pub fn field_name(&self, id: FieldId) -> &str {
        &self.fields.names[id.index()]
    }

    /// All roots, ordered by kind, then by name.
    pub fn roots(&self) -> impl Iterator<Item = (RootId, Root<'_>)> {
        self.roots.iter()
    }

    /// One root.
    pub fn root(&self, id: RootId) -> Root<'_> {
        self.roots.get(id)
    }

    /// Whether a dependent handle (`ConditionalWeakTable`) leads from one object to another. A `.gcdump` does not tell.
    pub fn is_dependent(&self, key: NodeId, value: NodeId) -> bool {
        self.dependent.binary_search(&(key.0, value.0)).is_ok()
    }

    /// Where the generations lie; empty when it is not known.
    pub fn generations(&self) -> &Generations {
        &self.generations
    }

    /// The generation of an object, when it is known.
    pub fn generation(&self, node: NodeId) -> Option<Generation> {
        self.generations.of(self.address(node))
    }

    /// What did not fit while the graph was built.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Whether addresses of the target have 64 bits.
    pub fn is_64_bit(&self) -> bool {
        self.is_64_bit
    }

    /// Bytes of memory that the arrays of objects and references take.
    pub fn memory(&self) -> u64 {
        let fours = self.node_types.len()
            + self.sizes.len()
            + self.starts.len()
            + self.targets.len()
            + self.fields.of_edge.len();
        (fours as u64) * 4 + (self.addresses.len() as u64) * 8
    }

    #[inline]
    pub(crate) fn edges_of(&self, node: usize) -> Range<usize> {
        as_index(self.starts[node])..as_index(self.starts[node + 1])
    }

    #[inline]
    pub(crate) fn targets_of(&self, node: usize) -> &[u32] {
        &self.targets[self.edges_of(node)]
    }

    pub(crate) fn field_of(&self, edge: usize) -> Option<FieldId> {
        self.fields.of_edge.get(edge).copied().filter(|&field| field != NONE).map(FieldId)
    }
}
