//! Unwind tables of the native libraries of a process.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framehop::x86_64::UnwinderX86_64;
use framehop::{ExplicitModuleSectionInfo, Module, Unwinder as _};
use native_symbols::{Backing, DebugFolders, Mapping};
use object::{Object, ObjectSection, ObjectSegment};

/// Bytes of a table, shared between the mappings of a file.
pub(crate) type Bytes = Arc<[u8]>;

/// Largest table that is used; libcoreclr's has 1 MB.
const LARGEST_TABLE: u64 = 256 << 20;

/// The libraries whose tables are known.
pub struct Modules {
    folders: DebugFolders,
    pub(crate) unwinder: UnwinderX86_64<Bytes>,
    seen: HashSet<(u64, PathBuf)>,
}

impl Modules {
    /// None yet, of a process whose files are found in these folders.
    #[must_use]
    pub fn new(folders: DebugFolders) -> Modules {
        Modules { folders, unwinder: UnwinderX86_64::new(), seen: HashSet::new() }
    }

    /// Takes in the tables of a mapped file, once. Files without tables are left to frame pointers.
    pub fn add(&mut self, mapping: &Mapping) {
        let Backing::File(path) = &mapping.backing else { return };
        if !mapping.executable || !self.seen.insert((mapping.start, path.clone())) {
            return;
        }
        let Some(module) = load(&self.folders.inside(path), path, mapping) else { return };
        // Something else may have been here before.
        self.unwinder.remove_module(mapping.start);
        self.unwinder.add_module(module);
    }
}

fn load(file: &Path, name: &Path, mapping: &Mapping) -> Option<Module<Bytes>> {
    // A folder, pipe or device would never end.
    if !std::fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let data = std::fs::read(file).ok()?;
    let elf = object::read::elf::ElfFile64::<object::Endianness>::parse(&*data).ok()?;
    // Where in the file's own addresses the mapping begins.
    let linked = elf.segments().find_map(|segment| {
        let (offset, bytes) = segment.file_range();
        let inside = mapping.offset.checked_sub(offset)?;
        (inside < bytes).then(|| segment.address().wrapping_add(inside))
    })?;
    let base = mapping.start.wrapping_sub(linked);
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
    let name = name.to_string_lossy().into_owned();
    Some(Module::new(name, mapping.start..mapping.end, base, sections))
}
