//! From a method and an address to file and line.

use std::collections::HashMap;
use std::path::PathBuf;

use model::Frame;
use nettrace::{CodeAddress, Guid};
use object::ReadCache;
use runtime_events::{MetadataToken, ModuleId};

use super::files::{Files, is_missing};
use super::pe::DebugInfo;
use super::portable_pdb::{MethodRow, PortablePdb, SequencePoint};
use crate::method::Module;
use crate::{CodeMap, MethodKind, MethodRef, Position, SymbolError};

/// All symbol files in memory stay below this; when one more would not fit, the others go and come back when needed.
const MAX_HELD_BYTES: usize = 256 << 20;

/// How well a line is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// The line of the address.
    Exact,
    /// The first line of the method: without an IL map no more is known.
    MethodStart,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as the compiler was told of it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// How well it is known.
    pub kind: LineKind,
}

/// A module: by the runtime's id, or by its path where no more is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Id(ModuleId),
    Path(String),
}

/// Finds file and line in the symbol files of one process's modules. They are opened when a method of theirs is looked
/// up, and kept.
#[derive(Debug, Default)]
pub struct SourceLookup {
    files: Files,
    pdbs: HashMap<Key, Result<PortablePdb, SymbolError>>,
}

impl SourceLookup {
    /// Looks for files below this folder, or in our own file system: paths are those that the target sees, and a target
    /// in a container sees others than we do. For a running process, `/proc/PID/root` is right in any case.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> SourceLookup {
        SourceLookup { files: Files { root }, pdbs: HashMap::new() }
    }

    /// The frame at an address of a stack, with file and line where they are known.
    pub fn frame(&mut self, map: &CodeMap, address: CodeAddress, position: Position) -> Option<Frame> {
        let method = map.method_for(address, position)?;
        Some(self.frame_of(&method, address, position))
    }

    /// The same for a method that was looked up before.
    pub fn frame_of(&mut self, method: &MethodRef<'_>, address: CodeAddress, position: Position) -> Frame {
        let mut frame = method.frame();
        if let Some(source) = self.line(method, address, position) {
            (frame.file, frame.line) = (Some(source.file), Some(source.line));
        }
        frame
    }

    /// File and line of an address in a method.
    pub fn line(
        &mut self,
        method: &MethodRef<'_>,
        address: CodeAddress,
        position: Position,
    ) -> Option<SourceLine> {
        if matches!(method.kind(), MethodKind::Dynamic | MethodKind::Stub) {
            return None;
        }
        let id = method.module();
        let pdb = self.pdb(Key::Id(id), || method.map.module(id).cloned())?;
        line_in(pdb, method.token(), method.il_offset(address, position))
    }

    /// File and line of a method, at this place of its IL, of which nothing is known but its module's file and its row.
    pub fn line_of(&mut self, module: &str, token: MetadataToken, il: Option<u32>) -> Option<SourceLine> {
        let pdb = self.pdb(Key::Path(module.to_owned()), || {
            Some(Module { path: module.to_owned(), ..Module::default() })
        })?;
        line_in(pdb, token, il)
    }

    /// File and line of an await in a state machine's `MoveNext`, by the number of the await: its state.
    pub fn await_line(&mut self, module: &str, token: MetadataToken, number: u32) -> Option<SourceLine> {
        let pdb = self.pdb(Key::Path(module.to_owned()), || {
            Some(Module { path: module.to_owned(), ..Module::default() })
        })?;
        let offsets = pdb.await_offsets(MethodRow::of(token)?);
        line_in(pdb, token, Some(*offsets.get(usize::try_from(number).ok()?)?))
    }

    /// Why modules whose methods were looked up have no lines. A module that simply has no symbol file is among them.
    pub fn problems(&self) -> impl Iterator<Item = &SymbolError> {
        self.pdbs.values().filter_map(|pdb| pdb.as_ref().err())
    }

    /// The symbol file of a module.
    fn pdb(&mut self, key: Key, module: impl FnOnce() -> Option<Module>) -> Option<&PortablePdb> {
        if !self.pdbs.contains_key(&key) {
            let found = self.open(&module()?);
            let held = |pdb: &Result<PortablePdb, _>| pdb.as_ref().map_or(0, PortablePdb::len);
            if self.pdbs.values().map(held).sum::<usize>() + held(&found) > MAX_HELD_BYTES {
                self.pdbs.retain(|_, pdb| pdb.is_err());
            }
            self.pdbs.insert(key.clone(), found);
        }
        self.pdbs.get(&key)?.as_ref().ok()
    }

    fn open(&self, module: &Module) -> Result<PortablePdb, SymbolError> {
        let mut refused = None;
        let mut try_file = |path: &str, wanted: Guid| match self.open_file(path, wanted) {
            Ok(found) => found,
            Err(error) => {
                // A file of another build is the most useful thing to hear of.
                if refused.is_none() || matches!(error, SymbolError::OtherBuild { .. }) {
                    refused = Some(error);
                }
                None
            }
        };
        if let Some(wanted) = module.pdb {
            for path in candidates(&module.path, &module.pdb_path) {
                if let Some(pdb) = try_file(&path, wanted) {
                    return Ok(pdb);
                }
            }
        }
        let info = self.debug_info(&module.path)?;
        let Some(wanted) = module.pdb.or(info.id) else {
            return Err(SymbolError::NoId { module: module.path.clone() });
        };
        if module.pdb.is_none() {
            for path in candidates(&module.path, info.path.as_deref().unwrap_or_default()) {
                if let Some(pdb) = try_file(&path, wanted) {
                    return Ok(pdb);
                }
            }
        }
        match info.embedded {
            Some(bytes) => of_build(PortablePdb::parse(bytes)?, wanted, &module.path),
            None => Err(refused.unwrap_or(SymbolError::NotFound { module: module.path.clone() })),
        }
    }

    fn open_file(&self, path: &str, wanted: Guid) -> Result<Option<PortablePdb>, SymbolError> {
        let Some(bytes) = self.files.read(path)? else {
            return Ok(None);
        };
        of_build(PortablePdb::parse(bytes)?, wanted, path).map(Some)
    }

    /// What the module's file says; nothing if there is no file, as in a program that is one file.
    fn debug_info(&self, path: &str) -> Result<DebugInfo, SymbolError> {
        if !path.starts_with('/') {
            return Ok(DebugInfo::default());
        }
        match self.files.open(path) {
            Ok(file) => DebugInfo::read(&ReadCache::new(file)),
            Err(error) if is_missing(&error) => Ok(DebugInfo::default()),
            Err(source) => Err(SymbolError::Unreadable { path: path.into(), source }),
        }
    }
}

