//! Whether something was sampled that has no name yet.

use std::collections::HashSet;
use std::ffi::OsStr;

use model::ProcessId;
use native_symbols::Backing;
use symbols::{CodeMap, Position};

use crate::Intake;
use crate::followed::Followed;
use crate::namer::KERNEL;

impl Followed {
    /// Whether an address lies in an assembly's file. What is compiled in the process is told of as it comes.
    fn is_assembly(&self, address: u64) -> bool {
        let backing = self.map.find(address).map(|mapping| &mapping.backing);
        matches!(backing, Some(Backing::File(path)) if path.extension() == Some(OsStr::new("dll")))
    }
}

impl Intake {
    /// Whether managed code of an assembly was sampled that is not in the map: the runtime has to be asked again.
    #[must_use]
    pub fn has_unknown_code(&self, pid: ProcessId, code: &CodeMap) -> bool {
        let Some(process) = self.processes.get(&pid) else { return false };
        let mut seen = HashSet::new();
        let stacks = process.samples.iter().filter_map(|taken| taken.place.stack());
        stacks.filter(|stack| seen.insert(*stack)).flat_map(|stack| process.table.frames(stack)).any(
            |address| {
                address.0 < KERNEL
                    && process.is_assembly(address.0)
                    && [Position::Caller, Position::Interrupted]
                        .into_iter()
                        .all(|position| code.method_for(address, position).is_none())
            },
        )
    }
}
