//! Objects in a stream: where one begins, which type it has, where it ends.

use std::collections::HashMap;
use std::io::Read;

use super::source::Source;
use super::tag;
use crate::error::Error;

/// The type of a serialized object.
#[derive(Debug, Clone)]
pub(super) struct SerialType {
    pub(super) name: String,
    pub(super) version: i32,
    pub(super) min_reader: i32,
}

/// A stream of objects.
pub(super) struct Objects<R> {
    pub(super) source: Source<R>,
    /// Types by the position where they were written; later objects refer to it.
    types: HashMap<u64, SerialType>,
}

impl<R: Read> Objects<R> {
    pub(super) fn new(source: Source<R>) -> Objects<R> {
        Objects { source, types: HashMap::new() }
    }

    /// The beginning of an object up to its first field; `None` for a null.
    pub(super) fn begin(&mut self, field: &'static str) -> Result<Option<SerialType>, Error> {
        let offset = self.source.offset();
        match self.source.u8(field)? {
            tag::NULL => Ok(None),
            tag::BEGIN_OBJECT | tag::BEGIN_PRIVATE_OBJECT => self.serial_type(field).map(Some),
            value => {
                let expected = "the tag of an object (1, 4 or 5)";
                Err(Error::BadField { offset, field, value: value.into(), expected })
            }
        }
    }

    /// The type of the object that begins here: described at its first use, referred to later.
    fn serial_type(&mut self, field: &'static str) -> Result<SerialType, Error> {
        let offset = self.source.offset();
        match self.source.u8(field)? {
            tag::BEGIN_OBJECT => {
                // The type of a type is null.
                self.expect(tag::NULL, "the type of a type", "a null (1)")?;
                let version = self.source.i32("the version of a type")?;
                let min_reader = self.source.i32("the oldest reader of a type")?;
                let name = self.source.string("the name of a type")?.unwrap_or_default();
                self.end("a type")?;
                let described = SerialType { name, version, min_reader };
                self.types.insert(offset, described.clone());
                Ok(described)
            }
            tag::OBJECT_REFERENCE => {
                let at = self.source.offset();
                let label = u64::from(self.source.u32(field)?);
                self.types.get(&label).cloned().ok_or(Error::BadField {
                    offset: at,
                    field,
                    value: i64::try_from(label).unwrap_or(i64::MAX),
                    expected: "the position of a type described before",
                })
            }
            value => {
                let expected = "the tag of a type (2 or 4)";
                Err(Error::BadField { offset, field, value: value.into(), expected })
            }
        }
    }

    fn expect(&mut self, wanted: u8, field: &'static str, expected: &'static str) -> Result<(), Error> {
        let offset = self.source.offset();
        let value = self.source.u8(field)?;
        if value == wanted {
            return Ok(());
        }
        Err(Error::BadField { offset, field, value: value.into(), expected })
    }

    /// Passes over tagged fields that a later version may have added, to the end of the object.
    pub(super) fn end(&mut self, field: &'static str) -> Result<(), Error> {
        loop {
            let offset = self.source.offset();
            match self.source.u8(field)? {
                tag::END_OBJECT => return Ok(()),
                tag::NULL => {}
                tag::BYTE => self.source.skip(1, field)?,
                tag::INT16 => self.source.skip(2, field)?,
                tag::INT32 => self.source.skip(4, field)?,
                tag::INT64 => self.source.skip(8, field)?,
                tag::STRING => drop(self.source.string(field)?),
                tag::BLOB => {
                    let length = self.source.count(field)?;
                    self.source.skip(length, field)?;
                }
                value => {
                    let expected = "the end of the object (6)";
                    return Err(Error::BadField { offset, field, value: value.into(), expected });
                }
            }
        }
    }

    /// Takes a tagged field when it is there.
    pub(super) fn tagged(&mut self, wanted: u8, field: &'static str) -> Result<bool, Error> {
        let there = self.source.peek(field)? == wanted;
        if there {
            self.source.u8(field)?;
        }
        Ok(there)
    }
}
