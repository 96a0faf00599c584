//! A long trace, made of a real one: its events again and again, each time later, with its stacks and its pace.
//!
//! It is written as runtimes write: blocks of 100 kB with compressed headers, stacks before their events, a sequence point
//! where the recording had one. What was loaded at the end comes once, at the end.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use nettrace::{Event, EventMetadata, Item, Reader, Stacks, ThreadIndex};

const BLOCK: usize = 100_000;
const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";

/// Writes a trace of about this size.
pub fn write(recording: &[u8], size: u64, to: impl Write) -> Result<()> {
    let mut writer = Writer { to, written: 0, sequences: HashMap::new(), block: Block::default() };
    let mut span = (u64::MAX, 0);
    let mut shift = 0;
    writer.head(recording)?;
    for cycle in 0.. {
        let mut reader = Reader::new(recording);
        let is_last = writer.written + recording.len() as u64 >= size;
        while let Some(item) = reader.next()? {
            match item {
                Item::Metadata(metadata) if cycle == 0 => writer.metadata(metadata)?,
                Item::Stacks(stacks) => writer.stacks(&stacks)?,
                Item::Event(event) => {
                    let is_rundown = event.metadata.provider == RUNDOWN;
                    if !is_rundown {
                        span = (span.0.min(event.header.timestamp.0), span.1.max(event.header.timestamp.0));
                    }
                    if !is_rundown || is_last {
                        writer.event(&event, shift)?;
                    }
                }
                Item::SequencePoint(point) => writer.sequence_point(point.timestamp.0 + shift)?,
                _ => {}
            }
        }
        writer.sequence_point(span.1 + shift)?;
        if is_last {
            break;
        }
        shift += span.1 - span.0 + 1_000_000;
    }
    writer.to.write_all(&[1])?;
    Ok(writer.to.flush()?)
}

/// Events that will be a block, and the header of the last of them.
#[derive(Default)]
struct Block {
    bytes: Vec<u8>,
    metadata: u32,
    sequence: u32,
    capture: u64,
    thread: u64,
    stack: u32,
    timestamp: u64,
    payload: u32,
}

struct Writer<W> {
    to: W,
    written: u64,
    /// How far each thread has come.
    sequences: HashMap<ThreadIndex, u32>,
    block: Block,
}

impl<W: Write> Writer<W> {
    /// The head of the recording: everything before its first block.
    fn head(&mut self, recording: &[u8]) -> Result<()> {
        // "Nettrace", "!FastSerialization.1", then the object `Trace`, which is 21 bytes of head, 48 of fields, one of end.
        let end = 8 + 4 + 20 + 21 + 48 + 1;
        self.put(recording.get(..end).unwrap_or_default())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.to.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn object(&mut self, name: &str, body: &[u8]) -> Result<()> {
        let mut head = vec![5, 5, 1];
        head.extend(2_u32.to_le_bytes());
        head.extend(0_u32.to_le_bytes());
        head.extend(u32::try_from(name.len())?.to_le_bytes());
        head.extend(name.as_bytes());
        head.push(6);
        head.extend(u32::try_from(body.len())?.to_le_bytes());
        while !(self.written + head.len() as u64).is_multiple_of(4) {
            head.push(0);
        }
        self.put(&head)?;
        self.put(body)?;
        self.put(&[6])
    }

    fn metadata(&mut self, metadata: &EventMetadata) -> Result<()> {
        let mut row = Vec::new();
        row.extend(metadata.id.0.to_le_bytes());
        utf16(&mut row, &metadata.provider);
        row.extend(metadata.event.0.to_le_bytes());
        utf16(&mut row, &metadata.name);
        row.extend(metadata.keywords.0.to_le_bytes());
        row.extend(metadata.version.0.to_le_bytes());
        row.extend(u32::from(metadata.level.0).to_le_bytes());
        row.extend(0_u32.to_le_bytes());
        let mut body = block_head();
        body.push(0x80);
        var(&mut body, 0);
        var(&mut body, row.len() as u64);
        body.extend(row);
        self.flush()?;
        self.object("MetadataBlock", &body)
    }

    fn stacks(&mut self, stacks: &Stacks<'_>) -> Result<()> {
        let rows: Vec<_> = stacks.iter().collect();
        let Some(first) = rows.first() else { return Ok(()) };
        let mut body = first.id.0.to_le_bytes().to_vec();
        body.extend(u32::try_from(rows.len())?.to_le_bytes());
        for row in &rows {
            body.extend(u32::try_from(row.bytes().len())?.to_le_bytes());
            body.extend(row.bytes());
        }
        self.flush()?;
        self.object("StackBlock", &body)
    }

    fn event(&mut self, event: &Event<'_>, shift: u64) -> Result<()> {
        let header = event.header;
        let sequence = self.sequences.entry(header.capture_thread).or_default();
        *sequence += 1;
        let sequence = *sequence;
        let block = &mut self.block;
        if block.bytes.is_empty() {
            *block = Block { bytes: block_head(), ..Block::default() };
        }
        let payload = u32::try_from(event.payload.len())?;
        let timestamp = header.timestamp.0 + shift;
        let turn = block.capture != header.capture_thread.0 || sequence != block.sequence.wrapping_add(1);
        let changed = [
            (1, block.metadata != header.metadata.0),
            (2, turn),
            (4, block.thread != header.thread.0),
            (8, block.stack != header.stack.0),
            (128, block.payload != payload),
        ];
        let flags = changed.iter().filter(|(_, changed)| *changed).map(|(flag, _)| flag).sum::<u8>();
        block.bytes.push(flags);
        if flags & 1 != 0 {
            var(&mut block.bytes, header.metadata.0.into());
        }
        if turn {
            var(&mut block.bytes, sequence.wrapping_sub(block.sequence).wrapping_sub(1).into());
            var(&mut block.bytes, header.capture_thread.0);
            var(&mut block.bytes, 0);
        }
        if flags & 4 != 0 {
            var(&mut block.bytes, header.thread.0);
        }
        if flags & 8 != 0 {
            var(&mut block.bytes, header.stack.0.into());
        }
        var(&mut block.bytes, timestamp.wrapping_sub(block.timestamp));
        if flags & 128 != 0 {
            var(&mut block.bytes, payload.into());
        }
        block.bytes.extend(event.payload);
        (block.metadata, block.sequence, block.capture) =
            (header.metadata.0, sequence, header.capture_thread.0);
        (block.thread, block.stack) = (header.thread.0, header.stack.0);
        (block.timestamp, block.payload) = (timestamp, payload);
        if block.bytes.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    fn sequence_point(&mut self, timestamp: u64) -> Result<()> {
        self.flush()?;
        let mut body = timestamp.to_le_bytes().to_vec();
        body.extend(0_u32.to_le_bytes());
        self.object("SPBlock", &body)
    }

    fn flush(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.block.bytes);
        if bytes.is_empty() { Ok(()) } else { self.object("EventBlock", &bytes) }
    }
}

/// The head of a block of events with compressed headers.
fn block_head() -> Vec<u8> {
    let mut head = 20_u16.to_le_bytes().to_vec();
    head.extend(1_u16.to_le_bytes());
    head.extend(0_u64.to_le_bytes());
    head.extend(u64::MAX.to_le_bytes());
    head
}

fn utf16(to: &mut Vec<u8>, text: &str) {
    to.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
}

fn var(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    to.push(value.to_le_bytes()[0]);
}
