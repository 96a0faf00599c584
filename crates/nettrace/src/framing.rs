//! How a stream is divided: objects of the FastSerialization library before version 6, plain blocks since.

use std::io::Read;
use std::ops::Range;

use crate::limits::MAX_TYPE_NAME;
use crate::source::Source;
use crate::{Error, FormatVersion};

pub(crate) const MAGIC: &[u8; 8] = b"Nettrace";
pub(crate) const SERIALIZER: &[u8; 20] = b"!FastSerialization.1";
/// The newest version of readers that blocks may ask for.
const NEWEST_BLOCK: u32 = 2;

/// Tags between objects.
pub(crate) mod tag {
    pub const NULL: u8 = 1;
    pub const BEGIN: u8 = 5;
    pub const END: u8 = 6;
}

/// The bytes of the object `Trace`, which is the only one that does not tell its size.
const TRACE_OBJECT: u32 = 48;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockKind {
    /// What the stream says about itself.
    Trace,
    /// Events.
    Events,
    /// Kinds of events.
    Metadata,
    /// A barrier in time.
    SequencePoint,
    /// Stacks.
    Stacks,
    /// Threads (version 6).
    Threads,
    /// Threads that have ended (version 6).
    RemovedThreads,
    /// Lists of labels (version 6).
    Labels,
    /// Something this reader does not know.
    Unknown,
    /// Nothing: the stream ends here.
    End,
}

impl BlockKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            BlockKind::Trace => "the description of the trace",
            BlockKind::Events => "a block of events",
            BlockKind::Metadata => "a block of metadata",
            BlockKind::SequencePoint => "a sequence point",
            BlockKind::Stacks => "a block of stacks",
            BlockKind::Threads => "a block of threads",
            BlockKind::RemovedThreads => "a block of removed threads",
            BlockKind::Labels => "a block of labels",
            BlockKind::Unknown => "a block of unknown kind",
            BlockKind::End => "the end of the stream",
        }
    }

    fn from_type_name(name: &[u8]) -> BlockKind {
        match name {
            b"Trace" => BlockKind::Trace,
            b"EventBlock" => BlockKind::Events,
            b"MetadataBlock" => BlockKind::Metadata,
            b"SPBlock" => BlockKind::SequencePoint,
            b"StackBlock" => BlockKind::Stacks,
            _ => BlockKind::Unknown,
        }
    }

    fn from_number(number: u32) -> BlockKind {
        match number {
            0 => BlockKind::End,
            1 => BlockKind::Trace,
            2 => BlockKind::Events,
            3 => BlockKind::Metadata,
            4 => BlockKind::SequencePoint,
            5 => BlockKind::Stacks,
            6 => BlockKind::Threads,
            7 => BlockKind::RemovedThreads,
            8 => BlockKind::Labels,
            _ => BlockKind::Unknown,
        }
    }
}

/// A block that begins at the source's offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockStart {
    pub kind: BlockKind,
    pub size: u32,
    /// The format the block is written in.
    pub version: FormatVersion,
}

/// Finds one block after the other. Whatever it returns, it has consumed a head completely or not at all, so that
/// a read that timed out can be repeated.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    version: Option<FormatVersion>,
    /// Behind the last block, its object is still to be closed.
    object_open: bool,
    /// The type of the last object (before version 6).
    object: ObjectType,
}

/// The type of an object as it stands in the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectType {
    pub version: u32,
    pub readers: u32,
    pub name: Vec<u8>,
}

impl Framing {
    pub fn next_block<R: Read>(&mut self, source: &mut Source<R>) -> Result<BlockStart, Error> {
        match self.version {
            None => {
                self.version = Some(read_stream_header(source)?);
                self.next_block(source)
            }
            Some(FormatVersion::V6) => {
                let head = peek_u32(source, 0, "the head of a block")?;
                source.consume(4);
                let kind = BlockKind::from_number(head >> 24);
                Ok(BlockStart { kind, size: head & 0xFF_FFFF, version: FormatVersion::V6 })
            }
            Some(_) => self.next_object(source),
        }
    }

    /// The type of the last object.
    pub fn object(&self) -> &ObjectType {
        &self.object
    }

