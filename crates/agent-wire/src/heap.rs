//! Messages about the heap: which types there are, where their fields lie, and the first bytes of chosen objects.
//!
//! ```text
//!  host: Plan{samples} Ask(HeapTypes) --> HeapType...     all types with objects; by a walk (9+) or by samples
//!        Ask(Layouts([type...]))      --> Layout...       fields of types that were told before
//!        Plan{picks, follow} Ask(Objects) --> Objects...  their bytes, and those of what they refer to
//! ```
//!
//! The agent asks the runtime only about types that a live object has proven and that cannot be unloaded; it remembers
//! them for the visit. What is an address here is good for one suspension.

use crate::bytes::{Damage, Reader, Writer};

/// Most entries of one list in a [`Plan`]; a longer plan is sent in parts.
pub const MOST_PLANNED: usize = 1000;
/// Most types that can be asked for at once.
pub const MOST_LAYOUTS: usize = 4000;
/// Most fields of a type that are told.
pub const MOST_FIELDS: usize = 512;
/// Most bytes of one object that are told.
pub const MOST_OBJECT_BYTES: u16 = 8192;

/// An object and its type, as somebody else saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Where it was.
    pub address: u64,
    /// Its type: the address of its method table.
    pub class: u64,
}

/// Objects of a type that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The type.
    pub class: u64,
    /// How many of their first bytes.
    pub bytes: u16,
    /// Whether all of them are wanted, or only those that others lead to.
    pub all: bool,
    /// Of all of them only those whose 32-bit word at this offset has none of these bits.
    pub without: (u16, u32),
}

/// A reference that is to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follow {
    /// In objects of this type,
    pub class: u64,
    /// it lies here, counted from the object's address.
    pub offset: u16,
}

/// What the next question is about. Several of them add up; the question uses them up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Objects to begin with; without them the heap is walked.
    pub samples: Vec<Sample>,
    /// Types whose objects are wanted.
    pub picks: Vec<Pick>,
    /// References to be followed.
    pub follow: Vec<Follow>,
    /// Arrays of references whose elements are to be followed.
    pub elements: Vec<u64>,
}

/// A type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapType {
    /// The runtime's id: the address of its method table.
    pub id: u64,
    /// How many objects of it the walk met; 0 for one that is only the parent or the argument of another.
    pub count: u64,
    /// Its row in the metadata; 0 for an array.
    pub token: u32,
    /// What it extends; 0 for none.
    pub parent: u64,
    /// Its type arguments, those of its outer types first; of an array, what its elements are.
    pub arguments: Vec<u64>,
    /// Dimensions of an array; 0 if it is none.
    pub rank: u8,
    /// File of its module.
    pub module: String,
    /// As the metadata names it; outer types first, separated by `+`. Empty in a module that can be unloaded.
    pub name: String,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it lies: in a class counted from the object's address, in a struct from where the struct begins.
    pub offset: u32,
    /// Its name.
    pub name: String,
}

/// The fields that a type itself declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The type.
    pub id: u64,
    /// Size of its objects, or of the struct, as the runtime says it.
    pub size: u32,
    /// The row of its method `MoveNext`, if it has one that takes and gives nothing: then it may be a state machine.
    pub move_next: u32,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where it was.
    pub address: u64,
    /// Its type.
    pub class: u64,
    /// Its first bytes, beginning with the address of its type; none if it was of a type that was not picked.
    pub bytes: Vec<u8>,
}

