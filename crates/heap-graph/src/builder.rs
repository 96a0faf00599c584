//! From a stream of types, objects, references and roots to a graph.

use std::collections::HashMap;

use crate::address_index::AddressIndex;
use crate::error::Error;
use crate::generations::{Generation, GenerationRange, Generations};
use crate::graph::{Fields, HeapGraph, Losses, TypeInfo};
use crate::ids::{Address, FieldId, NONE, NodeId, TypeId, as_index};
use crate::references::{targets_of, with_more, without_nothing};
use crate::roots::{RootKind, RootsBuilder};
use crate::sizes::Sizes;

/// The most objects or references a graph holds: their numbers have 32 bits, and a few stand for the roots.
pub(crate) const MOST: u32 = u32::MAX - 64;

/// How many types are kept at hand.
const AT_HAND: usize = 1 << 12;

/// An address that a root holds.
#[derive(Debug, Clone, Copy)]
enum Held {
    Object(u64),
    /// Anywhere within an object, as by-reference locals and spans point.
    Within(u64),
    /// Perhaps within an object: a word that may be no reference.
    Perhaps(u64),
}

/// Builds a [`HeapGraph`] from a stream, in the order in which the runtime gives it: each object says how many
/// references it has, and the references come apart, in the order of the objects.
///
/// Peak memory: 20 bytes per object and 8 per reference while the stream comes, plus the address index while
/// [`finish`](GraphBuilder::finish) runs.
#[derive(Debug)]
pub struct GraphBuilder {
    types: Vec<TypeInfo>,
    /// The runtime's type handles, and the names that have come for them.
    handles: HashMap<u64, TypeId>,
    /// Some of them at hand: neighbours on the heap are often of few types.
    at_hand: Vec<(u64, TypeId)>,
    node_types: Vec<u32>,
    sizes: Sizes,
    addresses: Vec<u64>,
    starts: Vec<u32>,
    announced: u64,
    edges: Vec<u64>,
    fields: Fields,
    field_ids: HashMap<Box<str>, FieldId>,
    dependent: Vec<(u64, u64)>,
    roots: RootsBuilder<Held>,
    generations: Vec<GenerationRange>,
    is_64_bit: bool,
}

impl Default for GraphBuilder {
    fn default() -> GraphBuilder {
        GraphBuilder::new()
    }
}

impl GraphBuilder {
    /// An empty heap of a 64-bit process.
    pub fn new() -> GraphBuilder {
        GraphBuilder {
            types: Vec::new(),
            handles: HashMap::new(),
            at_hand: vec![(0, TypeId(NONE)); AT_HAND],
            node_types: Vec::new(),
            sizes: Sizes::default(),
            addresses: Vec::new(),
            starts: vec![0],
            announced: 0,
            edges: Vec::new(),
            fields: Fields::default(),
            field_ids: HashMap::new(),
            dependent: Vec::new(),
            roots: RootsBuilder::new(),
            generations: Vec::new(),
            is_64_bit: true,
        }
    }

    /// Says that the target's addresses have 32 bits.
    pub fn set_32_bit(&mut self) {
        self.is_64_bit = false;
    }

    /// A new type.
    pub fn add_type(&mut self, name: &str, module: Option<&str>) -> TypeId {
        self.types.push(TypeInfo { name: name.into(), module: module.map(Box::from) });
        TypeId::from_index(self.types.len() - 1)
    }

    /// The type with a handle of the runtime. It may be used before its name has come; one whose name never
    /// comes is called `Type(0x…)`.
    pub fn type_of_handle(&mut self, handle: u64) -> TypeId {
        // Handles are addresses of structures with many fields, so their lowest bits say little.
        let [low, high, ..] = ((handle ^ (handle >> 10)) >> 3).to_le_bytes();
        let place = usize::from(u16::from_le_bytes([low, high])) % AT_HAND;
        let (near, id) = self.at_hand[place];
        if near == handle && id.0 != NONE {
            return id;
        }
        if let Some(&known) = self.handles.get(&handle) {
            self.at_hand[place] = (handle, known);
            return known;
        }
        let id = self.add_type(&format!("Type({handle:#x})"), None);
        self.handles.insert(handle, id);
        id
    }

    /// The runtime's handles of types.
    pub fn handles(&self) -> impl Iterator<Item = (u64, TypeId)> {
        self.handles.iter().map(|(handle, id)| (*handle, *id))
    }

    /// The name of the type with a handle of the runtime.
    pub fn name_type(&mut self, handle: u64, name: &str, module: Option<&str>) -> TypeId {
        let id = self.type_of_handle(handle);
        self.types[id.index()] = TypeInfo { name: name.into(), module: module.map(Box::from) };
        id
    }

    /// The next object. Its `references` references follow, apart, by [`reference`](GraphBuilder::reference).
    pub fn object(
        &mut self,
        address: Address,
        type_id: TypeId,
        size: u64,
        references: u32,
    ) -> Result<NodeId, Error> {
        let object = self.node_types.len();
        if object >= as_index(MOST) {
            return Err(Error::TooManyObjects { limit: MOST });
        }
        if type_id.index() >= self.types.len() {
            let types = self.types.len();
            return Err(Error::UnknownType { object: object as u64, type_index: type_id.0, types });
        }
        self.announced += u64::from(references);
        let end = u32::try_from(self.announced).ok().filter(|&end| end < MOST);
        self.starts.push(end.ok_or(Error::TooManyReferences { limit: MOST })?);
        self.addresses.push(address.0);
        self.node_types.push(type_id.0);
        self.sizes.push(size);
        Ok(NodeId::from_index(object))
    }

