//! The collector of a process, found once and read many times.

use std::time::Instant;

use model::ProcessId;
use native_symbols::{Backing, MemoryMap};
use runtime_memory::{Memory, ProcessMemory, RuntimeMemory, find_runtime};

use crate::error::Error;
use crate::layout::{self, HeapLayout};
use crate::modules::Modules;
use crate::raw::RawRoots;
use crate::stacks::{self, ThreadFrames};
use crate::threads::Threads;
use crate::variables::Variables;
use crate::walk::{Met, Walk};
use crate::whereabouts::Whereabouts;
use crate::{finalizer, handles, tables};

/// The garbage collector of a process, seen through the process's memory. Nothing is sent to the process, and it is
/// not stopped here: somebody else has to keep its runtime from moving objects while they are read.
pub struct GcMemory<M = ProcessMemory> {
    memory: M,
    variables: Variables,
    pub(crate) code: Option<Code<M>>,
    pub(crate) threads: Whereabouts,
}

/// What only newer runtimes tell.
pub(crate) struct Code<M> {
    pub(crate) runtime: RuntimeMemory<M>,
    pub(crate) modules: Option<Modules>,
    threads: Option<Threads>,
}

impl<M> std::fmt::Debug for GcMemory<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GcMemory").field("variables", &self.variables).finish_non_exhaustive()
    }
}

impl GcMemory {
    /// Finds the collector of a process that this user may trace. May take a tenth of a second.
    pub fn open(pid: ProcessId) -> Result<GcMemory, Error> {
        let memory = ProcessMemory::open(pid)?;
        let map = MemoryMap::of_process(pid).unwrap_or_default();
        let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let files =
            map.iter().filter(|mapping| mapping.offset == 0).filter_map(|mapping| match &mapping.backing {
                Backing::File(path) => Some((mapping.start, path.as_path())),
                _ => None,
            });
        let found = find_runtime(&memory, files, &program);
        let (loaded, file) = found.ok_or(runtime_memory::Error::NoRuntime { pid })?;
        let variables = Variables::find(&memory, &loaded).ok_or(Error::NoCollector { pid })?;
        // Without it there are no names, but all the rest.
        let runtime = RuntimeMemory::of(pid, ProcessMemory::open(pid)?, &loaded, &file).ok();
        let whereabouts = Whereabouts::of_process(pid, map);
        Ok(GcMemory::with(memory, variables, runtime, whereabouts))
    }
}

impl<M: Memory> GcMemory<M> {
    pub(crate) fn with(
        memory: M,
        variables: Variables,
        runtime: Option<RuntimeMemory<M>>,
        mut whereabouts: Whereabouts,
    ) -> GcMemory<M> {
        let code = runtime.map(|runtime| Code {
            modules: Modules::find(&runtime),
            threads: Threads::find(&runtime, |os_id| whereabouts.place(os_id).stack_pointer),
            runtime,
        });
        let known = code.as_ref().and_then(|code: &Code<M>| code.threads.as_ref());
        let list = known.map_or_else(Vec::new, |known| known.list(&memory));
        whereabouts.prepare(list.iter().map(|thread| thread.os_id).filter(|id| *id != 0));
        GcMemory { memory, variables, code, threads: whereabouts }
    }

    /// Copies all that holds objects. To be called while the runtime is suspended, or nothing in it moves.
    ///
    /// `threads` gives the frames of threads, so that their locals have names; a thread that is not among them has no
    /// managed frames and no locals. If it is empty, all threads that the runtime tells of are read, and frames are
    /// guessed.
    pub fn read_roots(&mut self, threads: &[ThreadFrames]) -> RawRoots {
        let began = Instant::now();
        self.memory.look_anew();
        let memory = &self.memory;
        let heap = layout::read(memory, &self.variables);
        let handles = handles::read(memory, self.variables.handle_tables);
        let finalizer = finalizer::read(memory, &self.variables);
        let known = self.code.as_ref().and_then(|code| code.threads.as_ref());
        let list = known.map_or_else(Vec::new, |known| known.list(memory));
        let stacks = stacks::copy(memory, &list, threads, |os_id| self.threads.place(os_id));
        let tables = tables::copy(memory, &heap, &handles.found, &list);
        let contexts = layout::allocating(memory, &self.variables);
        let allocating = list.iter().filter_map(|thread| thread.allocating).chain(contexts).collect();
        RawRoots { heap, handles, finalizer, stacks, tables, allocating, took: began.elapsed() }
    }

    /// Meets every object of the heap with what it refers to, objects that nothing refers to among them; nothing may
    /// move meanwhile. Gives how many ranges end early. Only on runtimes that describe themselves.
    pub(crate) fn walk<E>(
        &self,
        raw: &RawRoots,
        meet: impl FnMut(&Met, &[u64]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let Some(code) = &self.code else { return Ok(raw.heap.ranges.len() as u64) };
        let hole = code.runtime.global("FreeObjectMethodTable").and_then(|at| self.memory.pointer(at));
        let mut walk = Walk::new(&self.memory, hole.unwrap_or(0), raw.allocating.iter().copied());
        walk.each(&raw.heap, |method_table| code.runtime.is_type(method_table), meet)?;
        Ok(walk.broken)
    }

    /// A type's name as the runtime writes it, and the path of its module.
    pub(crate) fn type_name(&mut self, method_table: u64) -> Option<(String, Option<String>)> {
        let runtime = &mut self.code.as_mut()?.runtime;
        let name = runtime.type_name(method_table)?;
        let module = runtime.module_of(method_table).and_then(|module| runtime.module_path(module));
        Some((name, module))
    }

    /// Where the generations lie now.
    #[must_use]
    pub fn heap(&self) -> HeapLayout {
        self.memory.look_anew();
        layout::read(&self.memory, &self.variables)
    }

    /// `thread NAME (TID)`.
    pub(crate) fn thread_name(&self, os_id: u32) -> String {
        match self.threads.name(os_id) {
            Some(name) => format!("thread {name} ({os_id})"),
            None => format!("thread {os_id}"),
        }
    }
}