impl Plan {
    pub(crate) fn write(&self, body: &mut Writer) {
        let cut = |length: usize| u32::try_from(length.min(MOST_PLANNED)).unwrap_or(0);
        body.u32(cut(self.samples.len()));
        for sample in self.samples.iter().take(MOST_PLANNED) {
            body.u64(sample.address).u64(sample.class);
        }
        body.u32(cut(self.picks.len()));
        for pick in self.picks.iter().take(MOST_PLANNED) {
            body.u64(pick.class).u16(pick.bytes).u8(pick.all.into());
            body.u16(pick.without.0).u32(pick.without.1);
        }
        body.u32(cut(self.follow.len()));
        for follow in self.follow.iter().take(MOST_PLANNED) {
            body.u64(follow.class).u16(follow.offset);
        }
        body.u32(cut(self.elements.len()));
        for class in self.elements.iter().take(MOST_PLANNED) {
            body.u64(*class);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut plan = Plan::default();
        for _ in 0..reader.count(16, "samples")? {
            plan.samples.push(Sample { address: reader.u64("sample")?, class: reader.u64("sample")? });
        }
        for _ in 0..reader.count(17, "picks")? {
            plan.picks.push(Pick {
                class: reader.u64("pick")?,
                bytes: reader.u16("pick")?,
                all: reader.flag("pick")?,
                without: (reader.u16("pick")?, reader.u32("pick")?),
            });
        }
        for _ in 0..reader.count(10, "references")? {
            plan.follow.push(Follow { class: reader.u64("reference")?, offset: reader.u16("reference")? });
        }
        plan.elements = ids(reader)?;
        Ok(plan)
    }

    /// In parts that fit into messages each.
    #[must_use]
    pub fn parts(mut self) -> Vec<Plan> {
        let mut parts = Vec::new();
        loop {
            let part = Plan {
                samples: front(&mut self.samples),
                picks: front(&mut self.picks),
                follow: front(&mut self.follow),
                elements: front(&mut self.elements),
            };
            if part == Plan::default() {
                return parts;
            }
            parts.push(part);
        }
    }
}

/// Takes the first entries of a list out of it.
fn front<T>(list: &mut Vec<T>) -> Vec<T> {
    let rest = list.split_off(list.len().min(MOST_PLANNED));
    std::mem::replace(list, rest)
}

fn ids(reader: &mut Reader<'_>) -> Result<Vec<u64>, Damage> {
    (0..reader.count(8, "types")?).map(|_| reader.u64("type")).collect()
}

pub(crate) fn write_ids(body: &mut Writer, ids: &[u64], most: usize) {
    body.u32(u32::try_from(ids.len().min(most)).unwrap_or(0));
    for id in ids.iter().take(most) {
        body.u64(*id);
    }
}

pub(crate) fn read_layouts(reader: &mut Reader<'_>) -> Result<Vec<u64>, Damage> {
    ids(reader)
}

impl HeapType {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.id).u64(self.count).u32(self.token).u64(self.parent);
        write_ids(body, &self.arguments, 64);
        body.u8(self.rank).text(&self.module).text(&self.name);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(HeapType {
            id: reader.u64("type")?,
            count: reader.u64("number of objects")?,
            token: reader.u32("token")?,
            parent: reader.u64("parent")?,
            arguments: ids(reader)?,
            rank: reader.u8("rank")?,
            module: reader.text("module")?,
            name: reader.text("name")?,
        })
    }
}

impl Layout {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.id).u32(self.size).u32(self.move_next);
        body.u32(u32::try_from(self.fields.len().min(MOST_FIELDS)).unwrap_or(0));
        for field in self.fields.iter().take(MOST_FIELDS) {
            // 512 names of this length still fit into a frame.
            let end = field.name.char_indices().map(|(at, _)| at).find(|at| *at > 100);
            body.u32(field.offset)
                .text(field.name.get(..end.unwrap_or(field.name.len())).unwrap_or_default());
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let mut layout = Layout {
            id: reader.u64("type")?,
            size: reader.u32("size")?,
            move_next: reader.u32("method")?,
            fields: Vec::new(),
        };
        for _ in 0..reader.count(6, "fields")? {
            layout.fields.push(Field { offset: reader.u32("field")?, name: reader.text("field")? });
        }
        Ok(layout)
    }
}

impl Object {
    pub(crate) fn write(&self, body: &mut Writer) {
        let bytes = self.bytes.get(..usize::from(MOST_OBJECT_BYTES)).unwrap_or(&self.bytes);
        body.u64(self.address).u64(self.class).u16(u16::try_from(bytes.len()).unwrap_or(0)).raw(bytes);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (address, class) = (reader.u64("object")?, reader.u64("object")?);
        let length = reader.u16("length of an object")?;
        let bytes = reader.raw(usize::from(length), "bytes of an object")?.to_vec();
        Ok(Object { address, class, bytes })
    }
}
