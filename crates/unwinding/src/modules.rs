//! Unwind tables of the native libraries of a process.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use native_symbols::{Backing, DebugFolders, Mapping};
use object::{Object, ObjectSection, ObjectSegment, ReadCache, SegmentFlags};

use crate::starts::Starts;

/// Bytes of a table, shared between the mappings of a file.
pub(crate) type Bytes = Arc<[u8]>;

/// Largest table that is used; libcoreclr's has 1 MB.
const LARGEST_TABLE: u64 = 64 << 20;

/// More libraries than any process maps.
const MOST_MODULES: usize = 16 << 10;

/// What a mapping begins at.
const PAGE: u64 = 4096;

type Elf<'a> = object::read::elf::ElfFile64<'a, object::Endianness, &'a ReadCache<File>>;

/// The libraries whose tables are known.
pub struct Modules {
    folders: DebugFolders,
    pub(crate) unwinder: UnwinderX86_64<Bytes>,
    seen: HashSet<(u64, PathBuf)>,
    /// Code with tables, by its start.
    covered: BTreeMap<u64, Covered>,
}

/// Code with tables.
struct Covered {
    end: u64,
    /// What is added to an address that the file is linked for.
    base: u64,
    starts: Starts,
}

impl Modules {
    /// None yet, of a process whose files are found in these folders.
    #[must_use]
    pub fn new(folders: DebugFolders) -> Modules {
        Modules { folders, unwinder: UnwinderX86_64::new(), seen: HashSet::new(), covered: BTreeMap::new() }
    }

    /// Takes in the tables of a mapped file, once. Files without tables are left to frame pointers.
    pub fn add(&mut self, mapping: &Mapping) {
        if !mapping.executable {
            return;
        }
        let path = match &mapping.backing {
            Backing::File(path) => path.as_path(),
            _ => Path::new(""),
        };
        if self.seen.len() >= MOST_MODULES || !self.seen.insert((mapping.start, path.to_owned())) {
            return;
        }
        self.forget(mapping);
        let Some((module, covered)) = load(&self.folders.inside(path), path, mapping) else { return };
        self.unwinder.add_module(module);
        self.covered.insert(mapping.start, covered);
    }

    /// Whether code at an address has tables. If not, it may be managed.
    #[must_use]
    pub fn covers(&self, address: u64) -> bool {
        self.covered(address).is_some()
    }

    /// Where the function at an address begins, by the tables: they know it of functions without a name too.
    #[must_use]
    pub fn function_start(&self, address: u64) -> Option<u64> {
        let covered = self.covered(address)?;
        covered
            .starts
            .before(address.wrapping_sub(covered.base))
            .map(|start| start.wrapping_add(covered.base))
    }

    fn covered(&self, address: u64) -> Option<&Covered> {
        self.covered.range(..=address).next_back().map(|(_, covered)| covered).filter(|one| address < one.end)
    }

    /// Something else may have been here before.
    fn forget(&mut self, mapping: &Mapping) {
        let over: Vec<u64> = self
            .covered
            .range(..mapping.end)
            .rev()
            .take_while(|(_, covered)| covered.end > mapping.start)
            .map(|(start, _)| *start)
            .collect();
        for start in over {
            self.unwinder.remove_module(start);
            self.covered.remove(&start);
            self.seen.retain(|(seen, _)| *seen != start || *seen == mapping.start);
        }
    }
}

fn load(file: &Path, name: &Path, mapping: &Mapping) -> Option<(Module<Bytes>, Covered)> {
    // A folder, pipe or device would never end.
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    // Headers and tables are read and nothing else: a single-file program has 100 MB and more.
    let data = ReadCache::new(File::open(file).ok()?);
    let elf = Elf::parse(&data).ok()?;
    let base = mapping.start.wrapping_sub(linked_at(&elf, mapping.offset)?);
    let range = |section: &str| {
        let section = elf.section_by_name(section)?;
        Some(section.address()..section.address().checked_add(section.size())?)
    };
    let bytes = |section: &str| -> Option<Bytes> {
        let section = elf.section_by_name(section)?;
        (section.size() <= LARGEST_TABLE).then(|| section.data().ok().map(Bytes::from))?
    };
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: range(".text"),
        eh_frame_svma: range(".eh_frame"),
        eh_frame: bytes(".eh_frame"),
        eh_frame_hdr_svma: range(".eh_frame_hdr"),
        eh_frame_hdr: bytes(".eh_frame_hdr"),
        ..ExplicitModuleSectionInfo::default()
    };
    sections.eh_frame.as_ref()?;
    let index = sections.eh_frame_hdr_svma.as_ref().zip(sections.eh_frame_hdr.clone());
    let starts = index.and_then(|(range, bytes)| Starts::new(bytes, range.start)).unwrap_or_default();
    let covered = Covered { end: mapping.end, base, starts };
    let name = name.to_string_lossy().into_owned();
    Some((Module::new(name, mapping.start..mapping.end, base, sections), covered))
}

/// The address that a mapping of code is linked for. It begins at a page, its segment anywhere in that page, and the page
/// may hold the end of another segment too: only the one that can run counts.
fn linked_at(elf: &Elf<'_>, mapped: u64) -> Option<u64> {
    elf.segments().find_map(|segment| {
        let runs = matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & object::elf::PF_X.0 != 0);
        let (offset, bytes) = segment.file_range();
        let within = offset % PAGE;
        let inside = mapped.checked_sub(offset - within)?;
        (runs && inside < bytes.saturating_add(within))
            .then(|| segment.address().wrapping_sub(within).wrapping_add(inside))
    })
}
