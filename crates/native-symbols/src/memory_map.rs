//! What is mapped where in a process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::SymbolError;

/// What stands behind a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file, as the target names it.
    File(PathBuf),
    /// Code that the runtime writes (`memfd:doublemapper`) or memory without a name.
    Anonymous,
    /// The kernel's own page of code in every process.
    Vdso,
    /// Something else of the kernel's: the stack, the heap.
    Special(String),
}

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address behind the last one.
    pub end: u64,
    /// Whether it can be executed.
    pub executable: bool,
    /// Where in the file it begins.
    pub offset: u64,
    /// What stands behind it.
    pub backing: Backing,
}

/// The mappings of a process, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryMap {
    mappings: Vec<Mapping>,
    /// Where mappings begin whose file was removed or replaced since.
    deleted: BTreeSet<u64>,
}

impl MemoryMap {
    /// The map of a process as it is now.
    pub fn of_process(pid: model::ProcessId) -> Result<MemoryMap, SymbolError> {
        let path = PathBuf::from(format!("/proc/{pid}/maps"));
        // A name may hold any byte but a line feed.
        let bytes = std::fs::read(&path).map_err(|source| SymbolError::Io { path, source })?;
        Ok(MemoryMap::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// From the text of `/proc/PID/maps`; lines that are none are passed over.
    #[must_use]
    pub fn parse(text: &str) -> MemoryMap {
        let is_deleted = |line: &&str| line.ends_with(DELETED);
        let deleted = text.lines().filter(is_deleted).filter_map(parse_line).map(|mapping| mapping.start);
        let deleted = deleted.collect();
        let mut mappings: Vec<Mapping> = text.lines().filter_map(parse_line).collect();
        mappings.sort_by_key(|mapping| mapping.start);
        MemoryMap { mappings, deleted }
    }

    /// Whether the file of a mapping was removed or replaced since it was mapped: another one may have its path now.
    #[must_use]
    pub fn is_deleted(&self, mapping: &Mapping) -> bool {
        self.deleted.contains(&mapping.start)
    }

    /// The mapping an address lies in.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Mapping> {
        let behind = self.mappings.partition_point(|mapping| mapping.start <= address);
        self.mappings.get(behind.checked_sub(1)?).filter(|mapping| address < mapping.end)
    }

    /// All mappings, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter()
    }

    /// Adds a mapping that came later; what it covers is gone.
    pub fn insert(&mut self, mapping: Mapping) {
        let mut kept = Vec::with_capacity(self.mappings.len() + 2);
        for old in self.mappings.drain(..) {
            if old.end <= mapping.start || mapping.end <= old.start {
                kept.push(old);
                continue;
            }
            if old.start < mapping.start {
                kept.push(Mapping { end: mapping.start, ..old.clone() });
            }
            if mapping.end < old.end {
                let offset = old.offset.wrapping_add(mapping.end - old.start);
                kept.push(Mapping { start: mapping.end, offset, ..old });
            }
        }
        self.deleted.retain(|start| !(mapping.start..mapping.end).contains(start));
        kept.push(mapping);
        kept.sort_by_key(|mapping| mapping.start);
        self.mappings = kept;
    }
}

/// What the kernel writes behind the path of a file that has none any more.
const DELETED: &str = " (deleted)";

/// `start-end perms offset dev inode path`
fn parse_line(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let start = u64::from_str_radix(start, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok().filter(|end| *end > start)?;
    let executable = words.next()?.contains('x');
    let offset = u64::from_str_radix(words.next()?, 16).ok()?;
    let _device = words.next()?;
    let _inode = words.next()?;
    let backing = backing(words.next().unwrap_or_default().trim_start());
    Some(Mapping { start, end, executable, offset, backing })
}

pub(crate) fn backing(name: &str) -> Backing {
    match name {
        "" | "//anon" => Backing::Anonymous,
        "[vdso]" => Backing::Vdso,
        _ if name.starts_with('[') => Backing::Special(name.to_owned()),
        // The runtime's own code lies in memory that it maps twice; it has a path, but no file.
        _ if name.starts_with("/memfd:") => Backing::Anonymous,
        _ => Backing::File(Path::new(name.strip_suffix(DELETED).unwrap_or(name)).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
55e0c0000000-55e0c0021000 r-xp 00001000 fd:00 1311 /opt/a folder/app
7f0000000000-7f0000010000 rwxs 00020000 00:01 2048 /memfd:doublemapper (deleted)
7f0000020000-7f0000030000 r-xp 00000000 fd:00 77 /lib/libgone.so (deleted)
nonsense
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
";

    #[test]
    fn lines_become_mappings() {
        let map = MemoryMap::parse(MAPS);
        assert_eq!(map.iter().count(), 4);
        assert_eq!(map.find(0x55e0_c000_0010).unwrap().backing, Backing::File("/opt/a folder/app".into()));
        assert_eq!(map.find(0x7f00_0000_0000).unwrap().backing, Backing::Anonymous);
        assert_eq!(map.find(0x7f00_0002_0000).unwrap().backing, Backing::File("/lib/libgone.so".into()));
        assert!(map.is_deleted(map.find(0x7f00_0002_0000).unwrap()));
        assert!(!map.is_deleted(map.find(0x55e0_c000_0010).unwrap()));
        assert_eq!(map.find(0x7fff_0000_0fff).unwrap().backing, Backing::Vdso);
        assert_eq!(map.find(0x7fff_0000_1000), None);
        assert_eq!(map.find(0), None);
    }

    #[test]
    fn a_later_mapping_takes_the_place_of_what_was_there() {
        let mut map = MemoryMap::default();
        let file = |start, end, offset, name: &str| Mapping {
            start,
            end,
            executable: true,
            offset,
            backing: Backing::File(name.into()),
        };
        map.insert(file(0x1000, 0x5000, 0, "a"));
        map.insert(file(0x2000, 0x3000, 0, "b"));
        let seen: Vec<_> = map.iter().map(|m| (m.start, m.end, m.offset)).collect();
        assert_eq!(seen, [(0x1000, 0x2000, 0), (0x2000, 0x3000, 0), (0x3000, 0x5000, 0x2000)]);
    }
}
