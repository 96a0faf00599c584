//! The tables of the metadata: where each begins, and how wide its rows are.

use crate::bytes::Bytes;
use crate::error::Error;
use crate::root::Streams;

/// Numbers of the tables that are read, here or elsewhere.
pub mod table {
    /// Types of other modules.
    pub const TYPE_REF: usize = 0x01;
    /// Types.
    pub const TYPE_DEF: usize = 0x02;
    /// Fields.
    pub const FIELD: usize = 0x04;
    /// Methods.
    pub const METHOD: usize = 0x06;
    /// Members of other modules.
    pub const MEMBER_REF: usize = 0x0a;
    /// Attributes.
    pub const CUSTOM_ATTRIBUTE: usize = 0x0c;
    /// Types with arguments, arrays, pointers.
    pub const TYPE_SPEC: usize = 0x1b;
    /// The assembly itself.
    pub const ASSEMBLY: usize = 0x20;
    /// Which type stands in which.
    pub const NESTED_CLASS: usize = 0x29;
    /// Type parameters.
    pub const GENERIC_PARAM: usize = 0x2a;
}

use table::{FIELD, GENERIC_PARAM, METHOD, TYPE_DEF, TYPE_REF};

/// Tables up to the last that is used.
const TABLES: usize = GENERIC_PARAM + 1;

/// A column of a table.
#[derive(Clone, Copy)]
enum Column {
    /// A number of so many bytes.
    Fixed(usize),
    Text,
    Guid,
    Blob,
    /// A row of a table.
    Row(usize),
    /// A row of one of several tables, and so many bits that say which.
    OneOf(u32, &'static [usize]),
}

use Column::{Blob, Fixed, Guid, OneOf, Row, Text};

const TYPE_DEF_OR_REF: Column = OneOf(2, &[TYPE_DEF, TYPE_REF, 0x1b]);
const IMPLEMENTATION: Column = OneOf(2, &[0x26, 0x23, 0x27]);
const METHOD_OR_REF: Column = OneOf(1, &[METHOD, 0x0a]);
const HAS_ATTRIBUTE: Column = OneOf(
    5,
    &[
        0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26,
        0x27, 0x28, 0x2a, 0x2c, 0x2b,
    ],
);

/// ECMA-335 II.22, in the order of the table numbers.
const LAYOUTS: [&[Column]; TABLES] = [
    &[Fixed(2), Text, Guid, Guid, Guid],                // 00 Module
    &[OneOf(2, &[0x00, 0x1a, 0x23, 0x01]), Text, Text], // 01 TypeRef
    &[Fixed(4), Text, Text, TYPE_DEF_OR_REF, Row(FIELD), Row(METHOD)], // 02 TypeDef
    &[Row(FIELD)],                                      // 03 FieldPtr
    &[Fixed(2), Text, Blob],                            // 04 Field
    &[Row(METHOD)],                                     // 05 MethodPtr
    &[Fixed(8), Text, Blob, Row(0x08)],                 // 06 MethodDef
    &[Row(0x08)],                                       // 07 ParamPtr
    &[Fixed(4), Text],                                  // 08 Param
    &[Row(TYPE_DEF), TYPE_DEF_OR_REF],                  // 09 InterfaceImpl
    &[OneOf(3, &[TYPE_DEF, TYPE_REF, 0x1a, METHOD, 0x1b]), Text, Blob], // 0a MemberRef
    &[Fixed(2), OneOf(2, &[FIELD, 0x08, 0x17]), Blob],  // 0b Constant
    &[HAS_ATTRIBUTE, OneOf(3, &[METHOD, 0x0a]), Blob],  // 0c CustomAttribute
    &[OneOf(1, &[FIELD, 0x08]), Blob],                  // 0d FieldMarshal
    &[Fixed(2), OneOf(2, &[TYPE_DEF, METHOD, 0x20]), Blob], // 0e DeclSecurity
    &[Fixed(6), Row(TYPE_DEF)],                         // 0f ClassLayout
    &[Fixed(4), Row(FIELD)],                            // 10 FieldLayout
    &[Blob],                                            // 11 StandAloneSig
    &[Row(TYPE_DEF), Row(0x14)],                        // 12 EventMap
    &[Row(0x14)],                                       // 13 EventPtr
    &[Fixed(2), Text, TYPE_DEF_OR_REF],                 // 14 Event
    &[Row(TYPE_DEF), Row(0x17)],                        // 15 PropertyMap
    &[Row(0x17)],                                       // 16 PropertyPtr
    &[Fixed(2), Text, Blob],                            // 17 Property
    &[Fixed(2), Row(METHOD), OneOf(1, &[0x14, 0x17])],  // 18 MethodSemantics
    &[Row(TYPE_DEF), METHOD_OR_REF, METHOD_OR_REF],     // 19 MethodImpl
    &[Text],                                            // 1a ModuleRef
    &[Blob],                                            // 1b TypeSpec
    &[Fixed(2), OneOf(1, &[FIELD, METHOD]), Text, Row(0x1a)], // 1c ImplMap
    &[Fixed(4), Row(FIELD)],                            // 1d FieldRVA
    &[Fixed(8)],                                        // 1e ENCLog
    &[Fixed(4)],                                        // 1f ENCMap
    &[Fixed(16), Blob, Text, Text],                     // 20 Assembly
    &[Fixed(4)],                                        // 21 AssemblyProcessor
    &[Fixed(12)],                                       // 22 AssemblyOS
    &[Fixed(12), Blob, Text, Text, Blob],               // 23 AssemblyRef
    &[Fixed(4), Row(0x23)],                             // 24 AssemblyRefProcessor
    &[Fixed(12), Row(0x23)],                            // 25 AssemblyRefOS
    &[Fixed(4), Text, Blob],                            // 26 File
    &[Fixed(8), Text, Text, IMPLEMENTATION],            // 27 ExportedType
    &[Fixed(8), Text, IMPLEMENTATION],                  // 28 ManifestResource
    &[Row(TYPE_DEF), Row(TYPE_DEF)],                    // 29 NestedClass
    &[Fixed(4), OneOf(1, &[TYPE_DEF, METHOD]), Text],   // 2a GenericParam
];

/// Where the rows of an assembly's tables stand, counted from the beginning of the stream that holds them.
#[derive(Clone, Debug)]
pub struct Schema {
    heap_sizes: u8,
    rows: [usize; 64],
    starts: [usize; TABLES],
    end: usize,
}

/// A cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub offset: usize,
    /// How many bytes it has: two or four, or more where nobody reads them.
    pub bytes: usize,
}

