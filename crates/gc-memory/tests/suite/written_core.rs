//! A core dump of a stopped process, for runtimes whose own dumper does not run here.

use std::fmt::Write as _;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::ProcessId;
use native_symbols::{Backing, MemoryMap};

const PAGE: u64 = 4096;

/// Writes all mapped files with a name that is wanted.
pub fn write(pid: ProcessId, path: &Path, wanted: impl Fn(&Path) -> bool) {
    let map = MemoryMap::of_process(pid).expect("a map");
    let mappings: Vec<(u64, u64, u64, String)> = map
        .iter()
        .filter_map(|mapping| match &mapping.backing {
            Backing::File(file) if wanted(file) => {
                Some((mapping.start, mapping.end, mapping.offset, file.display().to_string()))
            }
            _ => None,
        })
        .collect();
    let mut note = (mappings.len() as u64).to_le_bytes().to_vec();
    note.extend(PAGE.to_le_bytes());
    let mut names = String::new();
    for (start, end, offset, name) in &mappings {
        note.extend([*start, *end, offset / PAGE].iter().flat_map(|word| word.to_le_bytes()));
        write!(names, "{name}\0").expect("a name");
    }
    note.extend(names.as_bytes());
    note.resize(note.len().next_multiple_of(4), 0);
    // Name, size, kind; the name.
    let mut notes: Vec<u8> = [5, u32::try_from(note.len()).expect("few files"), 0x4649_4c45]
        .iter()
        .flat_map(|word: &u32| word.to_le_bytes())
        .collect();
    notes.extend(b"CORE\0\0\0\0");
    notes.extend(note);
    let heads = 64 + 56 * (mappings.len() as u64 + 1);
    let mut head = b"\x7fELF\x02\x01\x01".to_vec();
    head.resize(16, 0);
    head.extend([4u8, 0, 62, 0, 1, 0, 0, 0]);
    head.extend([0u64, 64, 0].iter().flat_map(|word| word.to_le_bytes()));
    head.extend([0u8, 0, 0, 0, 64, 0, 56, 0]);
    head.extend(u16::try_from(mappings.len() + 1).expect("few files").to_le_bytes());
    head.resize(64, 0);
    let part = |kind: u32, at: u64, start: u64, bytes: u64| -> Vec<u8> {
        let words = [u64::from(kind) | 4 << 32, at, start, 0, bytes, bytes, PAGE];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    };
    head.extend(part(4, heads, 0, notes.len() as u64));
    let mut at = (heads + notes.len() as u64).next_multiple_of(PAGE);
    let memory = File::open(format!("/proc/{pid}/mem")).expect("its memory");
    let core = File::create(path).expect("a file");
    for (start, end, ..) in &mappings {
        let mut bytes = vec![0; usize::try_from(end - start).expect("a size")];
        // Guard pages cannot be read.
        let read = memory.read_at(&mut bytes, *start).unwrap_or(0);
        core.write_all_at(&bytes[..read], at).expect("room");
        head.extend(part(1, at, *start, read as u64));
        at += (read as u64).next_multiple_of(PAGE);
    }
    head.extend(notes);
    core.write_all_at(&head, 0).expect("room");
}
