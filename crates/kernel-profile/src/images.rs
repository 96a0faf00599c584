//! Code that was compiled ahead of time, named from the files it lies in: the runtime does not tell of all of it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Frame, FrameKind};
use native_symbols::{Backing, Mapping};
use ready_to_run::{MethodNames, Precompiled, file_length};

/// Room for the headers of an assembly.
const HEADERS: usize = 4096;
/// An assembly has a handful of mappings.
const MOST_BEGINS: usize = 16;
/// What a mapping begins at.
const PAGE: usize = 4096;
/// Larger assemblies are not looked into.
const LARGEST: u64 = 256 << 20;

/// An assembly in a file: the file may be a program that has others in it.
struct Image {
    code: Precompiled,
    names: MethodNames,
}

/// The assemblies of a process that were looked into.
#[derive(Default)]
pub(crate) struct Images {
    by_place: HashMap<(PathBuf, u64), Option<Image>>,
}

impl Images {
    /// The method at an address. `begins` are the places in the file of which parts are mapped below the address,
    /// nearest first: an assembly in a single-file program begins at one of them.
    pub(crate) fn frame(
        &mut self,
        root: &Path,
        address: u64,
        mapping: &Mapping,
        begins: &[u64],
    ) -> Option<Frame> {
        let Backing::File(path) = &mapping.backing else { return None };
        let offset = address.checked_sub(mapping.start)?.checked_add(mapping.offset)?;
        let file = open(root, path)?;
        let begin = begins
            .iter()
            .take(MOST_BEGINS)
            .chain(&[0])
            .find_map(|begin| assembly_in_page(&file, *begin, offset))?;
        let key = (path.clone(), begin);
        let image = self.by_place.entry(key).or_insert_with(|| {
            let bytes = read(&file, begin)?;
            Some(Image { code: Precompiled::read(&bytes).ok()?, names: MethodNames::read(&bytes).ok()? })
        });
        let image = image.as_ref()?;
        let row = image.code.method_at(offset.checked_sub(begin)?)?;
        let name = image.names.get(row.0 as usize).ok()??;
        Some(Frame {
            kind: FrameKind::Managed,
            name: symbols::human_name(&name.owner, &name.name, ""),
            // The file of a single-file program is not the module.
            module: (begin == 0).then(|| symbols::module_name(&path.to_string_lossy()).to_owned()),
            file: None,
            line: None,
        })
    }
}

fn open(root: &Path, path: &Path) -> Option<File> {
    let path = root.join(path.strip_prefix("/").unwrap_or(path));
    // A pipe or a device would never end.
    std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
    File::open(path).ok()
}

/// Where in a page of the file the assembly begins that has an offset in it. In a single-file program they stand at any
/// multiple of 16.
fn assembly_in_page(file: &File, page: u64, offset: u64) -> Option<u64> {
    let mut bytes = [0; PAGE];
    let got = file.read_at(&mut bytes, page).ok()?;
    let magic = |at: &usize| {
        bytes.get(..got).and_then(|bytes| bytes.get(*at..)).is_some_and(|rest| rest.starts_with(b"MZ"))
    };
    (0..PAGE).step_by(16).filter(magic).map(|at| page + at as u64).find(|begin| {
        let inside = offset.checked_sub(*begin);
        inside.zip(length(file, *begin)).is_some_and(|(inside, length)| inside < length)
    })
}

/// How long the assembly is that begins at an offset.
fn length(file: &File, begin: u64) -> Option<u64> {
    let mut headers = [0; HEADERS];
    let got = file.read_at(&mut headers, begin).ok()?;
    file_length(headers.get(..got)?)
}

/// The bytes of an assembly that begins at an offset.
fn read(file: &File, begin: u64) -> Option<Vec<u8>> {
    let there = file.metadata().ok()?.len().checked_sub(begin)?;
    let length = length(file, begin)?.min(there);
    let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= LARGEST)?];
    file.read_exact_at(&mut bytes, begin).ok()?;
    Some(bytes)
}
