//! The streams of the metadata.

use crate::bytes::Bytes;
use crate::error::Error;

const MAGIC: u32 = 0x424a_5342;

/// The streams that are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams<'a> {
    pub(crate) tables: Bytes<'a>,
    pub(crate) strings: Bytes<'a>,
    pub(crate) blobs: Bytes<'a>,
}

impl<'a> Streams<'a> {
    pub(crate) fn of(metadata: Bytes<'a>) -> Result<Streams<'a>, Error> {
        if metadata.u32(0) != Some(MAGIC) {
            return Err(Error::Damaged("it does not begin as metadata does"));
        }
        find(metadata).ok_or(Error::Damaged("a stream is missing or lies outside of it"))
    }
}

fn find(metadata: Bytes<'_>) -> Option<Streams<'_>> {
    let after_version = 16_usize.checked_add(metadata.size(12)?)?;
    let count = metadata.u16(after_version + 2)?;
    let mut at = after_version + 4;
    let none = Bytes(&[]);
    let mut streams = Streams { tables: none, strings: none, blobs: none };
    for _ in 0..count {
        let part = metadata.part(metadata.size(at)?, metadata.size(at + 4)?)?;
        let name = metadata.text(at + 8)?;
        match name {
            "#~" | "#-" => streams.tables = part,
            "#Strings" => streams.strings = part,
            "#Blob" => streams.blobs = part,
            _ => {}
        }
        at += 8 + (name.len() + 1).next_multiple_of(4);
    }
    (!streams.tables.0.is_empty()).then_some(streams)
}
