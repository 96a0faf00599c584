//! The layout of a payload: names and types of its fields.

use crate::cursor::{Cursor, Parsed};
use crate::limits::MAX_FIELD_DEPTH;

/// One field of an event's payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// What stands in the payload.
    pub kind: FieldType,
}

/// How a field is written. Fields follow each other without padding; numbers are little endian.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldType {
    /// 4 bytes, 0 or 1.
    Bool32,
    /// 1 byte, 0 or 1.
    Bool8,
    /// A UTF-16 unit.
    Utf16Unit,
    /// A UTF-8 unit.
    Utf8Unit,
    /// 1 byte with sign.
    I8,
    /// 1 byte.
    U8,
    /// 2 bytes with sign.
    I16,
    /// 2 bytes.
    U16,
    /// 4 bytes with sign.
    I32,
    /// 4 bytes.
    U32,
    /// 8 bytes with sign.
    I64,
    /// 8 bytes.
    U64,
    /// A float of 4 bytes.
    F32,
    /// A float of 8 bytes.
    F64,
    /// A decimal of 16 bytes.
    Decimal,
    /// 8 bytes: units of 100 ns since 1601 (before version 6).
    FileTime,
    /// 16 bytes: year, month, day of the week, day, hour, minute, second, millisecond (version 6).
    SystemTime,
    /// 16 bytes.
    Guid,
    /// UTF-16 up to a zero.
    Utf16Text,
    /// Groups of seven bits, with sign.
    VarI64,
    /// Groups of seven bits.
    VarU64,
    /// A count of 2 bytes, then the elements.
    Array(Box<FieldType>),
    /// Elements of a known number.
    FixedArray {
        /// The type of each.
        element: Box<FieldType>,
        /// How many there are.
        count: u16,
    },
    /// 2 bytes of position, counted from behind this field, and 2 bytes of size: elements elsewhere in the payload.
    RelativeArray(Box<FieldType>),
    /// The same, with a position that is counted from the start of the payload.
    AbsoluteArray(Box<FieldType>),
    /// Fields in a field.
    Struct(Vec<Field>),
}

/// The three ways in which fields are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    /// Type, then name; no arrays.
    V5,
    /// In a tag of version 5: size, name, type.
    V5Tag,
    /// Version 6: shorter numbers.
    V6,
}

/// Reads a list of fields.
pub(crate) fn read_fields(cursor: &mut Cursor<'_>, notation: Notation, depth: usize) -> Parsed<Vec<Field>> {
    if depth > MAX_FIELD_DEPTH {
        return Err(cursor.invalid("fields", "too many levels"));
    }
    let count = match notation {
        Notation::V6 => u32::from(cursor.u16("number of fields")?),
        _ => cursor.u32("number of fields")?,
    };
    // Every field takes bytes, so a count that is too high ends at the end of the bytes.
    let mut fields = Vec::new();
    for _ in 0..count {
        fields.push(match notation {
            Notation::V5 => {
                let kind = read_type(cursor, notation, depth)?;
                Field { kind, name: cursor.utf16("name of a field")? }
            }
            Notation::V5Tag => {
                let before = *cursor;
                let size = cursor.u32("size of a field")?.checked_sub(4);
                let size = size.ok_or_else(|| before.invalid("size of a field", "less than its own size"))?;
                let mut part = cursor.part(size as usize, "field")?;
                let name = part.utf16("name of a field")?;
                Field { name, kind: read_type(&mut part, notation, depth)? }
            }
            Notation::V6 => {
                let size = cursor.u16("size of a field")?;
                let mut part = cursor.part(usize::from(size), "field")?;
                let name = part.utf8("name of a field")?.into_owned();
                Field { name, kind: read_type(&mut part, notation, depth)? }
            }
        });
    }
    Ok(fields)
}

fn read_type(cursor: &mut Cursor<'_>, notation: Notation, depth: usize) -> Parsed<FieldType> {
    if depth > MAX_FIELD_DEPTH {
        return Err(cursor.invalid("type of a field", "too many levels"));
    }
    let before = *cursor;
    let code = match notation {
        Notation::V6 => u32::from(cursor.u8("type of a field")?),
        _ => cursor.u32("type of a field")?,
    };
    let element = |cursor: &mut Cursor<'_>| read_type(cursor, notation, depth + 1).map(Box::new);
    let v6 = notation == Notation::V6;
    Ok(match code {
        1 => FieldType::Struct(read_fields(cursor, notation, depth + 1)?),
        3 => FieldType::Bool32,
        4 => FieldType::Utf16Unit,
        5 => FieldType::I8,
        6 => FieldType::U8,
        7 => FieldType::I16,
        8 => FieldType::U16,
        9 => FieldType::I32,
        10 => FieldType::U32,
        11 => FieldType::I64,
        12 => FieldType::U64,
        13 => FieldType::F32,
        14 => FieldType::F64,
        15 => FieldType::Decimal,
        16 if v6 => FieldType::SystemTime,
        16 => FieldType::FileTime,
        17 => FieldType::Guid,
        18 => FieldType::Utf16Text,
        19 if notation != Notation::V5 => FieldType::Array(element(cursor)?),
        20 if v6 => FieldType::VarI64,
        21 if v6 => FieldType::VarU64,
        22 if v6 => {
            let element = element(cursor)?;
            FieldType::FixedArray { element, count: cursor.u16("length of an array")? }
        }
        23 if v6 => FieldType::Utf8Unit,
        24 if v6 => FieldType::RelativeArray(element(cursor)?),
        25 if v6 => FieldType::AbsoluteArray(element(cursor)?),
        26 if v6 => FieldType::Bool8,
        _ => return Err(before.invalid("type of a field", "none that is known")),
    })
}
