//! The libraries of a process, and where their symbols are.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{Backing, BuildId, DebugFolders, ElfImage, MemoryMap, SymbolError};

/// A file's own symbols, and those of its debug file.
pub(crate) struct Library {
    pub(crate) image: ElfImage,
    pub(crate) debug: Option<(PathBuf, ElfImage)>,
}

impl Library {
    pub(crate) fn open(path: &Path, folders: &DebugFolders) -> Result<Library, SymbolError> {
        let image = ElfImage::read(folders.open(&folders.inside(path))?)?;
        if image.has_symbol_table {
            return Ok(Library { image, debug: None });
        }
        let candidates = folders.candidates(path, image.build_id.as_ref(), image.debug_link.as_deref());
        let debug = candidates.into_iter().find_map(|candidate| {
            let debug = ElfImage::read(folders.open(&candidate).ok()?).ok()?;
            // Names of another build are worse than none.
            (debug.build_id.is_some() && debug.build_id == image.build_id && debug.functions() > 0)
                .then_some((candidate, debug))
        });
        Ok(Library { image, debug })
    }

    /// The function at a place in the file, as the file names it.
    pub(crate) fn function(&self, in_file: u64) -> Option<&str> {
        let address = self.image.address_of(in_file)?;
        let function = self.debug.as_ref().and_then(|(_, debug)| debug.function(address));
        function.or_else(|| self.image.function(address)).map(|function| function.raw_name)
    }
}

/// Where the names of a library's functions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// Its own symbol table.
    Own {
        /// How many functions have a name.
        functions: usize,
    },
    /// A file that was split off it.
    DebugFile {
        /// Which, as this process can open it.
        file: PathBuf,
        /// How many functions have a name.
        functions: usize,
    },
    /// Nowhere: only what other libraries may call has a name.
    Missing {
        /// How many functions have a name all the same.
        exported: usize,
    },
    /// The library itself cannot be read.
    Unreadable {
        /// Why.
        problem: String,
    },
}

/// A library, or the program itself, whose code is mapped in a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedLibrary {
    /// As the process names it.
    pub path: PathBuf,
    /// Which build it is.
    pub build_id: Option<BuildId>,
    /// Where the names of its functions come from.
    pub symbols: Symbols,
}

/// The native libraries of a process, by path. Managed assemblies are none, though they are mapped as well.
#[must_use]
pub fn mapped_libraries(map: &MemoryMap, folders: &DebugFolders) -> Vec<MappedLibrary> {
    let paths: BTreeSet<&Path> = map
        .iter()
        .filter(|mapping| mapping.executable)
        .filter_map(|mapping| match &mapping.backing {
            Backing::File(path) => Some(path.as_path()),
            Backing::Anonymous | Backing::Vdso | Backing::Special(_) => None,
        })
        .collect();
    paths.into_iter().filter_map(|path| look_at(path, folders)).collect()
}

fn look_at(path: &Path, folders: &DebugFolders) -> Option<MappedLibrary> {
    let mut magic = [0; 4];
    let begun = folders.open(&folders.inside(path)).map(|mut file| file.read_exact(&mut magic));
    if matches!(begun, Ok(Ok(())) if magic != object::elf::ELFMAG) {
        return None;
    }
    let (build_id, symbols) = match Library::open(path, folders) {
        Ok(Library { image, debug: Some((file, debug)) }) => {
            (image.build_id, Symbols::DebugFile { file, functions: debug.functions() })
        }
        Ok(Library { image, debug: None }) => {
            let functions = image.functions();
            let symbols = match image.has_symbol_table {
                true => Symbols::Own { functions },
                false => Symbols::Missing { exported: functions },
            };
            (image.build_id, symbols)
        }
        // Its path stands beside it already.
        Err(SymbolError::Io { source, .. }) => (None, Symbols::Unreadable { problem: source.to_string() }),
        Err(error) => (None, Symbols::Unreadable { problem: error.to_string() }),
    };
    Some(MappedLibrary { path: path.to_owned(), build_id, symbols })
}