    /// The next reference, of the first object that still lacks one. A null is left out in the end.
    pub fn reference(&mut self, target: Address) -> Result<(), Error> {
        if self.edges.len() >= as_index(MOST) {
            return Err(Error::TooManyReferences { limit: MOST });
        }
        self.edges.push(target.0);
        if !self.fields.of_edge.is_empty() {
            self.fields.of_edge.push(NONE);
        }
        Ok(())
    }

    /// The next reference, with the field that it comes from. Costs 4 more bytes for every reference.
    pub fn reference_by_field(&mut self, target: Address, field: FieldId) -> Result<(), Error> {
        self.fields.of_edge.resize(self.edges.len(), NONE);
        self.reference(target)?;
        self.fields.of_edge.truncate(self.edges.len() - 1);
        self.fields.of_edge.push(field.0);
        Ok(())
    }

    /// The number of a field's name.
    pub fn field(&mut self, name: &str) -> FieldId {
        if let Some(&known) = self.field_ids.get(name) {
            return known;
        }
        let id = FieldId::from_index(self.fields.names.len());
        self.fields.names.push(name.into());
        self.field_ids.insert(name.into(), id);
        id
    }

    /// A dependent handle (`ConditionalWeakTable`): while `key` lives, `value` does. Becomes a reference.
    pub fn dependent_handle(&mut self, key: Address, value: Address) {
        self.dependent.push((key.0, value.0));
    }

    /// Says which generation the objects from one address up to another belong to.
    pub fn generation_range(&mut self, start: Address, end: Address, generation: Generation) {
        self.generations.push(GenerationRange { start, end, generation });
    }

    /// A root that holds the object at an address.
    pub fn root(&mut self, kind: RootKind, name: Option<&str>, target: Address) -> Result<(), Error> {
        self.hold(kind, name, Held::Object(target.0))
    }

    /// A root that holds the object around an address.
    pub fn interior_root(
        &mut self,
        kind: RootKind,
        name: Option<&str>,
        within: Address,
    ) -> Result<(), Error> {
        self.hold(kind, name, Held::Within(within.0))
    }

    /// A word that may be a reference to or into an object, as on a stack whose words are not described. If it leads
    /// to none, it was none.
    pub fn possible_root(
        &mut self,
        kind: RootKind,
        name: Option<&str>,
        within: Address,
    ) -> Result<(), Error> {
        self.hold(kind, name, Held::Perhaps(within.0))
    }

    fn hold(&mut self, kind: RootKind, name: Option<&str>, held: Held) -> Result<(), Error> {
        if self.roots.edge_count() >= as_index(MOST) {
            return Err(Error::TooManyReferences { limit: MOST });
        }
        self.roots.push(kind, name, held);
        Ok(())
    }

    /// Makes the graph: finds the object behind every address.
    pub fn finish(mut self) -> Result<HeapGraph, Error> {
        let given = self.edges.len() as u64;
        if given != self.announced {
            return Err(Error::LostReferences { announced: self.announced, given });
        }
        drop((self.handles, self.field_ids));
        self.node_types.shrink_to_fit();
        self.sizes.shrink_to_fit();
        self.addresses.shrink_to_fit();
        self.starts.shrink_to_fit();
        let index = AddressIndex::of(&self.addresses);
        let mut losses = Losses { repeated_addresses: index.repeated(), ..Losses::default() };
        let mut targets = targets_of(self.edges, &index);
        losses.dangling_references =
            without_nothing(&mut self.starts, &mut targets, &mut self.fields.of_edge);
        let mut added = Vec::new();
        for (key, value) in self.dependent {
            match (index.exact(key), index.exact(value)) {
                (Some(key), Some(value)) => added.push((key, value)),
                _ => losses.dangling_references += 1,
            }
        }
        added.sort_unstable();
        let dependent = added.clone();
        with_more(&mut self.starts, &mut targets, &mut self.fields.of_edge, added)?;
        let mut no_roots = 0;
        let (roots, dangling) = self.roots.resolve(|held| match held {
            Held::Object(address) => index.exact(address),
            Held::Within(address) => index.containing(address, |node| self.sizes.get(node)),
            Held::Perhaps(address) => {
                let found = index.containing(address, |node| self.sizes.get(node));
                no_roots += u64::from(found.is_none());
                found
            }
        });
        losses.dangling_roots = dangling - no_roots;
        check_roots(self.node_types.len(), roots.len())?;
        Ok(HeapGraph {
            types: self.types,
            node_types: self.node_types,
            sizes: self.sizes,
            starts: self.starts,
            targets,
            fields: self.fields,
            roots,
            generations: Generations::new(self.generations),
            dependent,
            losses,
            is_64_bit: self.is_64_bit,
            addresses: self.addresses,
        })
    }
}

/// Analyses number the roots behind the objects, so both together must fit.
pub(crate) fn check_roots(objects: usize, roots: usize) -> Result<(), Error> {
    if objects.saturating_add(roots) >= as_index(MOST) {
        return Err(Error::TooManyObjects { limit: MOST });
    }
    Ok(())
}
