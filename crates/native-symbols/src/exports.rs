//! Where functions of a library lie in a process.

use std::collections::BTreeMap;
use std::path::Path;

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, ReadCache, SymbolKind};

use crate::elf::ElfImage;
use crate::{Backing, DebugFolders, Mapping, MemoryMap};

/// The addresses in a process of functions that a library of it offers to others. `is_it` knows the library by its path. Names that
/// it does not offer are missing; all are if its file was replaced since, for the new one has them elsewhere.
#[must_use]
pub fn exported<'a>(
    map: &MemoryMap,
    folders: &DebugFolders,
    is_it: impl Fn(&Path) -> bool,
    names: &[&'a str],
) -> BTreeMap<&'a str, u64> {
    let path = |mapping: &Mapping| match &mapping.backing {
        Backing::File(path) if mapping.executable && is_it(path) && !map.is_deleted(mapping) => {
            Some(path.clone())
        }
        _ => None,
    };
    let found = map.iter().find_map(|mapping| Some((mapping, path(mapping)?)));
    found.and_then(|(mapping, path)| in_file(mapping, &path, folders, names)).unwrap_or_default()
}

fn in_file<'a>(
    mapping: &Mapping,
    path: &Path,
    folders: &DebugFolders,
    names: &[&'a str],
) -> Option<BTreeMap<&'a str, u64>> {
    let open = || folders.open(&folders.inside(path)).ok();
    let linked = ElfImage::read(open()?).ok()?.address_of(mapping.offset)?;
    let data = ReadCache::new(open()?);
    let file = ElfFile64::<Endianness, _>::parse(&data).ok()?;
    let mut found = BTreeMap::new();
    for symbol in file.dynamic_symbols() {
        let is_code = matches!(symbol.kind(), SymbolKind::Text) && symbol.is_definition();
        let name = symbol.name().ok().and_then(|name| names.iter().find(|wanted| **wanted == name));
        if let Some(name) = name.filter(|_| is_code) {
            let address = symbol.address().wrapping_sub(linked).wrapping_add(mapping.start);
            if (mapping.start..mapping.end).contains(&address) {
                found.insert(*name, address);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_libc(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libc.so") || name.starts_with("libc-") || name.starts_with("ld-musl")
    }

    #[test]
    fn functions_of_this_process_are_where_they_are() {
        let map = MemoryMap::of_process(model::ProcessId(std::process::id())).unwrap();
        let found = exported(&map, &DebugFolders::default(), is_libc, &["socket", "no_such_function"]);
        assert_eq!(found.len(), 1);
        let mapping = map.find(found["socket"]).unwrap();
        assert!(mapping.executable);
    }

    #[test]
    fn a_library_that_was_replaced_is_not_looked_up_in_its_successor() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let replaced: String = maps.lines().map(|line| format!("{line} (deleted)\n")).collect();
        let map = MemoryMap::parse(&replaced);
        assert!(map.iter().any(|mapping| matches!(&mapping.backing, Backing::File(path) if is_libc(path))));
        assert!(exported(&map, &DebugFolders::default(), is_libc, &["socket"]).is_empty());
    }
}
