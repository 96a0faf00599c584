//! Functions of an ELF file.

use std::fmt;
use std::fs::File;

use object::read::SectionIndex;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef, SymbolKind, elf};

use crate::SymbolError;
use crate::frugal::Frugal;

/// Most functions that are kept of one file; libcoreclr has some 60,000.
const MOST_FUNCTIONS: usize = 4_000_000;
/// Most bytes of names that are kept of one file; libcoreclr's debug file has 5 MB.
const MOST_NAMES: usize = 256 << 20;
/// Longest name that is kept.
const LONGEST_NAME: usize = 4096;

/// What names a build of a file for good.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BuildId(pub Vec<u8>);

impl fmt::Display for BuildId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A part of the file that is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it stands in the file.
    pub file_offset: u64,
    /// How long it is there.
    pub file_bytes: u64,
    /// The address it is linked for.
    pub address: u64,
}

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name as it stands in the file.
    pub raw_name: &'a str,
    /// How far into it the address lies.
    pub offset: u64,
}

struct Entry {
    start: u64,
    bytes: u64,
    /// In `names`.
    name: (u32, u32),
}

/// What is needed of an ELF file to name its code; the file itself is not kept.
pub struct ElfImage {
    segments: Vec<Segment>,
    functions: Vec<Entry>,
    names: String,
    /// Which build it is.
    pub build_id: Option<BuildId>,
    /// The name of the file with its debug information, when it says one.
    pub debug_link: Option<String>,
    /// Whether it has a full symbol table, not only what others link to.
    pub has_symbol_table: bool,
}

impl ElfImage {
    /// From the bytes of a 64-bit ELF file.
    pub fn parse(data: &[u8]) -> Result<ElfImage, SymbolError> {
        ElfImage::from(data)
    }

    /// From a file, of which only the headers and the symbols are read: the rest of a debug file is a hundred times larger.
    pub fn read(file: File) -> Result<ElfImage, SymbolError> {
        ElfImage::from(&ReadCache::new(Frugal::new(file)))
    }

    fn from<'data>(data: impl ReadRef<'data>) -> Result<ElfImage, SymbolError> {
        let file = ElfFile64::<Endianness, _>::parse(data)?;
        let endian = file.endian();
        let segments = file
            .elf_header()
            .program_headers(endian, data)?
            .iter()
            .filter(|header| header.p_type(endian) == elf::PT_LOAD)
            .map(|header| Segment {
                file_offset: header.p_offset(endian),
                file_bytes: header.p_filesz(endian),
                address: header.p_vaddr(endian),
            })
            .collect();
        let mut image = ElfImage {
            segments,
            functions: Vec::new(),
            names: String::new(),
            build_id: file.build_id()?.map(|id| BuildId(id.to_owned())),
            debug_link: file.gnu_debuglink()?.and_then(|(name, _)| String::from_utf8(name.to_owned()).ok()),
            has_symbol_table: file.symbols().next().is_some(),
        };
        let full = strings(&file, file.elf_symbol_table().string_section());
        let dynamic = strings(&file, file.elf_dynamic_symbol_table().string_section());
        for (symbols, names) in [(file.symbols(), full), (file.dynamic_symbols(), dynamic)] {
            for symbol in symbols {
                image.add(&symbol, name_at(names, symbol.elf_symbol().st_name(endian)));
            }
        }
        // Where two names stand for one address, the longer function is the truer one; then the first.
        image.functions.sort_by_key(|entry| (entry.start, std::cmp::Reverse(entry.bytes)));
        image.functions.dedup_by_key(|entry| entry.start);
        Ok(image)
    }

    fn add<'data>(&mut self, symbol: &impl ObjectSymbol<'data>, name: Option<&str>) {
        let is_code = matches!(symbol.kind(), SymbolKind::Text) && symbol.is_definition();
        if !is_code || self.is_full() {
            return;
        }
        let Some(name) = name else { return };
        let (at, length) = (self.names.len(), name.len());
        let (Ok(at), true, Ok(length)) =
            (u32::try_from(at), (1..=LONGEST_NAME).contains(&length), u32::try_from(length))
        else {
            return;
        };
        self.names.push_str(name);
        self.functions.push(Entry { start: symbol.address(), bytes: symbol.size(), name: (at, length) });
    }

    /// The address that a place in the file is linked for.
    #[must_use]
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|segment| {
                file_offset.checked_sub(segment.file_offset).is_some_and(|inside| inside < segment.file_bytes)
            })
            .map(|segment| (file_offset - segment.file_offset).wrapping_add(segment.address))
    }

    /// The loaded parts of the file.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Symbols may share their names, so that a small file has endless ones.
    fn is_full(&self) -> bool {
        self.functions.len() >= MOST_FUNCTIONS || self.names.len() >= MOST_NAMES
    }

    /// How many functions have a name.
    #[must_use]
    pub fn functions(&self) -> usize {
        self.functions.len()
    }

    /// The function at a linked address.
    #[must_use]
    pub fn function(&self, address: u64) -> Option<Function<'_>> {
        let behind = self.functions.partition_point(|entry| entry.start <= address);
        let entry = self.functions.get(behind.checked_sub(1)?)?;
        let offset = address - entry.start;
        // Hand-written code often has no size; it reaches to the next function.
        if entry.bytes != 0 && offset >= entry.bytes {
            return None;
        }
        let (at, length) = (entry.name.0 as usize, entry.name.1 as usize);
        Some(Function { raw_name: self.names.get(at..at + length)?, offset })
    }
}

/// All names of a symbol table at once: a file is not read from for each of them.
fn strings<'data>(
    file: &ElfFile64<'data, Endianness, impl ReadRef<'data>>,
    section: SectionIndex,
) -> &'data [u8] {
    file.section_by_index(section).and_then(|section| section.data()).unwrap_or_default()
}

fn name_at(names: &[u8], at: u32) -> Option<&str> {
    let rest = names.get(usize::try_from(at).ok()?..)?;
    let rest = rest.get(..LONGEST_NAME + 1).unwrap_or(rest);
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}
