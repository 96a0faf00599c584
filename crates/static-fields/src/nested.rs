//! Types within types.

use crate::error::Error;
use crate::fields::Names;
use crate::pe::metadata;
use crate::root::Streams;
use crate::tables::Tables;

/// For each of these types, by their rows in an assembly's metadata: the full name of the type around it; none for a type
/// that stands alone, and for a row that there is not.
pub fn outer_types(file: &[u8], rows: &[usize]) -> Result<Vec<Option<String>>, Error> {
    let streams = Streams::of(metadata(file)?)?;
    let tables = Tables::of(&streams)?;
    let names = Names::new(&streams, &tables);
    Ok(rows.iter().map(|row| names.type_def(names.outer(*row)?)).collect())
}
