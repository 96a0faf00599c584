//! The collector of a process, found once and read many times.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use model::ProcessId;
use native_symbols::{Backing, MemoryMap};
use runtime_memory::{Memory, ProcessMemory, RuntimeMemory, find_runtime};

use crate::error::Error;
use crate::finalizer::FinalizerQueue;
use crate::handles::Handle;
use crate::layout::{self, HeapLayout};
use crate::modules::Modules;
use crate::population::{self, Population};
use crate::raw::RawRoots;
use crate::stacks::{self, ThreadFrames};
use crate::threads::Threads;
use crate::variables::Variables;
use crate::walk::{Met, Walk};
use crate::whereabouts::Whereabouts;
use crate::{finalizer, handles, tables, thread_names};

/// So many bytes of objects are counted to tell how many there are in all: a tenth of a second at most.
const COUNTED_BYTES: u64 = 16 << 20;

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

    /// A type's name as the runtime writes it, and the path of its module; none on runtimes that do not describe
    /// themselves.
    pub fn type_name(&mut self, method_table: u64) -> Option<(String, Option<String>)> {
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

    /// About how many objects there are now: those of some megabytes are counted, at the beginnings of regions or segments, and
    /// the rest is taken to be alike. None while a collection has the heap in disorder. The process is not stopped for it.
    #[must_use]
    pub fn population(&self) -> Option<Population> {
        let heap = self.heap();
        if heap.in_disorder { None } else { population::count(&self.memory, &heap, COUNTED_BYTES) }
    }

    /// All handles that hold or watch an object now. While the process runs, handles come and go, and objects move.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.memory.look_anew();
        handles::read(&self.memory, self.variables.handle_tables).found
    }

    /// The finalizer queue now; none if it could not be read, or changed meanwhile.
    #[must_use]
    pub fn finalizer_queue(&self) -> Option<FinalizerQueue> {
        self.memory.look_anew();
        finalizer::read(&self.memory, &self.variables)
    }

    /// `thread NAME (TID)` by number: as the system calls it, or where that is not known as the program does.
    pub(crate) fn thread_names(&mut self, raw: &RawRoots) -> HashMap<u32, String> {
        let known = self.code.as_ref().and_then(|code| code.threads.as_ref());
        let list = known.map_or_else(Vec::new, |known| known.list(&self.memory));
        let structures: HashMap<u32, u64> =
            list.iter().map(|thread| (thread.os_id, thread.address)).collect();
        let of_stacks = raw.stacks.found.iter().map(|stack| stack.os_id);
        let ids: HashSet<u32> =
            of_stacks.chain(raw.tables.of_threads.iter().map(|thread| thread.os_id)).collect();
        let mut name = |os_id: u32| {
            let own = self.threads.name(os_id).or_else(|| {
                let runtime = &mut self.code.as_mut()?.runtime;
                thread_names::name(runtime, *structures.get(&os_id)?)
            });
            match own {
                Some(own) => format!("thread {own} ({os_id})"),
                None => format!("thread {os_id}"),
            }
        };
        ids.into_iter().map(|os_id| (os_id, name(os_id))).collect()
    }
}
