//! Assemblies inside of a single-file program: they lie in its executable, and nowhere else.
//!
//! ```text
//! executable:  ... | offset of the header (8) | mark (32) | ... assemblies ... | header: version, files, id, ... | files: offset, size, ..., name
//! ```
//! The form is that of the runtime's `Microsoft.NET.HostModel.Bundle` (versions 2 to 6; 6 has sizes of compressed files).

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;

use flate2::read::DeflateDecoder;

/// Stands behind the offset of the header, in every executable that may carry files.
const MARK: [u8; 32] = [
    0x8b, 0x12, 0x02, 0xb9, 0x6a, 0x61, 0x20, 0x38, 0x72, 0x7b, 0x93, 0x02, 0x14, 0xd7, 0xa0, 0x32, 0x13,
    0xf5, 0xb9, 0xe6, 0xef, 0xae, 0x33, 0x18, 0xee, 0x3b, 0x2d, 0xce, 0x24, 0xb3, 0x6a, 0xae,
];
/// The mark is looked for in so many bytes: it lies among the data of the runtime, which has some ten megabytes.
const SEARCHED: u64 = 64 << 20;
/// Bytes that are searched at once.
const CHUNK: usize = 1 << 20;
/// Longest list of files, and most files in it.
const MOST_LIST: usize = 4 << 20;
const MOST_FILES: u32 = 100_000;
/// The first version whose files may be compressed.
const COMPRESSED: u32 = 6;
/// What a file of the list is.
const ASSEMBLY: u8 = 1;

/// Where a file lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: u64,
    size: u64,
    /// Bytes in the executable, if they are fewer.
    compressed: u64,
}

/// The assemblies of an executable.
#[derive(Debug)]
pub(crate) struct Bundle {
    file: File,
    /// By file name.
    assemblies: HashMap<String, Place>,
}

impl Bundle {
    /// None if nothing is in it.
    pub(crate) fn open(executable: &Path) -> Option<Bundle> {
        let file = File::open(executable).ok()?;
        let length = file.metadata().ok()?.len();
        let header = header(&file, length)?;
        let size = usize::try_from(length.checked_sub(header)?).unwrap_or(MOST_LIST).min(MOST_LIST);
        let mut list = vec![0; size];
        file.read_exact_at(&mut list, header).ok()?;
        let assemblies = read_list(&list)?;
        Some(Bundle { file, assemblies })
    }

    /// The bytes of an assembly by its file name, unless they are more than so many.
    pub(crate) fn assembly(&self, name: &str, most: u64) -> Option<Vec<u8>> {
        let place = self.assemblies.get(name)?;
        if place.size > most || place.compressed > most {
            return None;
        }
        let stored = if place.compressed == 0 { place.size } else { place.compressed };
        let mut bytes = vec![0; usize::try_from(stored).ok()?];
        self.file.read_exact_at(&mut bytes, place.offset).ok()?;
        if place.compressed == 0 {
            return Some(bytes);
        }
        let mut whole = Vec::new();
        DeflateDecoder::new(bytes.as_slice()).take(place.size).read_to_end(&mut whole).ok()?;
        (whole.len() as u64 == place.size).then_some(whole)
    }
}

/// Where the header begins, by what stands before the mark.
fn header(file: &File, length: u64) -> Option<u64> {
    let mut chunk = vec![0; CHUNK];
    let mut at = 0;
    while at < length.min(SEARCHED) {
        let read = file.read_at(&mut chunk, at).ok().filter(|read| *read > 0)?;
        let found = chunk.get(..read)?.windows(8 + MARK.len()).find_map(|window| {
            let (offset, mark) = window.split_first_chunk::<8>()?;
            (mark == MARK).then(|| u64::from_le_bytes(*offset))
        });
        if let Some(offset) = found {
            return (offset > 0 && offset < length).then_some(offset);
        }
        if read <= 8 + MARK.len() {
            return None;
        }
        // The mark may lie across two chunks.
        at += (read - 8 - MARK.len()) as u64;
    }
    None
}

fn read_list(list: &[u8]) -> Option<HashMap<String, Place>> {
    let mut reader = Reader(list);
    let version = reader.u32()?;
    reader.u32()?;
    let files = reader.u32()?.min(MOST_FILES);
    reader.text()?;
    if version < 2 {
        return None;
    }
    // Where two settings files lie, and flags.
    for _ in 0..5 {
        reader.u64()?;
    }
    let mut assemblies = HashMap::new();
    for _ in 0..files {
        let (offset, size) = (reader.u64()?, reader.u64()?);
        let compressed = if version >= COMPRESSED { reader.u64()? } else { 0 };
        let kind = reader.u8()?;
        let path = reader.text()?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        if kind == ASSEMBLY {
            assemblies.insert(name.to_owned(), Place { offset, size, compressed });
        }
    }
    Some(assemblies)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// A text with its length before it, seven bits in a byte, the lowest first.
    fn text(&mut self) -> Option<&'a str> {
        let mut length = 0_usize;
        for shift in [0, 7, 14] {
            let byte = self.u8()?;
            length |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return std::str::from_utf8(self.take(length)?).ok();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    fn text(of: &str) -> Vec<u8> {
        let mut bytes = vec![u8::try_from(of.len()).expect("a short one")];
        bytes.extend(of.as_bytes());
        bytes
    }

    /// An executable with one assembly as it is, one compressed, and a file that is none.
    fn executable() -> Vec<u8> {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&[7; 5000]).expect("it is packed");
        let packed = packed.finish().expect("it is packed");
        let mut file = vec![1; CHUNK - 20];
        file.extend([0; 8]);
        file.extend(MARK);
        let files = [
            (b"plain".to_vec(), 5, 0, ASSEMBLY, "Shop.dll"),
            (packed.clone(), 5000, packed.len(), ASSEMBLY, "lib/Cart.dll"),
            (b"{}".to_vec(), 2, 0, 3, "Shop.deps.json"),
        ];
        let mut list = [6_u32, 0, 3].iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        list.extend(text("id"));
        list.extend([0; 40]);
        for (bytes, size, compressed, kind, name) in files {
            for number in [file.len(), size, compressed] {
                list.extend((number as u64).to_le_bytes());
            }
            list.push(kind);
            list.extend(text(name));
            file.extend(bytes);
        }
        let header = file.len() as u64;
        file[CHUNK - 20..CHUNK - 12].copy_from_slice(&header.to_le_bytes());
        file.extend(list);
        file
    }

    fn opened(bytes: &[u8]) -> Option<Bundle> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("it is written");
        Bundle::open(file.path())
    }

    #[test]
    fn assemblies_are_found_by_name_packed_or_not() {
        let bundle = opened(&executable()).expect("a bundle");
        assert_eq!(bundle.assembly("Shop.dll", 10_000).as_deref(), Some(&b"plain"[..]));
        assert_eq!(bundle.assembly("Cart.dll", 10_000), Some(vec![7; 5000]));
        assert_eq!(bundle.assembly("Cart.dll", 4999), None, "too large");
        assert_eq!(bundle.assembly("Shop.deps.json", 10_000), None, "no assembly");
    }

    #[test]
    fn what_is_cut_or_carries_nothing_is_no_bundle() {
        let whole = executable();
        for cut in 1..100 {
            assert!(opened(&whole[..whole.len() - cut]).is_none(), "{cut}");
        }
        let mut empty = whole.clone();
        empty[CHUNK - 20..CHUNK - 12].fill(0);
        assert!(opened(&empty).is_none());
        assert!(opened(&[]).is_none());
        assert!(opened(&MARK).is_none());
    }
}
