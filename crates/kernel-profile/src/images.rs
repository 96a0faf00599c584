//! Code that was compiled ahead of time, named from the files it lies in: the runtime does not tell of all of it.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Frame, FrameKind};
use native_symbols::{Backing, Mapping};
use ready_to_run::{Precompiled, file_length, method_name};

/// Room for the headers of an assembly.
const HEADERS: usize = 4096;
/// Larger assemblies are not looked into.
const LARGEST: u64 = 256 << 20;

/// An assembly in a file: the file may be a program that has others in it.
struct Image {
    begin: u64,
    code: Precompiled,
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
        let begin = begins.iter().copied().chain([0]).find(|begin| is_assembly(&file, *begin))?;
        let key = (path.clone(), begin);
        let image = self.by_place.entry(key).or_insert_with(|| {
            let code = Precompiled::read(&read(&file, begin)?).ok()?;
            Some(Image { begin, code })
        });
        let image = image.as_ref()?;
        let row = image.code.method_at(offset.checked_sub(image.begin)?)?;
        let name = method_name(&read(&file, begin)?, row.0 as usize).ok()??;
        Some(Frame {
            kind: FrameKind::Managed,
            name: symbols::human_name(&name.owner, &name.name, ""),
            module: path.file_name().map(|name| symbols::module_name(&name.to_string_lossy()).to_owned()),
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

fn is_assembly(file: &File, begin: u64) -> bool {
    let mut magic = [0; 2];
    file.read_exact_at(&mut magic, begin).is_ok() && &magic == b"MZ"
}

/// The bytes of an assembly that begins at an offset.
fn read(file: &File, begin: u64) -> Option<Vec<u8>> {
    let mut headers = vec![0; HEADERS];
    let got = file.read_at(&mut headers, begin).ok()?;
    headers.truncate(got);
    let there = file.metadata().ok()?.len().checked_sub(begin)?;
    let length = file_length(&headers)?.min(there);
    let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= LARGEST)?];
    file.read_exact_at(&mut bytes, begin).ok()?;
    Some(bytes)
}
