//! Portable PDBs: which IL came from which line.
//!
//! A small reader of two of the format's tables, `Document` and `MethodDebugInformation`, which looks up one method at
//! a time. It opens nothing and bounds every length by the file's.

use std::ops::Range;

use nettrace::Guid;
use runtime_events::MetadataToken;

use super::bytes::{Bytes, Width};
use crate::SymbolError;

/// The tables that are read (Portable PDB v1.0, "Metadata Tables").
const DOCUMENT: u32 = 0x30;
const METHOD_DEBUG_INFORMATION: u32 = 0x31;
/// Tokens of methods have this table number in their upper byte.
const METHOD_DEF: u32 = 0x06;
/// A name of a source file is cut here.
const MAX_NAME: usize = 4096;

/// A method of a module, by its row in the table of methods, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodRow(pub u32);

impl MethodRow {
    /// The row that a token of a method means; none if it is the token of something else.
    #[must_use]
    pub fn of(token: MetadataToken) -> Option<MethodRow> {
        let row = token.0 & 0x00FF_FFFF;
        (token.0 >> 24 == METHOD_DEF && row > 0).then_some(MethodRow(row))
    }
}

/// Where in the source some IL came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencePoint {
    /// Where the IL begins, in bytes.
    pub il: u32,
    /// The source file, as a row of the table of documents.
    pub document: u32,
    /// The line; none for code that the compiler hides, which belongs to no line.
    pub line: Option<u32>,
}

/// A portable PDB in memory.
#[derive(Debug)]
pub struct PortablePdb {
    bytes: Vec<u8>,
    id: Guid,
    blobs: Range<usize>,
    documents: Rows,
    methods: Rows,
    document_width: Width,
    blob_width: Width,
}

/// A table: where its rows are.
#[derive(Clone, Copy, Debug)]
struct Rows {
    at: usize,
    size: usize,
    count: u32,
}

impl Rows {
    /// Where a row begins; rows are counted from 1.
    fn row(self, number: u32) -> Option<usize> {
        let index = number.checked_sub(1).filter(|_| number <= self.count)?;
        self.size.checked_mul(index as usize)?.checked_add(self.at)
    }
}

/// A part of the file.
pub(super) struct Stream {
    pub(super) name: [u8; 8],
    pub(super) range: Range<usize>,
}

impl PortablePdb {
    /// Reads the head of a file; its methods are read when they are asked for.
    pub fn parse(bytes: Vec<u8>) -> Result<PortablePdb, SymbolError> {
        let streams = streams(&bytes)?;
        let find = |name: &[u8], what| {
            let stream = streams.iter().find(|stream| stream.name.starts_with(name));
            stream.map(|stream| stream.range.clone()).ok_or(SymbolError::Format { what })
        };
        let head = find(b"#Pdb\0", "it has no #Pdb stream")?;
        let tables = find(b"#~\0", "it has no #~ stream")?;
        let blobs = find(b"#Blob\0", "it has no #Blob stream")?;
        let id = Guid::from_bytes(Bytes::new(&bytes[..head.end], head.start).array("id")?);
        let mut pdb = PortablePdb {
            id,
            blobs,
            documents: Rows { at: 0, size: 0, count: 0 },
            methods: Rows { at: 0, size: 0, count: 0 },
            document_width: Width::Two,
            blob_width: Width::Two,
            bytes,
        };
        pdb.find_tables(tables)?;
        Ok(pdb)
    }

    fn find_tables(&mut self, stream: Range<usize>) -> Result<(), SymbolError> {
        let mut head = Bytes::new(&self.bytes[..stream.end], stream.start);
        head.take(6, "head of the tables")?;
        let [heaps, _] = head.array("sizes of the heaps")?;
        let present = head.u64("list of the tables")?;
        head.take(8, "list of the sorted tables")?;
        if present & ((1 << DOCUMENT) - 1) != 0 {
            return Err(SymbolError::Format { what: "it has tables of an assembly" });
        }
        let mut counts = [0u32; 64];
        for (table, count) in counts.iter_mut().enumerate() {
            if present >> table & 1 == 1 {
                *count = head.u32("number of rows")?;
            }
        }
        let width = |bit: u8| if heaps & bit == 0 { Width::Two } else { Width::Four };
        let (guid, blob) = (width(2), width(4));
        let rows = |table: u32| counts.get(table as usize).copied().unwrap_or(0);
        let document = Width::for_rows(rows(DOCUMENT));
        let mut table = |size: usize, count: u32| -> Result<Rows, SymbolError> {
            let at = head.at();
            head.take(size.saturating_mul(count as usize), "rows of a table")?;
            Ok(Rows { at, size, count })
        };
        // The two come first: there are no tables of an assembly before them.
        let documents = table(2 * blob.bytes() + 2 * guid.bytes(), rows(DOCUMENT))?;
        let methods = table(document.bytes() + blob.bytes(), rows(METHOD_DEBUG_INFORMATION))?;
        (self.documents, self.methods) = (documents, methods);
        (self.document_width, self.blob_width) = (document, blob);
        Ok(())
    }

    /// Which build it belongs to.
    #[must_use]
    pub fn id(&self) -> Guid {
        self.id
    }

