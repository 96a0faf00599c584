//! Where an `async` method leaves off at each of its awaits, from a portable PDB.
//!
//! The compiler writes it for debuggers, as "async method stepping information" of the method `MoveNext`: for each await
//! the IL at which the method returns and the IL at which it goes on. Awaits come in the order of their numbers.

use super::bytes::{Bytes, Width};
use super::portable_pdb::{MethodRow, streams};
use crate::SymbolError;

/// The kind of information that we look for, as its identifier lies in the file.
const ASYNC_STEPPING: [u8; 16] =
    [0xC5, 0x2A, 0xFD, 0x54, 0x25, 0xE9, 0x1A, 0x40, 0x9C, 0x2A, 0xF9, 0x4F, 0x17, 0x10, 0x72, 0xF8];
/// Tables of a portable PDB.
const DOCUMENT: usize = 0x30;
const CUSTOM_DEBUG_INFORMATION: usize = 0x37;
const METHOD_DEF: usize = 0x06;
/// Tables that custom information can belong to, which decides how wide its reference is; `MethodDef` is number 0 of them.
const OWNERS: [usize; 27] = [
    0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14, 0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26,
    0x27, 0x28, 0x2A, 0x2C, 0x2B, 0x30, 0x32, 0x33, 0x34, 0x35,
];
/// Bits of a reference that tell the table.
const TAG_BITS: u32 = 5;
/// More awaits than any method has.
const MOST_AWAITS: usize = 65_536;

/// The places of a method's awaits in its IL.
pub(super) fn find(bytes: &[u8], method: MethodRow) -> Result<Vec<u32>, SymbolError> {
    let streams = streams(bytes)?;
    let part = |name: &[u8], what| {
        let stream = streams.iter().find(|stream| stream.name.starts_with(name));
        stream.and_then(|stream| bytes.get(stream.range.clone())).ok_or(SymbolError::Format { what })
    };
    let (head, tables) = (part(b"#Pdb\0", "it has no #Pdb stream")?, part(b"#~\0", "it has no #~ stream")?);
    let (guids, blobs) =
        (part(b"#GUID\0", "it has no #GUID stream")?, part(b"#Blob\0", "it has no #Blob stream")?);
    let mut rows = [0u32; 64];
    foreign_rows(head, &mut rows)?;
    let mut reader = Bytes::new(tables, 0);
    reader.take(6, "head of the tables")?;
    let [heaps, _] = reader.array("sizes of the heaps")?;
    let present = reader.u64("list of the tables")?;
    reader.take(8, "list of the sorted tables")?;
    for (table, count) in rows.iter_mut().enumerate().filter(|(table, _)| present >> table & 1 == 1) {
        let told = reader.u32("number of rows")?;
        if table >= DOCUMENT {
            *count = told;
        }
    }
    let widths = Widths::of(heaps, &rows);
    for (table, count) in rows.iter().enumerate().take(CUSTOM_DEBUG_INFORMATION).skip(DOCUMENT) {
        let count = usize::try_from(*count).unwrap_or(usize::MAX);
        reader.take(widths.row(table).saturating_mul(count), "rows of a table")?;
    }
    for _ in 0..rows[CUSTOM_DEBUG_INFORMATION] {
        let owner = reader.index(widths.owner, "owner")?;
        let kind = reader.index(widths.guid, "kind")?;
        let value = reader.index(widths.blob, "value")?;
        // The table of methods has the tag 0.
        if owner == method.0 << TAG_BITS && is_stepping(guids, kind) {
            return decode(blobs, value);
        }
    }
    Ok(Vec::new())
}

/// The numbers of rows of the assembly's own tables, which the file repeats.
fn foreign_rows(head: &[u8], rows: &mut [u32; 64]) -> Result<(), SymbolError> {
    let mut reader = Bytes::new(head, 0);
    reader.take(24, "id and entry point")?;
    let present = reader.u64("list of the assembly's tables")?;
    for (_, count) in rows.iter_mut().enumerate().filter(|(table, _)| present >> table & 1 == 1) {
        *count = reader.u32("number of rows")?;
    }
    Ok(())
}

struct Widths {
    string: Width,
    guid: Width,
    blob: Width,
    owner: Width,
    rows: [Width; 64],
}

impl Widths {
    fn of(heaps: u8, rows: &[u32; 64]) -> Widths {
        let heap = |bit: u8| if heaps & bit == 0 { Width::Two } else { Width::Four };
        let most = OWNERS.iter().map(|table| rows[*table]).max().unwrap_or(0);
        let owner = if most < 1 << (16 - TAG_BITS) { Width::Two } else { Width::Four };
        Widths { string: heap(1), guid: heap(2), blob: heap(4), owner, rows: rows.map(Width::for_rows) }
    }

    /// Bytes of a row (Portable PDB v1.0, "Metadata Tables").
    fn row(&self, table: usize) -> usize {
        let index = |table: usize| self.rows[table].bytes();
        let (string, guid, blob) = (self.string.bytes(), self.guid.bytes(), self.blob.bytes());
        match table {
            0x30 => 2 * blob + 2 * guid,
            0x31 => index(DOCUMENT) + blob,
            0x32 => index(METHOD_DEF) + index(0x35) + index(0x33) + index(0x34) + 8,
            0x33 => 4 + string,
            0x34 => string + blob,
            0x35 => index(0x35) + blob,
            _ => 2 * index(METHOD_DEF),
        }
    }
}

fn is_stepping(guids: &[u8], kind: u32) -> bool {
    let at =
        usize::try_from(kind).ok().and_then(|kind| kind.checked_sub(1)).and_then(|kind| kind.checked_mul(16));
    at.and_then(|at| guids.get(at..)).and_then(|rest| rest.first_chunk()) == Some(&ASYNC_STEPPING)
}

fn decode(blobs: &[u8], index: u32) -> Result<Vec<u32>, SymbolError> {
    let mut heap = Bytes::new(blobs, usize::try_from(index).unwrap_or(usize::MAX));
    let length = heap.compressed("length of a blob")?;
    let content = heap.take(usize::try_from(length).unwrap_or(usize::MAX), "content of a blob")?;
    let mut blob = Bytes::new(content, 0);
    blob.u32("handler of exceptions")?;
    let mut found = Vec::new();
    while !blob.is_empty() && found.len() < MOST_AWAITS {
        found.push(blob.u32("where it leaves off")?);
        blob.u32("where it goes on")?;
        blob.compressed("method")?;
    }
    Ok(found)
}
