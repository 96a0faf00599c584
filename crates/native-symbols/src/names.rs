//! The names of a process's native code.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use model::{Frame, FrameKind};

use crate::libraries::Library;
use crate::{Backing, BuildId, DebugFolders, ElfImage, Mapping};

/// How well an address is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// Its function.
    Function,
    /// Only the library it lies in.
    Module,
}

/// Names native code of one process. Files are read when an address in them is first asked for.
pub struct NativeNames {
    folders: DebugFolders,
    libraries: HashMap<PathBuf, Option<Library>>,
    vdso: Option<ElfImage>,
}

impl NativeNames {
    /// Names for a process whose files are found in these folders.
    #[must_use]
    pub fn new(folders: DebugFolders) -> NativeNames {
        NativeNames { folders, libraries: HashMap::new(), vdso: None }
    }

    /// The vDSO, as it lies in memory.
    pub fn learn_vdso(&mut self, image: &[u8]) {
        self.vdso = ElfImage::parse(image).ok();
    }

    /// The frame at an address that lies in a mapping; none if nothing but managed or unknown code can be there.
    pub fn frame(&mut self, address: u64, mapping: &Mapping) -> Option<(Frame, Named)> {
        let in_file = address.checked_sub(mapping.start)?.checked_add(mapping.offset)?;
        match &mapping.backing {
            Backing::File(path) => {
                let path = path.clone();
                let module = file_name(&path);
                let library = self.library(&path);
                let function = library.as_ref().and_then(|library| library.function(in_file)).map(readable);
                let named = if function.is_some() { Named::Function } else { Named::Module };
                let name = function.unwrap_or_else(|| format!("{module}+{in_file:#x}"));
                Some((frame(kind_of(&module), name, module), named))
            }
            Backing::Vdso => {
                let vdso = self.vdso.as_ref();
                let function = vdso.and_then(|image| image.function(image.address_of(in_file)?));
                let named = if function.is_some() { Named::Function } else { Named::Module };
                let name = function.map_or("[vdso]".to_owned(), |function| function.raw_name.to_owned());
                Some((frame(FrameKind::Native, name, "[vdso]".to_owned()), named))
            }
            Backing::Anonymous | Backing::Special(_) => None,
        }
    }

    /// Files that were looked into and have no full symbol table, with their build ids: what could be fetched.
    pub fn without_symbols(&self) -> impl Iterator<Item = (&Path, Option<&BuildId>)> {
        self.libraries.iter().filter_map(|(path, library)| {
            let library = library.as_ref()?;
            let lacks = !library.image.has_symbol_table && library.debug.is_none();
            lacks.then_some((path.as_path(), library.image.build_id.as_ref()))
        })
    }

    fn library(&mut self, path: &Path) -> Option<&Library> {
        let folders = &self.folders;
        self.libraries.entry(path.to_owned()).or_insert_with(|| Library::open(path, folders).ok()).as_ref()
    }
}

fn frame(kind: FrameKind, name: String, module: String) -> Frame {
    Frame { kind, name, module: Some(module), file: None, line: None }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The runtime's own libraries, and what stands in for them in a single-file program.
fn kind_of(module: &str) -> FrameKind {
    const RUNTIME: [&str; 5] = ["libcoreclr", "libclrjit", "libclrgc", "libhost", "libmscordaccore"];
    if RUNTIME.iter().any(|name| module.starts_with(name)) { FrameKind::Runtime } else { FrameKind::Native }
}

/// A C++ or Rust name as its author wrote it, without the parameters.
fn readable(raw: &str) -> String {
    // Versions of symbols: read@@GLIBC_2.2.5
    let raw = raw.split('@').next().unwrap_or(raw);
    if let Ok(rust) = rustc_demangle::try_demangle(raw) {
        return format!("{rust:#}");
    }
    if !raw.starts_with("_Z") {
        return raw.to_owned();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type().recursion_limit(96);
    cpp_demangle::Symbol::new(raw)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| raw.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        assert_eq!(readable("_ZN3WKS7gc_heap18mark_object_simpleEPPh"), "WKS::gc_heap::mark_object_simple");
        assert_eq!(readable("read@@GLIBC_2.2.5"), "read");
        assert_eq!(readable("_ZNOTONE"), "_ZNOTONE");
    }
}
