//! A trace on disk that is complete at every instant: behind the last block there is always the end of the stream,
//! which the next block writes over. A tool that is killed leaves a file that every reader opens.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nettrace::copying::{END_OF_STREAM, WholeBlock, append_head, append_object};

use crate::error::RecordingError;

/// A trace that is being written.
#[derive(Debug)]
pub struct TraceFile {
    file: File,
    path: PathBuf,
    /// A pipe or a device has no place to go back to.
    is_regular: bool,
    replaces: bool,
    /// Bytes of whole blocks, with the head.
    offset: u64,
    buffer: Vec<u8>,
    finished: bool,
}

impl TraceFile {
    /// Opens or makes a file, readable by its user only: events hold strings out of the target's memory. What an
    /// older file holds stays in it until the first event comes.
    pub fn create(path: &Path) -> Result<TraceFile, RecordingError> {
        TraceFile::open(path, false)
    }

    /// Makes a file that is not there yet.
    pub fn create_new(path: &Path) -> Result<TraceFile, RecordingError> {
        TraceFile::open(path, true)
    }

    fn open(path: &Path, new: bool) -> Result<TraceFile, RecordingError> {
        let failed = |source| RecordingError::Write { path: path.to_owned(), source };
        let replaces = path.symlink_metadata().is_ok();
        let mut options = File::options();
        options.write(true).create(!new).create_new(new).truncate(false).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        let is_regular = file.metadata().map_err(failed)?.is_file();
        Ok(TraceFile {
            file,
            path: path.to_owned(),
            is_regular,
            replaces: replaces && is_regular,
            offset: 0,
            buffer: Vec::new(),
            finished: false,
        })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file of that name was there before.
    #[must_use]
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        if self.offset == 0 { 0 } else { self.offset + 1 }
    }

    /// Adds a block. If that fails, the file ends with the block before it.
    pub fn append(&mut self, block: &WholeBlock<'_>) -> Result<(), RecordingError> {
        self.buffer.clear();
        if self.offset == 0 {
            append_head(&mut self.buffer);
        }
        let place = self.offset + self.buffer.len() as u64;
        append_object(&mut self.buffer, place, block);
        let written = self.write();
        written.map_err(|source| {
            self.cut_back();
            RecordingError::Write { path: self.path.clone(), source }
        })
    }

    fn write(&mut self) -> io::Result<()> {
        let size = self.buffer.len() as u64;
        if !self.is_regular {
            self.file.write_all(&self.buffer)?;
            self.offset += size;
            return Ok(());
        }
        if self.offset == 0 {
            self.file.set_len(0)?;
        }
        self.buffer.push(END_OF_STREAM);
        for (at, part) in in_order(self.offset, &self.buffer) {
            self.file.write_all_at(part, at)?;
        }
        self.offset += size;
        Ok(())
    }

    /// Takes away what there was no room for; that makes room for the end of the stream.
    fn cut_back(&mut self) {
        if self.is_regular {
            let _ = self.file.set_len(self.offset);
            if self.offset > 0 {
                let _ = self.file.write_all_at(&[END_OF_STREAM], self.offset);
            }
        }
    }

    /// Ends the file. One that was made for events that never came is removed.
    pub fn finish(mut self) -> Result<u64, RecordingError> {
        self.finished = true;
        if !self.is_regular {
            let ended = self.file.write_all(&[END_OF_STREAM]).and_then(|()| self.file.flush());
            ended.map_err(|source| RecordingError::Write { path: self.path.clone(), source })?;
        }
        self.remove_if_empty();
        Ok(self.size())
    }

    fn remove_if_empty(&self) {
        if self.offset == 0 && self.is_regular && !self.replaces {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What is to be written where, one after the other. Whoever is killed while it writes much has written a part of it: so the byte that
/// begins a block comes last, and until then the stream ends before it. The head and the first block are so short that the kernel
/// writes them at once.
fn in_order(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let (first, rest) = bytes.split_at(usize::from(offset > 0));
    let rest = (offset + first.len() as u64, rest);
    [rest, (offset, first)].into_iter().filter(|(_, part)| !part.is_empty())
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        if !self.finished {
            self.remove_if_empty();
        }
    }
}

#[cfg(test)]
#[path = "../../nettrace/tests/support/stream.rs"]
#[expect(dead_code, reason = "what other tests need")]
mod stream;

#[cfg(test)]
mod tests {
    use nettrace::{Item, Reader};

    use super::stream::{ObjectStream, stacks};
    use super::*;

    /// Reads all of a stream; panics if it is not complete.
    fn blocks(stream: &[u8]) -> usize {
        let mut reader = Reader::for_copying(stream);
        let mut blocks = 0;
        while let Some(item) = reader.next().unwrap() {
            blocks += usize::from(matches!(item, Item::Block(_)));
        }
        blocks
    }

    #[test]
    fn the_file_is_complete_whenever_its_writer_is_killed() {
        let mut stream = ObjectStream::new();
        for first in [1, 40, 90] {
            stream.block("StackBlock", &stacks(first, &[&[0x1000, 0x2000], &[0x3000; 90]]).0);
        }
        let stream = stream.end();
        let mut reader = Reader::for_copying(stream.as_slice());
        let (mut image, mut offset, mut written) = (Vec::new(), 0_u64, 0);
        while let Some(item) = reader.next().unwrap() {
            let Item::Block(block) = item else { continue };
            let mut bytes = Vec::new();
            if offset == 0 {
                append_head(&mut bytes);
            }
            let place = offset + bytes.len() as u64;
            append_object(&mut bytes, place, &block);
            let size = bytes.len() as u64;
            bytes.push(END_OF_STREAM);
            for (at, part) in in_order(offset, &bytes) {
                for (number, byte) in part.iter().enumerate() {
                    let at = usize::try_from(at).unwrap() + number;
                    image.resize(image.len().max(at + 1), 0);
                    image[at] = *byte;
                    // The first write is one: its parts cannot be seen.
                    if offset > 0 {
                        let has_block = at as u64 == offset;
                        assert_eq!(blocks(&image), written + usize::from(has_block), "killed at byte {at}");
                    }
                }
            }
            offset += size;
            written += 1;
        }
        assert_eq!((written, blocks(&image)), (4, 4));
        assert_eq!(image, stream, "and in the end it is the stream");
    }
}
