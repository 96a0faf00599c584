//! The runtime in a process: found, and asked by address.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::ProcessId;
use native_symbols::{Backing, MemoryMap, SymbolError};
use symbols::CodeMap;

use crate::code_length::{NEEDED, code_length};
use crate::descriptor::Descriptor;
use crate::elf::Loaded;
use crate::error::Error;
use crate::memory::{Memory, ProcessMemory};
use crate::metadata::DeclaredField;
use crate::method::{Method, kind_of};
use crate::names::Names;
use crate::nibble_map::NibbleMap;
use crate::offsets::Offsets;
use crate::ready_to_run::Image;
use crate::sections::{self, Section};
use crate::type_names::TypeWriter;

const DESCRIPTOR: &str = "DotNetRuntimeContractDescriptor";
/// Its first entry is the address of the tree of code; .NET 9 describes it nowhere else.
const DEBUGGER_TABLE: &str = "g_dacTable";
const LIBRARY: &str = "libcoreclr.so";
/// `EM_X86_64`
const X64: u16 = 62;
/// So many addresses are looked up in the memory of one moment.
const AS_ONE_MOMENT: usize = 256;
/// Most methods that are listed, and most units and buckets that are looked at for it: enough for 4 GB of code.
const MOST_METHODS: usize = 4 << 20;
const MOST_EFFORT: u64 = 16 << 20;
/// Most units that are looked at to see what has come: those of 64 MB of code.
const MOST_SEEN: u64 = 256 << 10;

/// The runtime of a process, seen through the process's memory. Nothing is sent to the process, and it is not
/// stopped.
pub struct RuntimeMemory<M = ProcessMemory> {
    code: Code<M>,
    descriptor: Descriptor,
}

impl<M> std::fmt::Debug for RuntimeMemory<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeMemory").field("root", &self.code.root).finish_non_exhaustive()
    }
}

impl RuntimeMemory {
    /// Finds the runtime of a process and reads what it says of its memory.
    pub fn open(pid: ProcessId) -> Result<RuntimeMemory, Error> {
        let memory = ProcessMemory::open(pid)?;
        let map = MemoryMap::of_process(pid).map_err(|error| match error {
            SymbolError::Io { source, .. } => Error::from_io(pid, source),
            _ => Error::NoRuntime { pid },
        })?;
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let files =
            map.iter().filter(|mapping| mapping.offset == 0).filter_map(|mapping| match &mapping.backing {
                Backing::File(path) => Some((mapping.start, path.as_path())),
                _ => None,
            });
        let (loaded, file) = find_runtime(&memory, files, &program).ok_or(Error::NoRuntime { pid })?;
        RuntimeMemory::of(pid, memory, &loaded, &file)
    }
}

impl<M: Memory> RuntimeMemory<M> {
    /// The runtime that lies in a file in some memory, as [`find_runtime`] finds it.
    pub fn of(pid: ProcessId, memory: M, loaded: &Loaded, file: &Path) -> Result<RuntimeMemory<M>, Error> {
        let is_library = file.file_name().is_some_and(|name| name == LIBRARY);
        let descriptor = loaded.symbol(&memory, DESCRIPTOR);
        let table = loaded.symbol(&memory, DEBUGGER_TABLE);
        let Some(descriptor) = descriptor else {
            return Err(if is_library || table.is_some() {
                Error::TooOld { pid, file: file.display().to_string() }
            } else {
                Error::NoRuntime { pid }
            });
        };
        if loaded.machine != X64 {
            return Err(Error::Architecture { pid });
        }
        let descriptor = Descriptor::at(&memory, descriptor)?;
        let offsets = Offsets::of(&descriptor)?;
        let root = match descriptor.global("ExecutionManagerCodeRangeMapAddress") {
            Some(root) => Some(root),
            None => table.and_then(|table| memory.pointer(table)),
        };
        // The debugger's table is filled while the runtime starts.
        let root = root.ok_or(Error::NoRuntime { pid })?;
        Ok(RuntimeMemory { code: Code { root, names: Names::new(memory, offsets) }, descriptor })
    }

    /// Where a field stands in a structure of the runtime, if the runtime says so.
    #[must_use]
    pub fn field(&self, structure: &str, field: &str) -> Option<u64> {
        self.descriptor.field(structure, field).filter(|offset| *offset < 1 << 20)
    }

    /// A number, or the address of a variable, if the runtime says so.
    #[must_use]
    pub fn global(&self, name: &str) -> Option<u64> {
        self.descriptor.global(name)
    }

    /// The memory that it reads.
    #[must_use]
    pub fn memory(&self) -> &M {
        &self.code.names.memory
    }

    /// Whether a type's method table is at an address: what it leads to leads back.
    #[must_use]
    pub fn is_type(&self, method_table: u64) -> bool {
        self.code.names.is_type(method_table) == Some(true)
    }

    /// The structure that types of shared code have in common.
    #[must_use]
    pub fn class_of(&self, method_table: u64) -> Option<u64> {
        self.code.names.class(method_table).map(|(_, class)| class)
    }

