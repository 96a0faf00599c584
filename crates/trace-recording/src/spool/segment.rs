//! A file without a name that holds blocks.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nettrace::copying::{WholeBlock, time_span};
use nettrace::{BlockKind, SequenceNumber, ThreadIndex, Timestamp};

use crate::error::RecordingError;

/// Before each block: its type and its size.
const HEAD: usize = 5;

/// Blocks, and what must be known of them.
pub(super) struct Segment {
    file: File,
    size: u64,
    began: Instant,
    /// How far threads had come before it.
    numbers: Vec<(ThreadIndex, SequenceNumber)>,
    earliest: Option<Timestamp>,
    passed_sequence_point: bool,
    /// Where the blocks of stacks since its last sequence point lie, heads included.
    stacks: Vec<(u64, usize)>,
    buffer: Vec<u8>,
}

/// Why a segment could not be read.
pub(super) struct Unreadable(io::Error);

impl Unreadable {
    pub fn into_recording_error(self, folder: &Path) -> RecordingError {
        RecordingError::Write { path: folder.to_owned(), source: self.0 }
    }
}

impl Segment {
    pub fn new(folder: &Path, numbers: Vec<(ThreadIndex, SequenceNumber)>) -> io::Result<Segment> {
        Ok(Segment {
            file: tempfile::tempfile_in(folder)?,
            size: 0,
            began: Instant::now(),
            numbers,
            earliest: None,
            passed_sequence_point: false,
            stacks: Vec::new(),
            buffer: Vec::new(),
        })
    }

    pub fn append(&mut self, kind: u8, block: &WholeBlock<'_>) -> io::Result<()> {
        self.buffer.clear();
        self.buffer.push(kind);
        let size = u32::try_from(block.body.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.buffer.extend_from_slice(&size.to_le_bytes());
        self.buffer.extend_from_slice(block.body);
        let place = (self.size, self.buffer.len());
        self.append_buffer()?;
        match block.kind {
            BlockKind::Events => {
                let earliest = time_span(block.body).map(|(earliest, _)| earliest);
                self.earliest = self.earliest.into_iter().chain(earliest).min();
            }
            BlockKind::Stacks => self.stacks.push(place),
            BlockKind::SequencePoint => {
                self.passed_sequence_point = true;
                self.stacks.clear();
            }
            _ => {}
        }
        Ok(())
    }

    fn append_buffer(&mut self) -> io::Result<()> {
        let written = self.file.write_all_at(&self.buffer, self.size);
        if written.is_err() {
            // What was written in part would be room that nobody uses.
            let _ = self.file.set_len(self.size);
        }
        written?;
        self.size += self.buffer.len() as u64;
        Ok(())
    }

    /// Appends its blocks of stacks since its last sequence point to another segment.
    pub fn copy_stacks_to(&self, other: &mut Segment) -> io::Result<()> {
        for (offset, size) in &self.stacks {
            other.buffer.resize(*size, 0);
            self.file.read_exact_at(&mut other.buffer, *offset)?;
            other.append_buffer()?;
        }
        Ok(())
    }

    pub fn clear(&mut self) -> io::Result<()> {
        self.size = 0;
        self.file.set_len(0)
    }

    /// Hands out its blocks, until one is refused.
    pub fn read<E>(
        &mut self,
        mut block: impl FnMut(u8, &[u8]) -> Result<(), E>,
    ) -> Result<Result<(), E>, Unreadable> {
        self.file.seek(SeekFrom::Start(0)).map_err(Unreadable)?;
        let mut reader = BufReader::new(&self.file);
        let mut left = self.size;
        while left > 0 {
            let mut head = [0; HEAD];
            reader.read_exact(&mut head).map_err(Unreadable)?;
            let [kind, size @ ..] = head;
            let size = u32::from_le_bytes(size);
            self.buffer.resize(size as usize, 0);
            reader.read_exact(&mut self.buffer).map_err(Unreadable)?;
            if let Err(refused) = block(kind, &self.buffer) {
                return Ok(Err(refused));
            }
            left = left.saturating_sub(HEAD as u64 + u64::from(size));
        }
        Ok(Ok(()))
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn has_events(&self) -> bool {
        self.earliest.is_some()
    }

    pub fn earliest(&self) -> Option<Timestamp> {
        self.earliest
    }

    pub fn numbers(&self) -> &[(ThreadIndex, SequenceNumber)] {
        &self.numbers
    }

    pub fn passed_sequence_point(&self) -> bool {
        self.passed_sequence_point
    }
}