    /// How many methods there are, with and without lines.
    #[must_use]
    pub fn methods(&self) -> u32 {
        self.methods.count
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds nothing, which no file that was read does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The points of a method, in the order of its IL; none if it has no lines.
    pub fn points(&self, method: MethodRow) -> Result<Vec<SequencePoint>, SymbolError> {
        let Some(at) = self.methods.row(method.0) else {
            return Ok(Vec::new());
        };
        let mut row = Bytes::new(&self.bytes, at);
        let document = row.index(self.document_width, "document of a method")?;
        let points = row.index(self.blob_width, "points of a method")?;
        if points == 0 { Ok(Vec::new()) } else { decode_points(self.blob(points)?, document) }
    }

    /// Where a method that can be suspended leaves off, by the number of its await: places in its IL. Empty if it is no
    /// such method, or the file does not say.
    #[must_use]
    pub fn await_offsets(&self, method: MethodRow) -> Vec<u32> {
        super::await_steps::find(&self.bytes, method).unwrap_or_default()
    }

    /// The name of a source file.
    pub fn document(&self, row: u32) -> Result<Option<String>, SymbolError> {
        let Some(at) = self.documents.row(row) else {
            return Ok(None);
        };
        let mut row = Bytes::new(&self.bytes, at);
        let name = row.index(self.blob_width, "name of a document")?;
        let mut parts = self.blob(name)?;
        let separator = separator(&mut parts)?;
        let mut text = String::new();
        let mut is_first = true;
        while !parts.is_empty() && text.len() < MAX_NAME {
            if !std::mem::take(&mut is_first) {
                text.extend(separator);
            }
            let part = parts.compressed("part of a name")?;
            if part != 0 {
                text.push_str(&String::from_utf8_lossy(self.blob(part)?.all()));
            }
        }
        Ok(Some(text))
    }

    /// The content of a blob.
    fn blob(&self, index: u32) -> Result<Bytes<'_>, SymbolError> {
        let at = self.blobs.start.saturating_add(index as usize);
        let heap = &self.bytes[..self.blobs.end];
        let mut head = Bytes::new(heap, at);
        let length = head.compressed("length of a blob")?;
        let content = head.take(length as usize, "content of a blob")?;
        Ok(Bytes::new(content, 0))
    }
}

/// The letter between the parts of a name; none if there is none.
fn separator(parts: &mut Bytes<'_>) -> Result<Option<char>, SymbolError> {
    let at = parts.at();
    let [first] = parts.array("separator of a name")?;
    match first {
        0 => Ok(None),
        1..0x80 => Ok(Some(char::from(first))),
        _ => Err(SymbolError::Damaged { what: "separator of a name", at }),
    }
}

/// The parts of the file that its head lists (ECMA-335, II.24.2).
pub(super) fn streams(bytes: &[u8]) -> Result<Vec<Stream>, SymbolError> {
    let mut head = Bytes::new(bytes, 0);
    if head.array("signature").ok() != Some(*b"BSJB") {
        return Err(SymbolError::Format { what: "it does not begin with BSJB" });
    }
    head.take(8, "version")?;
    let version = head.u32("length of the version")?;
    head.take(version as usize, "text of the version")?;
    head.take(2, "flags")?;
    let count = head.u16("number of streams")?;
    let mut found = Vec::new();
    for _ in 0..count {
        let at = head.at();
        let from = head.u32("place of a stream")? as usize;
        let size = head.u32("size of a stream")? as usize;
        let end = from.checked_add(size).filter(|end| *end <= bytes.len());
        let end = end.ok_or(SymbolError::Damaged { what: "place of a stream", at })?;
        // Names end with a zero and fill up to four bytes; none that we look for is longer than eight.
        let mut name = [0; 8];
        let mut length = 0;
        loop {
            let four: [u8; 4] = head.array("name of a stream")?;
            if let Some(part) = name.get_mut(length..length + 4) {
                part.copy_from_slice(&four);
            }
            length += 4;
            if four.contains(&0) {
                break;
            }
        }
        found.push(Stream { name, range: from..end });
    }
    Ok(found)
}

/// The points of a method (Portable PDB v1.0, "Sequence Points Blob").
fn decode_points(mut blob: Bytes<'_>, document: u32) -> Result<Vec<SequencePoint>, SymbolError> {
    blob.compressed("local signature")?;
    let mut document = if document == 0 { blob.compressed("first document")? } else { document };
    let mut points: Vec<SequencePoint> = Vec::new();
    let mut il = 0u32;
    let mut start: Option<(u32, u32)> = None;
    while !blob.is_empty() {
        let at = blob.at();
        let damaged = |what| SymbolError::Damaged { what, at };
        let step = blob.compressed("step in the IL")?;
        if step == 0 && !points.is_empty() {
            document = blob.compressed("next document")?;
            continue;
        }
        il = il.checked_add(step).ok_or_else(|| damaged("step in the IL"))?;
        let lines = blob.compressed("lines")?;
        let columns = if lines == 0 {
            i64::from(blob.compressed("columns")?)
        } else {
            blob.compressed_signed("columns")?.into()
        };
        if lines == 0 && columns == 0 {
            points.push(SequencePoint { il, document, line: None });
            continue;
        }
        let (line, column) = match start {
            None => (blob.compressed("first line")?, blob.compressed("first column")?),
            Some((line, column)) => {
                let line = line.checked_add_signed(blob.compressed_signed("next line")?);
                let column = column.checked_add_signed(blob.compressed_signed("next column")?);
                line.zip(column).ok_or_else(|| damaged("next line"))?
            }
        };
        start = Some((line, column));
        points.push(SequencePoint { il, document, line: Some(line) });
    }
    Ok(points)
}