    /// The name of a type as the runtime's events have it.
    pub fn type_name(&mut self, method_table: u64) -> Option<String> {
        if !self.is_type(method_table) {
            return None;
        }
        TypeWriter::name(&mut self.code.names, method_table)
    }

    /// The module that declares a type.
    #[must_use]
    pub fn module_of(&self, method_table: u64) -> Option<u64> {
        self.memory().pointer(method_table.checked_add(self.code.names.offsets.type_module)?)
    }

    /// The path of a module as the process sees it; of one without a file, the name of its assembly.
    pub fn module_path(&mut self, module: u64) -> Option<String> {
        self.code.names.module_path(module)
    }

    /// The fields that a type declares, in the order of the metadata; those of its base types are not among them.
    pub fn declared_fields(&mut self, method_table: u64) -> Vec<DeclaredField> {
        self.code.names.declared_fields(method_table).unwrap_or_default()
    }

    /// What is read from now on is as it is now.
    pub fn look_anew(&self) {
        self.memory().look_anew();
    }

    /// The method whose code is at an address; none if there is none, or it could not be read. What it costs does
    /// not depend on how many methods the process has.
    ///
    /// For an address behind a call, ask for the byte before it.
    pub fn method_at(&mut self, address: u64) -> Option<Method> {
        self.code.names.memory.look_anew();
        self.code.method_at(address)
    }

    /// Whether an address lies in the code of a method, for many addresses of one moment ([`RuntimeMemory::look_anew`]).
    #[must_use]
    pub fn has_method(&self, address: u64) -> bool {
        self.code.piece_at(address).is_some()
    }

    /// Tells a map of code of the methods at some addresses, each method once; gives how many of the addresses have
    /// one. The map is to be settled afterwards.
    pub fn teach(&mut self, map: &mut CodeMap, addresses: impl IntoIterator<Item = u64>) -> u64 {
        let mut taught = BTreeMap::<u64, u64>::new();
        let mut named = 0;
        for (index, address) in addresses.into_iter().enumerate() {
            if index % AS_ONE_MOMENT == 0 {
                self.code.names.memory.look_anew();
            }
            let known = taught.range(..=address).next_back().is_some_and(|(_, end)| address < *end);
            if !known {
                let Some(method) = self.code.method_at(address) else { continue };
                method.teach(map);
                taught.insert(method.start.0, method.start.0.saturating_add(method.code_bytes.into()));
            }
            named += 1;
        }
        named
    }

    /// All methods that have code: compiled in the process, and those of images that were needed so far.
    pub fn methods(&mut self) -> Vec<Method> {
        self.code.names.memory.look_anew();
        self.code.methods()
    }

    /// Where the code of each method begins that was compiled in the process, by address: to see from time to time what has come.
    /// None if the process has so much code that this would take long.
    #[must_use]
    pub fn compiled_starts(&self) -> Option<Vec<u64>> {
        self.code.names.memory.look_anew();
        self.code.compiled_starts()
    }

    /// Forgets what was kept of modules (16 MB at most). To be called when modules may have been unloaded, between
    /// two uses that lie far apart.
    pub fn forget(&mut self) {
        self.code.names.forget();
    }
}

/// The file with the runtime among those that are mapped from their beginning: its library, or a program that has
/// it inside.
pub fn find_runtime<'f>(
    memory: &impl Memory,
    files: impl Iterator<Item = (u64, &'f Path)>,
    program: &Path,
) -> Option<(Loaded, PathBuf)> {
    let program = program.to_string_lossy();
    let program = Path::new(program.strip_suffix(" (deleted)").unwrap_or(&program));
    let is_wanted = |path: &Path| path.file_name().is_some_and(|name| name == LIBRARY) || path == program;
    let mut files: Vec<(u64, &Path)> = files.filter(|(_, path)| is_wanted(path)).collect();
    files.sort_by_key(|(_, path)| *path == program);
    files.into_iter().find_map(|(base, path)| Some((Loaded::at(memory, base)?, path.to_owned())))
}

/// The code of a process.
pub(crate) struct Code<M> {
    pub(crate) root: u64,
    pub(crate) names: Names<M>,
}

/// A method's code, without names.
#[derive(Clone, Copy)]
struct Piece {
    start: u64,
    bytes: u32,
    method: u64,
    is_precompiled: bool,
}

impl<M: Memory> Code<M> {
    pub(crate) fn method_at(&mut self, address: u64) -> Option<Method> {
        let piece = self.piece_at(address)?;
        self.named(piece)
    }

    fn piece_at(&self, address: u64) -> Option<Piece> {
        let (memory, offsets) = (&self.names.memory, &self.names.offsets);
        match sections::find(memory, offsets, self.root, address)? {
            Section::Heap(heap) => {
                let start = nibble_map(memory, offsets, heap)?.method_start(memory, address)?;
                let piece = compiled(memory, offsets, start)?;
                (address.checked_sub(start)? < piece.bytes.into()).then_some(piece)
            }
            Section::Image(base, module) => {
                let found = Image::of(memory, offsets, base, module)?.method_at(memory, address)?;
                let (start, bytes, method) = (found.start, found.bytes, found.method);
                Some(Piece { start, bytes, method, is_precompiled: true })
            }
        }
    }

