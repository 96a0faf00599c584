//! Names of methods.

use crate::bytes::Bytes;
use crate::error::Error;
use crate::fields::Names;
use crate::pe::metadata;
use crate::root::Streams;
use crate::tables::Tables;
use crate::tables::table::METHOD;

/// The column of a type with its first method.
const METHODS_OF_TYPE: usize = 5;

/// What a method is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodName {
    /// The full name of the type that declares it, `Namespace.Outer+Inner`.
    pub owner: String,
    /// Its own name.
    pub name: String,
}

/// The names of an assembly's methods, without the rest of its file.
#[derive(Debug, Clone)]
pub struct MethodNames {
    metadata: Vec<u8>,
}

impl MethodNames {
    /// Out of the file of an assembly.
    pub fn read(file: &[u8]) -> Result<MethodNames, Error> {
        Ok(MethodNames { metadata: metadata(file)?.0.to_vec() })
    }

    /// The method in a row of the metadata, counted from 1; none if there is no such row.
    pub fn get(&self, row: usize) -> Result<Option<MethodName>, Error> {
        let streams = Streams::of(Bytes(&self.metadata))?;
        let tables = Tables::of(&streams)?;
        let name = tables.cell(METHOD, row, 1).and_then(|at| streams.strings.text(at));
        let owner = Names::new(&streams, &tables).owner_of(METHODS_OF_TYPE, row);
        Ok(owner.zip(name).map(|(owner, name)| MethodName { owner, name: name.to_owned() }))
    }
}
