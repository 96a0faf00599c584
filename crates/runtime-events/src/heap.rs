//! The graph of the heap, as a collection tells it: nodes with the number of their edges, the edges of all nodes one
//! after the other, and what keeps objects alive.

use nettrace::Utf16;

use crate::bulk::{Bulk, Numbers, Record};
use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{AppDomainId, ClrInstance, Generation, ObjectAddress, RootId, TypeId};

/// Event 18: objects.
pub type Nodes<'a> = Bulk<'a, Node>;
/// Event 19: references.
pub type Edges<'a> = Bulk<'a, Edge>;
/// Event 16: what keeps objects alive, other than static fields.
pub type Roots<'a> = Bulk<'a, Root>;
/// Event 17: objects that live as long as others.
pub type DependentRoots<'a> = Bulk<'a, DependentRoot>;

/// An object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The object.
    pub address: ObjectAddress,
    /// Its size.
    pub bytes: u64,
    /// Its type.
    pub type_id: TypeId,
    /// How many of the edges, after those of the nodes before it, are its own.
    pub edges: u64,
}

impl Record for Node {
    const NAME: &'static str = "nodes";

    fn size(pointer: usize) -> usize {
        pointer + 24
    }

    #[inline]
    fn from_bytes(bytes: &[u8], pointer: usize) -> Self {
        let mut numbers = Numbers::new(bytes, pointer);
        Node {
            address: ObjectAddress(numbers.pointer()),
            bytes: numbers.u64(),
            type_id: TypeId(numbers.u64()),
            edges: numbers.u64(),
        }
    }
}

/// A reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The object it leads to.
    pub target: ObjectAddress,
    /// The field it stands in; runtimes of today write 0.
    pub field: u32,
}

impl Record for Edge {
    const NAME: &'static str = "edges";

    fn size(pointer: usize) -> usize {
        pointer + 4
    }

    #[inline]
    fn from_bytes(bytes: &[u8], pointer: usize) -> Self {
        let mut numbers = Numbers::new(bytes, pointer);
        Edge { target: ObjectAddress(numbers.pointer()), field: numbers.u32() }
    }
}

codes! {
    /// What keeps an object alive.
    RootKind: u8 {
        /// A local variable or argument.
        0 => Stack,
        /// It waits for its finalizer.
        1 => Finalizer,
        /// A handle.
        2 => Handle,
        /// An object of an older generation.
        3 => Older,
        /// A handle that also measures.
        4 => SizedHandle,
        /// The collector itself.
        5 => Overflow,
    }
}

flags! {
    /// What is special about a root.
    RootFlags: u32 {
        /// The object must not move.
        0x1 => is_pinning,
        /// It does not keep the object alive.
        0x2 => is_weak,
        /// It leads into the middle of the object.
        0x4 => is_interior,
        /// It is there as long as something else counts it.
        0x8 => is_ref_counted,
    }

    /// What is special about a static field.
    StaticFlags: u32 {
        /// Each thread has its own.
        0x1 => is_thread_local,
    }
}

/// What keeps an object alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object; 0 is none.
    pub target: ObjectAddress,
    /// What kind of root.
    pub kind: RootKind,
    /// What is special about it.
    pub flags: RootFlags,
    /// Which handle; 0 for others.
    pub id: RootId,
}

impl Record for Root {
    const NAME: &'static str = "roots";

    fn size(pointer: usize) -> usize {
        2 * pointer + 5
    }

    #[inline]
    fn from_bytes(bytes: &[u8], pointer: usize) -> Self {
        let mut numbers = Numbers::new(bytes, pointer);
        Root {
            target: ObjectAddress(numbers.pointer()),
            kind: RootKind::from(numbers.u8()),
            flags: RootFlags(numbers.u32()),
            id: RootId(numbers.pointer()),
        }
    }
}

/// A row of a `ConditionalWeakTable`, or another dependent handle: the value lives as long as the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DependentRoot {
    /// The key.
    pub key: ObjectAddress,
    /// The value.
    pub value: ObjectAddress,
    /// The handle.
    pub id: RootId,
}

impl Record for DependentRoot {
    const NAME: &'static str = "dependent_roots";

    fn size(pointer: usize) -> usize {
        3 * pointer
    }

    #[inline]
    fn from_bytes(bytes: &[u8], pointer: usize) -> Self {
        let mut numbers = Numbers::new(bytes, pointer);
        let [key, value, id] = [numbers.pointer(), numbers.pointer(), numbers.pointer()];
        DependentRoot { key: ObjectAddress(key), value: ObjectAddress(value), id: RootId(id) }
    }
}

/// A static field that keeps an object alive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticRoot<'a> {
    /// Where the field is.
    pub id: RootId,
    /// The object.
    pub target: ObjectAddress,
    /// The type that has the field.
    pub type_id: TypeId,
    /// What is special about it.
    pub flags: StaticFlags,
    /// The field's name.
    pub field: Utf16<'a>,
}

/// Event 38: static fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StaticRoots<'a> {
    /// Their application domain.
    pub domain: AppDomainId,
    /// Which runtime.
    pub clr: ClrInstance,
    /// How many there are.
    pub count: u32,
    records: Fields<'a>,
}

impl<'a> StaticRoots<'a> {
    /// The fields, in their order.
    pub fn iter(&self) -> impl Iterator<Item = StaticRoot<'a>> + use<'a> {
        let mut fields = self.records.clone();
        (0..self.count).map_while(move |_| static_root(&mut fields).ok())
    }
}

fn static_root<'a>(fields: &mut Fields<'a>) -> Result<StaticRoot<'a>, FieldError> {
    Ok(StaticRoot {
        id: RootId(fields.take("id")?),
        target: ObjectAddress(fields.take("target")?),
        type_id: TypeId(fields.take("type_id")?),
        flags: fields.take("flags")?,
        field: fields.take("field")?,
    })
}

impl<'a> Layout<'a> for StaticRoots<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let count = fields.take("count")?;
        let domain = fields.take("domain")?;
        let clr = fields.take("clr")?;
        let records = fields.clone();
        for _ in 0..count {
            static_root(fields)?;
        }
        Ok(StaticRoots { domain, clr, count, records })
    }
}

/// Event 23: a part of the heap that belongs to one generation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GenerationRange {
    /// The generation.
    pub generation: Generation,
    /// Where it begins.
    pub start: ObjectAddress,
    /// How much of it is used.
    pub used_bytes: u64,
    /// How much of it is set aside.
    pub reserved_bytes: u64,
    /// Which runtime.
    pub clr: ClrInstance,
}

impl<'a> Layout<'a> for GenerationRange {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        Ok(GenerationRange {
            generation: Generation(u32::from(fields.take::<u8>("generation")?)),
            start: fields.take("start")?,
            used_bytes: fields.take("used_bytes")?,
            reserved_bytes: fields.take("reserved_bytes")?,
            clr: fields.take("clr")?,
        })
    }
}