    fn compiled_starts(&self) -> Option<Vec<u64>> {
        let (memory, offsets) = (&self.names.memory, &self.names.offsets);
        let mut starts = Vec::new();
        let mut left = MOST_SEEN;
        for section in sections::all(memory, offsets, self.root) {
            let Section::Heap(heap) = section else { continue };
            let map = nibble_map(memory, offsets, heap)?;
            left = left.checked_sub(map.effort())?;
            map.each_start(memory, |start| {
                starts.push(start);
                true
            });
        }
        starts.sort_unstable();
        Some(starts)
    }

    pub(crate) fn methods(&mut self) -> Vec<Method> {
        let mut pieces = Vec::new();
        let mut left = MOST_EFFORT;
        for section in sections::all(&self.names.memory, &self.names.offsets, self.root) {
            let (memory, offsets) = (&self.names.memory, &self.names.offsets);
            match section {
                Section::Heap(heap) => {
                    let Some(map) = nibble_map(memory, offsets, heap) else { continue };
                    let Some(rest) = left.checked_sub(map.effort()) else { break };
                    left = rest;
                    map.each_start(memory, |start| {
                        pieces.extend(compiled(memory, offsets, start));
                        pieces.len() < MOST_METHODS
                    });
                }
                Section::Image(base, module) => {
                    let Some(image) = Image::of(memory, offsets, base, module) else { continue };
                    let Some(rest) = left.checked_sub(image.effort()) else { break };
                    left = rest;
                    image.each(memory, |found| {
                        let (start, bytes, method) = (found.start, found.bytes, found.method);
                        pieces.push(Piece { start, bytes, method, is_precompiled: true });
                        pieces.len() < MOST_METHODS
                    });
                }
            }
            if pieces.len() >= MOST_METHODS {
                break;
            }
        }
        pieces.into_iter().filter_map(|piece| self.named(piece)).collect()
    }

    fn named(&mut self, piece: Piece) -> Option<Method> {
        let names = self.names.method(piece.method)?;
        let module_path = self.names.module_path(names.module).unwrap_or_default();
        Some(Method {
            start: nettrace::CodeAddress(piece.start),
            code_bytes: piece.bytes,
            id: runtime_events::MethodId(piece.method),
            module: runtime_events::ModuleId(names.module),
            module_path,
            token: runtime_events::MetadataToken(names.token),
            kind: kind_of(&names, piece.is_precompiled),
            type_name: names.type_name,
            name: names.name,
            signature: names.signature,
        })
    }
}

fn nibble_map(memory: &impl Memory, offsets: &Offsets, heap: u64) -> Option<NibbleMap> {
    let at = |offset: u64| memory.u64(heap.checked_add(offset)?);
    Some(NibbleMap {
        base: at(offsets.heap_map_base)?,
        end: at(offsets.heap_end)?,
        units: at(offsets.heap_map)?,
        kind: offsets.nibble_maps,
    })
}

/// Code of the compiler: the pointer before it leads to its header, or is a small number if it is a stub.
fn compiled(memory: &impl Memory, offsets: &Offsets, start: u64) -> Option<Piece> {
    let header = memory.u64(start.checked_sub(8)?).filter(|header| *header > offsets.last_stub)?;
    let method = memory.pointer(header.checked_add(offsets.header_method)?)?;
    let notes = memory.pointer(header.checked_add(offsets.header_gc_info)?)?;
    let bytes = code_length(memory.array::<NEEDED>(notes)?, offsets.notes)?;
    Some(Piece { start, bytes, method, is_precompiled: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Noise, Patches};
    use proptest::prelude::*;

    /// The parts of .NET 9's own description that are needed.
    const NET9: &str = include_str!("../fixtures/net9-descriptor.json");

    proptest! {
        #[test]
        fn no_memory_does_harm(seed in any::<u64>(), root in any::<u64>(), address in any::<u64>()) {
            let offsets = Offsets::of(&Descriptor::parse(NET9.as_bytes()).unwrap()).unwrap();
            let mut code = Code { root, names: Names::new(Noise(seed), offsets) };
            let _ = code.method_at(address);
            let _ = code.names.method(address);
            let _ = code.names.module_path(address);
            for handle in address..address.saturating_add(8) {
                let _ = crate::type_names::TypeWriter::name(&mut code.names, handle);
            }
        }

        #[test]
        fn no_list_is_without_an_end(seed in any::<u64>(), root in 0u64..1 << 40) {
            let offsets = Offsets::of(&Descriptor::parse(NET9.as_bytes()).unwrap()).unwrap();
            let mut code = Code { root, names: Names::new(Patches(seed), offsets) };
            let _ = code.methods();
            let _ = code.compiled_starts();
        }
    }
}
