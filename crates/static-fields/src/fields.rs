//! Static fields with their owners.

use crate::bytes::Bytes;
use crate::error::Error;
use crate::pe::metadata;
use crate::root::Streams;
use crate::signature::type_name;
use crate::tables::Tables;
use crate::tables::table::{FIELD, NESTED_CLASS, TYPE_DEF, TYPE_REF};

/// A static field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticField {
    /// The full name of the type that declares it, `Namespace.Outer+Inner`.
    pub owner: String,
    /// Its own name.
    pub name: String,
    /// The name of its type without type arguments, where that says something.
    pub type_name: Option<String>,
    /// Its place in the metadata: fields of one type stand together, types in their order.
    pub position: usize,
}

/// The column of a type with its first field.
pub(crate) const FIELDS_OF_TYPE: usize = 4;
pub(crate) const STATIC: usize = 0x10;
const LITERAL: usize = 0x40;
/// Deepest nesting of types that is followed.
const DEEPEST: usize = 64;

/// The static fields of an assembly that have a name that is wanted. Constants are none.
pub fn static_fields(file: &[u8], wanted: impl Fn(&str) -> bool) -> Result<Vec<StaticField>, Error> {
    let streams = Streams::of(metadata(file)?)?;
    let tables = Tables::of(&streams)?;
    let names = Names::new(&streams, &tables);
    let mut found = Vec::new();
    for row in 1..=tables.rows(FIELD) {
        let flags = tables.cell(FIELD, row, 0).unwrap_or(0);
        if flags & STATIC == 0 || flags & LITERAL != 0 {
            continue;
        }
        let name = tables.cell(FIELD, row, 1).and_then(|at| streams.strings.text(at));
        let Some(name) = name else { continue };
        if wanted(name) {
            found.extend(field(&streams, &tables, &names, row));
        }
    }
    Ok(found)
}

/// The field in a row of the metadata.
pub(crate) fn field(
    streams: &Streams<'_>,
    tables: &Tables<'_>,
    names: &Names<'_>,
    row: usize,
) -> Option<StaticField> {
    let name = tables.cell(FIELD, row, 1).and_then(|at| streams.strings.text(at))?;
    Some(StaticField {
        owner: names.owner_of(FIELDS_OF_TYPE, row)?,
        name: name.to_owned(),
        type_name: tables.cell(FIELD, row, 2).and_then(|blob| type_name(names, blob)),
        position: row,
    })
}

/// Names of types.
pub(crate) struct Names<'a> {
    streams: &'a Streams<'a>,
    tables: &'a Tables<'a>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(streams: &'a Streams<'a>, tables: &'a Tables<'a>) -> Names<'a> {
        Names { streams, tables }
    }

    pub(crate) fn blobs(&self) -> Bytes<'a> {
        self.streams.blobs
    }

    /// The type whose members, which begin at the row in a column, contain a row: the last that begins at or before it.
    pub(crate) fn owner_of(&self, column: usize, member: usize) -> Option<String> {
        let (mut low, mut high) = (1, self.tables.rows(TYPE_DEF) + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.tables.cell(TYPE_DEF, middle, column)? <= member {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.type_def(low.checked_sub(1)?)
    }

    pub(crate) fn type_def(&self, row: usize) -> Option<String> {
        let mut name = self.own_name(TYPE_DEF, row)?;
        let mut inner = row;
        for _ in 0..DEEPEST {
            let Some(outer) = self.outer(inner) else { break };
            name = format!("{}+{name}", self.own_name(TYPE_DEF, outer)?);
            inner = outer;
        }
        Some(name)
    }

    /// The type around a type; the table is sorted by the inner one.
    pub(crate) fn outer(&self, inner: usize) -> Option<usize> {
        let (mut low, mut high) = (1, self.tables.rows(NESTED_CLASS) + 1);
        while low < high {
            let middle = low.midpoint(high);
            if self.tables.cell(NESTED_CLASS, middle, 0)? < inner {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.tables.cell(NESTED_CLASS, low, 0)? == inner).then(|| self.tables.cell(NESTED_CLASS, low, 1))?
    }

    fn own_name(&self, table: usize, row: usize) -> Option<String> {
        let text = |column| self.tables.cell(table, row, column).and_then(|at| self.streams.strings.text(at));
        let (name, namespace) = (text(1)?, text(2).unwrap_or_default());
        Some(if namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") })
    }

    /// The name of a type of another module.
    pub(crate) fn type_ref(&self, row: usize) -> Option<String> {
        self.own_name(TYPE_REF, row)
    }

    /// The name behind a `TypeDefOrRef` in a signature.
    pub(crate) fn coded(&self, token: usize) -> Option<String> {
        match token & 3 {
            0 => self.own_name(TYPE_DEF, token >> 2),
            1 => self.own_name(TYPE_REF, token >> 2),
            _ => None,
        }
    }
}
