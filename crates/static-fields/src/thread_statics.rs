//! Static fields of which each thread has its own, by their attribute.

use crate::error::Error;
use crate::fields::{Names, StaticField, field};
use crate::pe::metadata;
use crate::root::Streams;
use crate::tables::Tables;
use crate::tables::table::{CUSTOM_ATTRIBUTE, MEMBER_REF};

const ATTRIBUTE: &str = "System.ThreadStaticAttribute";
/// Of what has an attribute: fields. ECMA-335 II.24.2.6.
const OF_FIELD: usize = 1;
/// Of constructors of attributes: those of other modules.
const OF_MEMBER_REF: usize = 3;
/// Of what a member belongs to: types of other modules.
const OF_TYPE_REF: usize = 1;

/// The fields of an assembly that are marked `[ThreadStatic]`.
pub fn thread_statics(file: &[u8]) -> Result<Vec<StaticField>, Error> {
    let streams = Streams::of(metadata(file)?)?;
    let tables = Tables::of(&streams)?;
    let names = Names::new(&streams, &tables);
    // The constructors of the attribute: one, wherever it is used.
    let constructors: Vec<usize> = (1..=tables.rows(MEMBER_REF))
        .filter(|&row| {
            let owner = tables.cell(MEMBER_REF, row, 0).filter(|owner| owner & 7 == OF_TYPE_REF);
            owner.and_then(|owner| names.type_ref(owner >> 3)).is_some_and(|name| name == ATTRIBUTE)
        })
        .collect();
    let is_attribute = |token: usize| token & 7 == OF_MEMBER_REF && constructors.contains(&(token >> 3));
    let mut found = Vec::new();
    for row in 1..=tables.rows(CUSTOM_ATTRIBUTE) {
        let parent = tables.cell(CUSTOM_ATTRIBUTE, row, 0).filter(|parent| parent & 31 == OF_FIELD);
        let Some(parent) = parent else { continue };
        if tables.cell(CUSTOM_ATTRIBUTE, row, 1).is_some_and(is_attribute) {
            found.extend(field(&streams, &tables, &names, parent >> 5));
        }
    }
    Ok(found)
}
