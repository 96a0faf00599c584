//! The runtime's list of its threads: where their stacks lie, and what each keeps for itself.

use std::collections::{HashMap, HashSet};

use runtime_memory::{Memory, RuntimeMemory};

const MOST_THREADS: usize = 1 << 16;
/// So much of a thread's structure is looked at for what the runtime does not describe.
const LOOKED_AT: usize = 2048;
/// Threads that are asked for it.
const ASKED: usize = 64;
/// Sizes that a stack may have.
const SMALLEST_STACK: u64 = 16 << 10;
const LARGEST_STACK: u64 = 1 << 30;
/// Where the data of a thread's statics point back to the thread.
const BACK: u64 = 0x18;
/// Where those data stand in .NET 9.
const LOCAL_DATA: u64 = 0x3a0;

/// A thread of the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ManagedThread {
    pub(crate) address: u64,
    pub(crate) os_id: u32,
    /// The lowest address of its stack, and the end.
    pub(crate) stack: Option<(u64, u64)>,
    /// Its statics.
    pub(crate) local_data: Option<u64>,
    /// What it may still fill with objects: from, to.
    pub(crate) allocating: Option<(u64, u64)>,
}

/// How to find threads.
#[derive(Clone, Debug)]
pub(crate) struct Threads {
    store: u64,
    first_link: u64,
    link: u64,
    os_id: u64,
    /// Where a thread has the ends of its stack: the upper one, behind it the lower one.
    stack: Option<u64>,
    local_data: Option<u64>,
    /// Where a thread has the address of its thread-locals, and where in them its allocations are.
    thread_locals: Option<(u64, u64)>,
}

impl Threads {
    /// Finds out what the runtime says of threads, and the rest by looking at some. `stack_pointers` tells where
    /// threads stand.
    pub(crate) fn find<M: Memory>(
        runtime: &RuntimeMemory<M>,
        stack_pointer: impl Fn(u32) -> Option<u64>,
    ) -> Option<Threads> {
        let locals = runtime.field("Thread", "RuntimeThreadLocals");
        let context = runtime.field("RuntimeThreadLocals", "AllocContext");
        let within = runtime.field("EEAllocContext", "GCAllocationContext").unwrap_or(0);
        let mut threads = Threads {
            store: runtime.global("ThreadStore")?,
            first_link: runtime.field("ThreadStore", "FirstThreadLink")?,
            link: runtime.field("Thread", "LinkNext")?,
            os_id: runtime.field("Thread", "OSId")?,
            stack: None,
            local_data: runtime.field("Thread", "ThreadLocalDataPtr"),
            thread_locals: locals.zip(context).map(|(locals, context)| (locals, context + within)),
        };
        let memory = runtime.memory();
        let list = threads.list(memory);
        let sample = list.iter().filter(|thread| thread.os_id != 0).take(ASKED);
        let mut votes: HashMap<u64, usize> = HashMap::new();
        for thread in sample {
            let Some(pointer) = stack_pointer(thread.os_id) else { continue };
            for offset in stack_bounds(&memory.up_to(thread.address, LOOKED_AT), pointer) {
                *votes.entry(offset).or_default() += 1;
            }
        }
        threads.stack =
            votes.into_iter().max_by_key(|(offset, votes)| (*votes, u64::MAX - offset)).map(|it| it.0);
        if threads.local_data.is_none() {
            let is_there = |thread: &ManagedThread| {
                let data = memory.pointer(thread.address.checked_add(LOCAL_DATA)?)?;
                memory.u64(data.checked_add(BACK)?).filter(|back| *back == thread.address)
            };
            threads.local_data = list.iter().any(|thread| is_there(thread).is_some()).then_some(LOCAL_DATA);
        }
        Some(threads)
    }

    /// All threads.
    pub(crate) fn list(&self, memory: &impl Memory) -> Vec<ManagedThread> {
        let mut threads = Vec::new();
        let mut seen = HashSet::new();
        let first =
            memory.pointer(self.store).and_then(|store| memory.u64(store.checked_add(self.first_link)?));
        let mut link = first.unwrap_or(0);
        while link != 0 && threads.len() < MOST_THREADS && seen.insert(link) {
            let Some(address) = link.checked_sub(self.link) else { break };
            threads.extend(self.read(memory, address));
            let Some(next) = memory.u64(link) else { break };
            link = next;
        }
        threads
    }

    fn read(&self, memory: &impl Memory, address: u64) -> Option<ManagedThread> {
        let at = |offset: u64| memory.u64(address.checked_add(offset)?);
        let stack = self.stack.and_then(|stack| Some((at(stack + 8)?, at(stack)?)));
        let local_data = self
            .local_data
            .and_then(at)
            .filter(|data| data.checked_add(BACK).and_then(|back| memory.u64(back)) == Some(address));
        let allocating = self.thread_locals.and_then(|(locals, context)| {
            let context = at(locals)?.checked_add(context)?;
            Some((memory.pointer(context)?, memory.pointer(context.checked_add(8)?)?))
        });
        Some(ManagedThread {
            address,
            // Threads that have not begun or that ended have none, or one that is no number of a thread.
            os_id: u32::try_from(at(self.os_id)?).ok().filter(|id| *id < 1 << 30).unwrap_or(0),
            stack: stack.filter(|(limit, base)| is_stack(*limit, *base)),
            local_data,
            allocating: allocating.filter(|(from, to)| from <= to),
        })
    }
}

fn is_stack(limit: u64, base: u64) -> bool {
    limit.is_multiple_of(4096)
        && base.checked_sub(limit).is_some_and(|size| (SMALLEST_STACK..LARGEST_STACK).contains(&size))
}

/// Where in a thread's structure the ends of its stack may stand, by its stack pointer.
fn stack_bounds(thread: &[u8], pointer: u64) -> Vec<u64> {
    let words = thread.as_chunks::<8>().0.windows(2);
    (0..)
        .step_by(8)
        .zip(words)
        .filter(|(_, pair)| {
            let [base, limit] = [u64::from_le_bytes(pair[0]), u64::from_le_bytes(pair[1])];
            is_stack(limit, base) && (limit..base).contains(&pointer)
        })
        .map(|(offset, _)| offset)
        .collect()
}
