//! Types with their base types and instance fields.

use crate::error::Error;
use crate::fields::{FIELDS_OF_TYPE, Names, STATIC};
use crate::pe::metadata;
use crate::root::Streams;
use crate::signature::type_name;
use crate::tables::Tables;
use crate::tables::table::{FIELD, TYPE_DEF};

/// The column of a type with the type it derives from.
const BASE_OF_TYPE: usize = 3;

/// A field of each object of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceField {
    /// Its name.
    pub name: String,
    /// The name of its type without type arguments, where that says something.
    pub type_name: Option<String>,
}

/// A type that an assembly defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDefinition {
    /// Its full name, `Namespace.Outer+Inner`, with the number of its type parameters as metadata has it.
    pub name: String,
    /// The type it derives from, unless that one has type arguments.
    pub base: Option<String>,
    /// The fields that it declares itself.
    pub fields: Vec<InstanceField>,
}

/// The types of an assembly whose full name is wanted, in the order of the metadata.
pub fn type_definitions(file: &[u8], wanted: impl Fn(&str) -> bool) -> Result<Vec<TypeDefinition>, Error> {
    let streams = Streams::of(metadata(file)?)?;
    let tables = Tables::of(&streams)?;
    let names = Names::new(&streams, &tables);
    let mut found = Vec::new();
    // Types of a damaged file may claim each other's fields: no more are given out than there are.
    let mut left = tables.rows(FIELD);
    for row in 1..=tables.rows(TYPE_DEF) {
        let Some(name) = names.type_def(row).filter(|name| wanted(name)) else { continue };
        let first = tables.cell(TYPE_DEF, row, FIELDS_OF_TYPE).unwrap_or(0);
        let next = tables.cell(TYPE_DEF, row + 1, FIELDS_OF_TYPE);
        let end = next.unwrap_or(usize::MAX).min(tables.rows(FIELD) + 1);
        let first = first.max(1);
        let count = end.saturating_sub(first).min(left);
        left -= count;
        let fields = (first..first + count)
            .filter(|&field| tables.cell(FIELD, field, 0).is_some_and(|flags| flags & STATIC == 0))
            .filter_map(|field| {
                let name = tables.cell(FIELD, field, 1).and_then(|at| streams.strings.text(at))?;
                let type_name = tables.cell(FIELD, field, 2).and_then(|blob| type_name(&names, blob));
                Some(InstanceField { name: name.to_owned(), type_name })
            })
            .collect();
        let base = tables.cell(TYPE_DEF, row, BASE_OF_TYPE).and_then(|token| names.coded(token));
        found.push(TypeDefinition { name, base, fields });
    }
    Ok(found)
}
