//! Reading little of a large file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// What may be read of a file beyond its length: headers are read again and again.
const BEYOND: u64 = 16 << 20;

/// A file that can be read about once. What is read of an ELF file stays in memory until it is understood, and a
/// hostile file would let the same megabytes be read a thousand times.
pub(crate) struct Frugal {
    file: File,
    left: u64,
}

impl Frugal {
    pub(crate) fn new(file: File) -> Frugal {
        let length = file.metadata().map_or(0, |known| known.len());
        Frugal { file, left: length.saturating_add(BEYOND) }
    }
}

impl Read for Frugal {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.left = (self.left.checked_sub(read as u64)).ok_or_else(|| io::Error::other("read too often"))?;
        Ok(read)
    }
}

impl Seek for Frugal {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_not_read_for_ever() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[0; 1 << 20]).unwrap();
        let mut frugal = Frugal::new(file);
        let mut buffer = vec![0; 1 << 20];
        let times = (0..100).take_while(|_| {
            frugal.seek(SeekFrom::Start(0)).is_ok() && frugal.read_exact(&mut buffer).is_ok()
        });
        assert_eq!(times.count(), 17);
    }
}