fn line_in(pdb: &PortablePdb, token: MetadataToken, il: Option<u32>) -> Option<SourceLine> {
    let points = pdb.points(MethodRow::of(token)?).ok()?;
    let (point, kind) = match il {
        Some(il) => (point_at(&points, il)?, LineKind::Exact),
        None => (first(&points)?, LineKind::MethodStart),
    };
    let file = pdb.document(point.document).ok()??;
    Some(SourceLine { file, line: point.line?, kind })
}

/// Only a file of the same build has the right lines.
fn of_build(pdb: PortablePdb, wanted: Guid, path: &str) -> Result<PortablePdb, SymbolError> {
    let found = pdb.id();
    if found == wanted { Ok(pdb) } else { Err(SymbolError::OtherBuild { path: path.into(), wanted, found }) }
}

/// Beside the module, and where it was built.
fn candidates(module: &str, built: &str) -> impl Iterator<Item = String> {
    let folder = module.rfind('/').map(|slash| &module[..=slash]);
    let beside = folder.map(|folder| format!("{folder}{}.pdb", crate::module_name(module)));
    // The name may differ from the module's.
    let by_name = folder.zip(built.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()));
    let by_name =
        by_name.map(|(folder, name)| format!("{folder}{name}")).filter(|path| Some(path) != beside.as_ref());
    let built = built.starts_with('/').then(|| built.to_owned());
    beside.into_iter().chain(by_name).chain(built).filter(|path| path.starts_with('/'))
}

/// The point of some IL. Hidden code belongs to the line before it, as a debugger shows it.
fn point_at(points: &[SequencePoint], il: u32) -> Option<SequencePoint> {
    let behind = points.partition_point(|point| point.il <= il);
    let before = points[..behind].iter().rev().find(|point| point.line.is_some());
    before.copied().or_else(|| first(points))
}

fn first(points: &[SequencePoint]) -> Option<SequencePoint> {
    points.iter().find(|point| point.line.is_some()).copied()
}