    fn next_object<R: Read>(&mut self, source: &mut Source<R>) -> Result<BlockStart, Error> {
        if self.object_open {
            if peek_array(source, 0, "the end of an object")? != [tag::END] {
                return Err(damaged(source, 0, "the end of an object", "there is no end tag"));
            }
            source.consume(1);
            self.object_open = false;
        }
        match peek_array(source, 0, "the next object")? {
            [tag::NULL] => {
                source.consume(1);
                return Ok(BlockStart { kind: BlockKind::End, size: 0, version: FormatVersion::V4 });
            }
            [tag::BEGIN] => {}
            _ => {
                return Err(damaged(
                    source,
                    0,
                    "the next object",
                    "neither an object nor the end of the stream",
                ));
            }
        }
        if peek_array(source, 1, "the head of an object")? != [tag::BEGIN, tag::NULL] {
            return Err(damaged(source, 1, "the head of an object", "the type does not begin"));
        }
        let version = peek_u32(source, 3, "the version of an object")?;
        let readers = peek_u32(source, 7, "the version of an object")?;
        let length = peek_u32(source, 11, "the type of an object")? as usize;
        if length > MAX_TYPE_NAME {
            let (size, limit) = (length as u64, MAX_TYPE_NAME as u64);
            return Err(Error::TooLarge {
                offset: source.offset() + 11,
                what: "the type of an object",
                size,
                limit,
            });
        }
        let end = 15 + length;
        let name = peek(source, 15..end, "the type of an object")?;
        let kind = BlockKind::from_type_name(name);
        self.object.name.clear();
        self.object.name.extend_from_slice(name);
        (self.object.version, self.object.readers) = (version, readers);
        if peek_array(source, end, "the type of an object")? != [tag::END] {
            return Err(damaged(source, end, "the type of an object", "there is no end tag"));
        }
        let body = end + 1;
        if kind == BlockKind::Trace {
            let version = object_version(source, version, readers)?;
            self.begin(source, body);
            self.version = Some(version);
            return Ok(BlockStart { kind, size: TRACE_OBJECT, version });
        }
        if kind != BlockKind::Unknown && readers > NEWEST_BLOCK {
            return Err(unsupported(source, kind.name(), readers, "up to 2"));
        }
        // The size, then zeros up to an offset that four divides.
        let behind_size = source.offset() + body as u64 + 4;
        let padding = (4 - (behind_size % 4) as usize) % 4;
        let size = peek_u32(source, body, "the size of a block")?;
        let head = body + 4 + padding;
        peek(source, body..head, "the size of a block")?;
        self.begin(source, head);
        Ok(BlockStart { kind, size, version: self.version.unwrap_or(FormatVersion::V4) })
    }

    fn begin<R: Read>(&mut self, source: &mut Source<R>, head: usize) {
        source.consume(head);
        self.object_open = true;
    }
}

/// Reads what stands before the first block.
fn read_stream_header<R: Read>(source: &mut Source<R>) -> Result<FormatVersion, Error> {
    let found = peek_array(source, 0, "the head of the stream")?;
    if found != *MAGIC {
        return Err(Error::NotNettrace { found });
    }
    let length = peek_u32(source, 8, "the head of the stream")?;
    if length == 0 {
        let major = peek_u32(source, 12, "the version of the stream")?;
        if major != 6 {
            return Err(unsupported(source, "the format", major, "4 to 6"));
        }
        peek_u32(source, 16, "the version of the stream")?;
        source.consume(20);
        return Ok(FormatVersion::V6);
    }
    if length as usize != SERIALIZER.len() || peek_array(source, 12, "the head of the stream")? != *SERIALIZER
    {
        return Err(damaged(source, 8, "the head of the stream", "it does not name !FastSerialization.1"));
    }
    source.consume(12 + SERIALIZER.len());
    Ok(FormatVersion::V4)
}

/// The format from the versions of the object `Trace`: its own, and the oldest reader's.
fn object_version<R: Read>(source: &Source<R>, version: u32, readers: u32) -> Result<FormatVersion, Error> {
    match (version, readers) {
        (4, ..=5) => Ok(FormatVersion::V4),
        (5.., ..=5) => Ok(FormatVersion::V5),
        _ => Err(unsupported(source, "the format", version.max(readers), "4 to 6")),
    }
}

/// A part of the next bytes, all of it.
fn peek<'s, R: Read>(
    source: &'s mut Source<R>,
    part: Range<usize>,
    what: &'static str,
) -> Result<&'s [u8], Error> {
    if source.fill(part.end)? < part.end {
        return Err(source.cut_off(what));
    }
    Ok(source.bytes().get(part).unwrap_or_default())
}

fn peek_array<const N: usize, R: Read>(
    source: &mut Source<R>,
    at: usize,
    what: &'static str,
) -> Result<[u8; N], Error> {
    let bytes = peek(source, at..at + N, what)?;
    Ok(bytes.first_chunk().copied().unwrap_or([0; N]))
}

fn peek_u32<R: Read>(source: &mut Source<R>, at: usize, what: &'static str) -> Result<u32, Error> {
    peek_array(source, at, what).map(u32::from_le_bytes)
}

fn damaged<R: Read>(source: &Source<R>, at: usize, what: &'static str, problem: &'static str) -> Error {
    Error::Damaged { offset: source.offset() + at as u64, what, problem }
}

fn unsupported<R: Read>(
    source: &Source<R>,
    what: &'static str,
    version: u32,
    readable: &'static str,
) -> Error {
    Error::UnsupportedVersion { offset: source.offset(), what, version, readable }
}
