//! The heap of a core dump, or of a process that stands still.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use core_dumps::CoreFile;
use heap_graph::{Address, GraphBuilder, HeapGraph, TypeId, readable};
use model::ProcessId;
use runtime_memory::{Loaded, Memory, RuntimeMemory};

use crate::error::Error;
use crate::layout::HeapLayout;
use crate::memory::GcMemory;
use crate::raw::RawRoots;
use crate::stacks::ThreadFrames;
use crate::tell::Told;
use crate::variables::Variables;
use crate::whereabouts::Whereabouts;

const LIBRARY: &str = "libcoreclr.so";
const DESCRIPTOR: &str = "DotNetRuntimeContractDescriptor";
const DEBUGGER_TABLE: &str = "g_dacTable";

/// The memory of a core dump.
#[derive(Clone, Debug)]
pub struct CoreMemory {
    core: CoreFile,
    /// Pointers in the runtime's file as they were in the process, by place: smaller dumps do not have them.
    pointers: Arc<Vec<(u64, u64)>>,
}

impl Memory for CoreMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        if !self.core.read(address, into) {
            return false;
        }
        // Those that reach into what is wanted; the dump itself has the better word.
        let from = self.pointers.partition_point(|(place, _)| place.saturating_add(8) <= address);
        let end = address.saturating_add(into.len() as u64);
        for &(place, value) in self.pointers.iter().skip(from).take_while(|(place, _)| *place < end) {
            if self.core.end_of(place).is_some() {
                continue;
            }
            for (index, byte) in (0..).zip(value.to_le_bytes()) {
                let at = place.wrapping_add(index).wrapping_sub(address);
                if let Some(there) = usize::try_from(at).ok().and_then(|at| into.get_mut(at)) {
                    *there = byte;
                }
            }
        }
        true
    }
}

/// The heap of a core dump, or of a process that stood still.
#[derive(Debug)]
pub struct CoreHeap {
    /// Its objects, with garbage among them, and its roots.
    pub graph: HeapGraph,
    /// The addresses of the method tables of its types.
    pub handles: HashMap<TypeId, u64>,
    /// Where the generations lie.
    pub layout: HeapLayout,
    /// Handles, the finalizer queue and the like, as they were.
    pub roots: RawRoots,
    /// What was told to the graph, and sentences on what is missing.
    pub told: Told,
    /// Types whose name is not in the dump.
    pub unnamed_types: u64,
}

/// Reads the heap of a core dump of .NET 9 or 10: its objects, also those that nothing refers to any more, and its roots.
pub fn graph_of_core(path: &Path) -> Result<CoreHeap, Error> {
    let heap = open(path)?.graph_from_outside(&[])?;
    if heap.graph.node_count() == 0 {
        let what = "it does not have the heap; a dump of kind Full or Heap has it";
        return Err(Error::Core { path: path.to_owned(), what });
    }
    Ok(heap)
}

impl<M: Memory> GcMemory<M> {
    /// Walks the whole heap from outside, as graphs of core dumps are made. Of a process that runs it gives nonsense: it
    /// has to be stopped meanwhile, for about a second per million objects.
    pub fn graph_from_outside(&mut self, threads: &[ThreadFrames]) -> Result<CoreHeap, Error> {
        let raw = self.read_roots(threads);
        let mut builder = GraphBuilder::new();
        let broken = self.walk(&raw, |met, references| {
            let its_type = builder.type_of_handle(met.method_table);
            let count = u32::try_from(references.len())
                .map_err(|_| heap_graph::Error::TooManyReferences { limit: u32::MAX })?;
            builder.object(Address(met.at), its_type, met.bytes, count)?;
            references.iter().try_for_each(|reference| builder.reference(Address(*reference)))
        })?;
        let mut told = self.tell(&raw, &mut builder)?;
        if broken > 0 {
            told.missing.push(format!(
                "{broken} ranges of the heap end early: not all of them can be read, or they were just being changed"
            ));
        }
        let types: Vec<u64> = builder.handles().map(|(handle, _)| handle).collect();
        let mut unnamed_types = 0;
        for handle in types {
            match self.type_name(handle) {
                Some((name, module)) => _ = builder.name_type(handle, &readable(&name), module.as_deref()),
                None => unnamed_types += 1,
            }
        }
        let handles = builder.handles().map(|(handle, id)| (id, handle)).collect();
        let graph = builder.finish()?;
        Ok(CoreHeap { graph, handles, layout: raw.heap.clone(), roots: raw, told, unnamed_types })
    }
}

/// Finds the collector in a core dump.
fn open(path: &Path) -> Result<GcMemory<CoreMemory>, Error> {
    let core = CoreFile::open(path)?;
    let mut memory = CoreMemory { core: core.clone(), pointers: Arc::default() };
    let refused = |what| Error::Core { path: path.to_owned(), what };
    let (loaded, file) = find(&memory, &core).ok_or(refused("it has no .NET runtime in it"))?;
    memory.pointers = Arc::new(loaded.relocated(&memory));
    let runtime = RuntimeMemory::of(ProcessId(0), memory.clone(), &loaded, &file).map_err(|error| match error {
        runtime_memory::Error::TooOld { .. } => refused(
            "its runtime is .NET 8 or older, which does not describe its memory; take the heap from the running process",
        ),
        runtime_memory::Error::NoRuntime { .. } => refused("its runtime had not started yet"),
        runtime_memory::Error::Architecture { .. } => refused("its runtime is not for x64"),
        _ => refused(
            "its runtime's description of itself is not in it or not understood; a dump of kind Full has it",
        ),
    })?;
    let variables = Variables::find(&memory, &loaded)
        .ok_or(refused("its garbage collector was not found; a dump of kind Full has it"))?;
    Ok(GcMemory::with(memory, variables, Some(runtime), Whereabouts::Core(core)))
}

/// The file with the runtime: its library, or any program that exports what a runtime exports.
fn find(memory: &CoreMemory, core: &CoreFile) -> Option<(Loaded, PathBuf)> {
    let mut files: Vec<_> = core.mappings().iter().filter(|mapping| mapping.offset == 0).collect();
    files.sort_by_key(|mapping| mapping.path.file_name().is_none_or(|name| name != LIBRARY));
    files.into_iter().find_map(|mapping| {
        let loaded = Loaded::at(memory, mapping.start)?;
        let is_library = mapping.path.file_name().is_some_and(|name| name == LIBRARY);
        let is_runtime = is_library
            || loaded.symbol(memory, DESCRIPTOR).is_some()
            || loaded.symbol(memory, DEBUGGER_TABLE).is_some();
        is_runtime.then(|| (loaded, mapping.path.clone()))
    })
}