impl Schema {
    /// No head of the stream is longer than this.
    pub const HEAD: usize = 24 + 64 * 4 + 4;

    /// From the head of the stream; none if it is cut or counts more than there can be.
    #[must_use]
    pub fn read(head: &[u8]) -> Option<Schema> {
        let head = Bytes(head);
        let heap_sizes = head.u8(6)?;
        let valid = head.u64(8)?;
        let mut rows = [0; 64];
        let mut at = 24;
        for table in (0..64).filter(|&table| valid & (1 << table) != 0) {
            rows[table] = head.size(at)?;
            at += 4;
        }
        // An extra number of four bytes, which some compilers write.
        if heap_sizes & 0x40 != 0 {
            at += 4;
        }
        let mut schema = Schema { heap_sizes, rows, starts: [0; TABLES], end: 0 };
        for (table, &count) in rows.iter().enumerate().take(TABLES) {
            schema.starts[table] = at;
            at = at.checked_add(count.checked_mul(schema.row_width(table))?)?;
        }
        schema.end = at;
        Some(schema)
    }

    /// How many rows a table has.
    #[must_use]
    pub fn rows(&self, table: usize) -> usize {
        self.rows.get(table).copied().unwrap_or(0)
    }

    /// Where a cell stands, rows counted from 1 as the metadata does.
    #[must_use]
    pub fn place(&self, table: usize, row: usize, column: usize) -> Option<Place> {
        let index = row.checked_sub(1).filter(|&index| index < self.rows(table))?;
        let layout = LAYOUTS.get(table)?;
        let before: usize = layout.get(..column)?.iter().map(|&column| self.width(column)).sum();
        let offset = self.starts.get(table)? + index * self.row_width(table) + before;
        Some(Place { offset, bytes: self.width(*layout.get(column)?) })
    }

    fn row_width(&self, table: usize) -> usize {
        LAYOUTS[table].iter().map(|&column| self.width(column)).sum()
    }

    fn width(&self, column: Column) -> usize {
        let wide = match column {
            Fixed(bytes) => return bytes,
            Text => self.heap_sizes & 1 != 0,
            Guid => self.heap_sizes & 2 != 0,
            Blob => self.heap_sizes & 4 != 0,
            Row(table) => self.rows[table] > 0xffff,
            OneOf(bits, tables) => tables.iter().any(|&table| self.rows[table] > 0xffff >> bits),
        };
        if wide { 4 } else { 2 }
    }
}

/// The tables of an assembly.
#[derive(Debug)]
pub(crate) struct Tables<'a> {
    bytes: Bytes<'a>,
    schema: Schema,
}

impl<'a> Tables<'a> {
    pub(crate) fn of(streams: &Streams<'a>) -> Result<Tables<'a>, Error> {
        let bytes = streams.tables;
        let schema = Schema::read(bytes.0).filter(|schema| schema.end <= bytes.0.len());
        schema.map(|schema| Tables { bytes, schema }).ok_or(Error::Damaged("the tables lie outside of it"))
    }

    pub(crate) fn rows(&self, table: usize) -> usize {
        self.schema.rows(table)
    }

    /// A cell, rows counted from 1 as the metadata does.
    pub(crate) fn cell(&self, table: usize, row: usize, column: usize) -> Option<usize> {
        let place = self.schema.place(table, row, column)?;
        match place.bytes {
            2 => self.bytes.u16(place.offset).map(usize::from),
            _ => self.bytes.size(place.offset),
        }
    }
}
