//! What was sampled and has no name yet.

use model::ProcessId;
use stacks::StackKey;
use unwinding::IF_REPLACED;

use crate::namer::{Kind, Known, Namer};
use crate::{Intake, Names};

/// Addresses of code without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// In files of assemblies: framework code that was first called after the runtime told of all its code is such code.
    pub in_assemblies: Vec<u64>,
    /// In memory that the runtime wrote: stubs, and methods that nobody told of.
    pub in_memory: Vec<u64>,
}

impl Unknown {
    /// Those in assemblies, each also with the byte before it: behind a call, that is where the caller is.
    pub fn assembly_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        bytes(&self.in_assemblies)
    }

    /// Those in memory, likewise.
    pub fn memory_bytes(&self) -> impl Iterator<Item = u64> + '_ {
        bytes(&self.in_memory)
    }
}

fn bytes(addresses: &[u64]) -> impl Iterator<Item = u64> + '_ {
    addresses.iter().flat_map(|address| [address.saturating_sub(1), *address])
}

impl Intake {
    /// What was sampled of a process and has no name.
    #[must_use]
    pub fn unknown_code(&mut self, pid: ProcessId, names: &Names<'_>) -> Unknown {
        let mut unknown = Unknown::default();
        let Some(process) = self.processes.get_mut(&pid) else { return unknown };
        let mut known = process.known.take().unwrap_or_else(|| Known::new(process, names));
        let mut namer = Namer::new(names, process, &mut known);
        for node in 0..u32::try_from(process.table.len()).unwrap_or(u32::MAX) {
            let address = process.table.frames(StackKey(node)).next();
            // What may be a caller, and may not, is looked at when its frame is known.
            let Some(address) = address.filter(|address| address.0 < IF_REPLACED) else { continue };
            let (frame, _) = namer.frame(address.0, false, u64::MAX);
            match namer.kind(frame) {
                Some(Kind::ManagedUnnamed) => unknown.in_assemblies.push(address.0),
                Some(Kind::Stub) => unknown.in_memory.push(address.0),
                _ => {}
            }
        }
        process.known = Some(known);
        for list in [&mut unknown.in_assemblies, &mut unknown.in_memory] {
            list.sort_unstable();
            list.dedup();
        }
        unknown
    }
}
