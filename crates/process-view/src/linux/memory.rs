//! `/proc/PID/smaps`: what is mapped, and how much of it is really in memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::Process;
use crate::ViewError;

/// Most mappings that are kept: a process may have 65,530 unless its administrator allows more.
const MOST_MAPPINGS: usize = 1 << 20;
/// Longest line: a path has 4096 bytes, each of which may be written as four.
const LONGEST_LINE: u64 = 20_000;

/// What a mapping may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access {
    /// Reading.
    pub read: bool,
    /// Writing.
    pub write: bool,
    /// Running code.
    pub execute: bool,
    /// What is written is seen by others who map it.
    pub shared: bool,
}

impl Access {
    /// Nothing at all: addresses that are only kept free.
    #[must_use]
    pub fn is_none(self) -> bool {
        !self.read && !self.write && !self.execute
    }
}

/// One mapping. All sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedMemory {
    /// First address.
    pub start: u64,
    /// Address behind the last one.
    pub end: u64,
    /// What it may be used for.
    pub access: Access,
    /// Number of the file behind it; 0 without a file.
    pub inode: u64,
    /// The file's path, or the kernel's name such as `[heap]`; empty without a name.
    pub name: String,
    /// What is in memory of it.
    pub resident: u64,
    /// The same, but a page that is mapped n times counts as one nth, also when it is this process that maps it twice.
    pub share: u64,
    /// What this process alone wrote to.
    pub private_dirty: u64,
    /// What is in memory and belongs to no file.
    pub anonymous: u64,
    /// What is swapped out.
    pub swapped: u64,
}

impl MappedMemory {
    /// How many addresses it covers.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether no file stands behind it, and nobody else sees what is written.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.inode == 0 && !self.access.shared && (self.name.is_empty() || self.name.starts_with("[anon:"))
    }
}

/// What the kernel says of the memory of a process, mapping by mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryView {
    /// In the order of addresses.
    pub mappings: Vec<MappedMemory>,
    /// Mappings beyond those that are kept.
    pub left_out: u64,
}

impl Process {
    /// Its memory. The kernel looks at every page for it, about a millisecond for each 2 GB in memory, and the process's own
    /// requests for memory wait meanwhile. Only for those who may trace the process.
    pub fn memory(&self) -> Result<MemoryView, ViewError> {
        let path = self.path("smaps");
        let file = File::open(&path).map_err(|error| ViewError::from_io(self.id, path.as_str(), error))?;
        MemoryView::read(BufReader::with_capacity(1 << 16, file))
            .map_err(|error| ViewError::from_io(self.id, path, error))
    }
}

impl MemoryView {
    /// Reads the text line by line: that of a large process has megabytes. What is no such text gives nothing.
    pub(crate) fn read(mut text: impl BufRead) -> std::io::Result<MemoryView> {
        let mut view = MemoryView::default();
        let mut open: Option<MappedMemory> = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            if text.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let words = String::from_utf8_lossy(&line);
            if let Some(next) = head(words.trim_end_matches('\n')) {
                view.keep(open.replace(next));
            } else if let Some(open) = &mut open {
                open.learn(&words);
            }
        }
        view.keep(open);
        Ok(view)
    }

    fn keep(&mut self, mapping: Option<MappedMemory>) {
        let Some(mapping) = mapping else { return };
        if self.mappings.len() < MOST_MAPPINGS {
            self.mappings.push(mapping);
        } else {
            self.left_out += 1;
        }
    }

    /// What is in memory, pages that are mapped several times by their share.
    #[must_use]
    pub fn share(&self) -> u64 {
        self.mappings.iter().map(|mapping| mapping.share).sum()
    }
}

impl MappedMemory {
    /// A line such as `Rss:      12 kB`.
    fn learn(&mut self, line: &str) {
        let Some((key, value)) = line.split_once(':') else { return };
        let field = match key {
            "Rss" => &mut self.resident,
            "Pss" => &mut self.share,
            "Private_Dirty" => &mut self.private_dirty,
            "Anonymous" => &mut self.anonymous,
            "Swap" => &mut self.swapped,
            _ => return,
        };
        let number = value.trim().strip_suffix("kB").map(str::trim).and_then(|text| text.parse::<u64>().ok());
        *field = number.and_then(|kilobytes| kilobytes.checked_mul(1024)).unwrap_or(0);
    }
}

/// `start-end perms offset dev inode   name`: begins with a small hexadecimal digit, where the others have a capital.
fn head(line: &str) -> Option<MappedMemory> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok().filter(|end| *end > start)?;
    let letters = words.next()?;
    let access = Access {
        read: letters.contains('r'),
        write: letters.contains('w'),
        execute: letters.contains('x'),
        shared: letters.contains('s'),
    };
    let _offset = words.next()?;
    let _device = words.next()?;
    let inode = words.next()?.parse().ok()?;
    let name = words.next().unwrap_or_default().trim_start().to_owned();
    Some(MappedMemory { start, end, access, inode, name, ..MappedMemory::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 
Size:                132 kB
Rss:                  12 kB
Pss:                  12 kB
Private_Dirty:         8 kB
Anonymous:            12 kB
Swap:                  4 kB
VmFlags: rd wr mr mw me ac sd 
7f0000021000-7f0004000000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f1000000000-7f1000010000 rwxs 00020000 00:01 2048                       /memfd:doublemapper (deleted)
Rss:                  64 kB
Pss:                  32 kB
";

    #[test]
    fn mappings_come_with_what_is_in_memory() {
        let view = MemoryView::read(TEXT.as_bytes()).unwrap();
        let [arena, kept_free, code] = &view.mappings[..] else { panic!("{view:?}") };
        assert_eq!((arena.size(), arena.resident, arena.swapped), (0x21000, 12 << 10, 4 << 10));
        assert!(arena.is_anonymous() && arena.access.write && !arena.access.is_none());
        assert!(kept_free.access.is_none() && kept_free.resident == 0);
        assert_eq!((code.name.as_str(), code.share), ("/memfd:doublemapper (deleted)", 32 << 10));
        assert!(code.access.shared && code.access.execute && !code.is_anonymous());
        assert_eq!(view.share(), (12 + 32) << 10);
    }

    #[test]
    fn this_process_has_memory() {
        let me = Process::this();
        let view = me.memory().unwrap();
        assert!(view.mappings.iter().any(|mapping| mapping.name == "[stack]" && mapping.resident > 0));
        assert!(view.mappings.is_sorted_by_key(|mapping| mapping.start));
        assert!(view.share() > 0 && view.left_out == 0);
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        let nobody = Process::new(model::ProcessId(u32::MAX));
        assert!(matches!(nobody.memory(), Err(ViewError::Vanished { .. })));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes: Vec<u8>) {
            let _ = MemoryView::read(bytes.as_slice());
        }
    }
}
