//! The threads of a trace.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use nettrace::Event;
use runtime_events::thread::ThreadCreated;
use stacks::{ProfileThread, ThreadSlot};

/// Threads by the operating system's number.
#[derive(Default)]
pub(crate) struct Threads {
    slots: HashMap<u64, ThreadSlot, RandomState>,
    rows: Vec<ProfileThread>,
    /// What threads are for, of those that have no name.
    duties: HashMap<u64, &'static str, RandomState>,
}

impl Threads {
    /// The slot of the thread an event is about.
    pub fn slot(&mut self, event: &Event<'_>) -> ThreadSlot {
        let id = event.thread().0;
        if let Some(slot) = self.slots.get(&id) {
            return *slot;
        }
        // There cannot be four billion threads: each takes bytes of the trace and of its process.
        let slot = ThreadSlot(u32::try_from(self.rows.len()).unwrap_or(u32::MAX));
        let name = event.thread_info().and_then(|info| info.name.clone());
        self.rows.push(ProfileThread { id, name });
        self.slots.insert(id, slot);
        slot
    }

    /// The operating system's number of a thread.
    pub fn id(&self, slot: ThreadSlot) -> Option<u64> {
        Some(self.rows.get(slot.0 as usize)?.id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn learn(&mut self, thread: &ThreadCreated) {
        let duty = if thread.flags.is_gc() {
            "GC"
        } else if thread.flags.is_finalizer() {
            "finalizer"
        } else if thread.flags.is_pool_worker() {
            "thread pool"
        } else {
            return;
        };
        self.duties.insert(thread.os_thread.0, duty);
    }

    /// All threads, each with a name if one is known.
    pub fn into_rows(self) -> Vec<ProfileThread> {
        let Threads { mut rows, duties, .. } = self;
        for row in &mut rows {
            if row.name.is_none() {
                row.name = duties.get(&row.id).map(|duty| (*duty).to_owned());
            }
        }
        rows
    }
}
