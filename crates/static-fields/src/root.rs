//! The streams of the metadata.

use std::ops::Range;

use crate::bytes::Bytes;
use crate::error::Error;

const MAGIC: u32 = 0x424a_5342;

/// Where the streams that are used stand, counted from the beginning of the metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamPlaces {
    /// The tables.
    pub tables: Range<usize>,
    /// Names.
    pub strings: Range<usize>,
    /// Signatures and the like.
    pub blobs: Range<usize>,
}

impl StreamPlaces {
    /// From the head of the metadata; none if it is cut, or is none.
    #[must_use]
    pub fn read(head: &[u8]) -> Option<StreamPlaces> {
        let head = Bytes(head);
        if head.u32(0)? != MAGIC {
            return None;
        }
        let after_version = 16_usize.checked_add(head.size(12)?)?;
        let count = head.u16(after_version.checked_add(2)?)?;
        let mut at = after_version.checked_add(4)?;
        let mut streams = StreamPlaces::default();
        for _ in 0..count {
            let start = head.size(at)?;
            let place = start..start.checked_add(head.size(at + 4)?)?;
            let name = head.text(at + 8)?;
            match name {
                "#~" | "#-" => streams.tables = place,
                "#Strings" => streams.strings = place,
                "#Blob" => streams.blobs = place,
                _ => {}
            }
            at += 8 + (name.len() + 1).next_multiple_of(4);
        }
        (!streams.tables.is_empty()).then_some(streams)
    }
}

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
    let places = StreamPlaces::read(metadata.0)?;
    let part = |place: Range<usize>| metadata.part(place.start, place.len());
    Some(Streams { tables: part(places.tables)?, strings: part(places.strings)?, blobs: part(places.blobs)? })
}
