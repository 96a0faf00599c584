//! The types of a heap: what they extend, what they are made of, where their fields lie.

use std::collections::HashMap;

/// A type: the address of its method table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub u64);

/// A type as the runtime's metadata tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Type {
    /// Its name; outer types first, separated by `+`, with the number of type parameters: ``Ns.Outer`1+Inner``.
    pub name: String,
    /// File of its module.
    pub module: String,
    /// Its row in the metadata.
    pub token: u32,
    /// What it extends; 0 for none.
    pub parent: TypeId,
    /// Its type arguments; of an array, what its elements are.
    pub arguments: Vec<TypeId>,
    /// Dimensions of an array; 0 if it is none.
    pub rank: u8,
    /// Number of its objects.
    pub count: u64,
}

/// The fields that a type itself declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Offset and name. In a class counted from the object's address, in a struct from where the struct begins.
    pub fields: Vec<(u32, String)>,
    /// The row of its method `MoveNext`; 0 if it has none.
    pub move_next: u32,
}

/// All types that are known.
#[derive(Clone, Debug, Default)]
pub struct Types {
    types: HashMap<TypeId, Type>,
    layouts: HashMap<TypeId, Layout>,
}

/// Longer chains of parents are none.
const DEEPEST: usize = 64;

impl Types {
    /// Adds a type.
    pub fn add(&mut self, id: TypeId, described: Type) {
        self.types.insert(id, described);
    }

    /// Adds the fields of a type.
    pub fn add_layout(&mut self, id: TypeId, layout: Layout) {
        self.layouts.insert(id, layout);
    }

    /// A type.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(&id)
    }

    /// All types.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().map(|(id, described)| (*id, described))
    }

    /// What a type declares.
    #[must_use]
    pub fn layout(&self, id: TypeId) -> Option<&Layout> {
        self.layouts.get(&id)
    }

    /// A type, what it extends, and so on.
    pub fn ancestry(&self, id: TypeId) -> impl Iterator<Item = (TypeId, &Type)> {
        let with_type = |id: TypeId| self.types.get(&id).map(|described| (id, described));
        std::iter::successors(with_type(id), move |(_, described)| with_type(described.parent)).take(DEEPEST)
    }

    /// Whether a type is this one or extends it, however far.
    #[must_use]
    pub fn is_a(&self, id: TypeId, name: &str) -> bool {
        self.ancestry(id).any(|(_, described)| described.name == name)
    }

    /// Whether values of it lie inside of others.
    #[must_use]
    pub fn is_struct(&self, id: TypeId) -> bool {
        self.get(id)
            .and_then(|described| self.get(described.parent))
            .is_some_and(|parent| parent.name == "System.ValueType" || parent.name == "System.Enum")
    }

    /// Where a field lies that a type or one of its ancestors declares.
    #[must_use]
    pub fn field(&self, id: TypeId, name: &str) -> Option<usize> {
        self.ancestry(id).find_map(|(id, _)| {
            let (offset, _) = self.layout(id)?.fields.iter().find(|(_, field)| field == name)?;
            usize::try_from(*offset).ok()
        })
    }

    /// Its name with its type arguments, as the runtime writes it: ``List`1[System.Int32]``.
    #[must_use]
    pub fn full_name(&self, id: TypeId) -> String {
        let mut text = String::new();
        self.write_name(&mut text, id, 0);
        text
    }

    fn write_name(&self, text: &mut String, id: TypeId, depth: usize) {
        let Some(described) = self.get(id).filter(|_| depth < 8) else {
            text.push('?');
            return;
        };
        if described.rank > 0 {
            let element = described.arguments.first().copied().unwrap_or_default();
            self.write_name(text, element, depth + 1);
            text.push('[');
            text.extend(std::iter::repeat_n(',', usize::from(described.rank) - 1));
            text.push(']');
            return;
        }
        text.push_str(if described.name.is_empty() { "?" } else { &described.name });
        for (index, argument) in described.arguments.iter().enumerate() {
            text.push(if index == 0 { '[' } else { ',' });
            self.write_name(text, *argument, depth + 1);
        }
        if !described.arguments.is_empty() {
            text.push(']');
        }
    }
}
