//! Objects that were read, all at one instant.

use std::collections::HashMap;

use crate::types::TypeId;

/// Where an object lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u64);

/// An object: its type and its first bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its type.
    pub id: TypeId,
    /// Its first bytes; may be fewer than its fields need, or none.
    pub bytes: Vec<u8>,
}

/// Objects of one instant.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    objects: HashMap<Address, Object>,
}

impl Object {
    /// The reference at an offset; none if it is null or was not read.
    #[must_use]
    pub fn reference(&self, offset: usize) -> Option<Address> {
        let bytes = self.bytes.get(offset..)?.first_chunk()?;
        Some(Address(u64::from_le_bytes(*bytes))).filter(|address| address.0 != 0)
    }

    /// The number at an offset.
    #[must_use]
    pub fn number(&self, offset: usize) -> Option<i32> {
        let bytes = self.bytes.get(offset..)?.first_chunk()?;
        Some(i32::from_le_bytes(*bytes))
    }

    /// The bits at an offset.
    #[must_use]
    pub fn bits(&self, offset: usize) -> Option<u32> {
        self.number(offset).map(i32::cast_unsigned)
    }
}

impl Objects {
    /// Adds an object.
    pub fn add(&mut self, address: Address, object: Object) {
        self.objects.insert(address, object);
    }

    /// The object at an address.
    #[must_use]
    pub fn get(&self, address: Address) -> Option<&Object> {
        self.objects.get(&address)
    }

    /// All objects, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (Address, &Object)> {
        self.objects.iter().map(|(address, object)| (*address, object))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }
}
