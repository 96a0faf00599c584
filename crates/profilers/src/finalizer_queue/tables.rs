//! The queue as it stands in the collector's own tables, read from outside: no collection, no pause.

use std::collections::HashMap;

use agent_host::{AgentError, Sample};
use gc_memory::GcMemory;
use model::ProcessId;
use symbols::readable_type;
use task_graph::{TypeId, Types};

use super::look::Waiting;
use crate::heap::memory::{Memory, Outside};
use crate::inside::Guest;
use crate::inside::objects::add_types;

/// The process runs on: a queue that changes while it is read is read again.
const TRIES: usize = 5;
/// Most objects whose type is read; the rest is counted.
const MOST_READ: usize = 500_000;
/// Objects of a type that are tried for its name.
const OF_EACH: usize = 4;
/// Bits of an object's first word that are no part of its type.
const MARKS: u64 = 7;

/// The collector of a process.
pub(super) struct Tables {
    collector: GcMemory,
    memory: Outside,
}

impl Tables {
    /// None if this user may not read the process's memory, or its runtime is not known.
    pub(super) fn open(pid: ProcessId) -> Option<Tables> {
        let mut tables = Tables { collector: GcMemory::open(pid).ok()?, memory: Outside::open(pid)? };
        tables.ready().map(|_| tables)
    }

    /// The objects that wait.
    fn ready(&mut self) -> Option<Vec<u64>> {
        (0..TRIES).find_map(|_| Some(self.collector.read_roots(&[]).finalizer_queue()?.ready.clone()))
    }

    /// What waits, by type; none if it changes all the time. The agent tells the names.
    pub(super) fn read(
        &mut self,
        guest: &mut Guest<'_>,
    ) -> Result<Option<HashMap<String, Waiting>>, AgentError> {
        let Some(ready) = self.ready() else { return Ok(None) };
        let mut classes: HashMap<u64, (u64, Vec<Sample>)> = HashMap::new();
        for (at, &address) in ready.iter().enumerate() {
            let class = if at < MOST_READ { self.word(address).map_or(0, |word| word & !MARKS) } else { 0 };
            let (count, samples) = classes.entry(class).or_default();
            *count += 1;
            if samples.len() < OF_EACH && class != 0 {
                samples.push(Sample { address, class });
            }
        }
        let samples: Vec<Sample> =
            classes.values().flat_map(|(_, samples)| samples.iter().copied()).collect();
        let types = if samples.is_empty() { Types::default() } else { names(guest, samples)? };
        let mut rows: HashMap<String, Waiting> = HashMap::new();
        for (class, (count, _)) in classes {
            let name = readable_type(&types.full_name(TypeId(class)));
            let row = rows.entry(name).or_default();
            row.count += count;
            // Behind the flags of a type stands the size of its objects; arrays have no finalizer.
            let size = self.word(class).map_or(0, |word| word >> 32);
            row.bytes += count * size.next_multiple_of(8);
        }
        Ok(Some(rows))
    }

    fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }
}

fn names(guest: &mut Guest<'_>, samples: Vec<Sample>) -> Result<Types, AgentError> {
    let told = guest.ask(|agent| agent.heap_types(samples), |told| (told.pause, 0))?;
    let mut types = Types::default();
    add_types(&mut types, told);
    Ok(types)
}
