//! Whether something was sampled that has no name yet.

use model::ProcessId;
use stacks::StackKey;

use crate::namer::{Kind, Known, Namer};
use crate::{Intake, Names};

impl Intake {
    /// Whether managed code was sampled that has no name: the runtime has to be asked again. Framework code that is first
    /// called after the runtime told of all its code is such code.
    #[must_use]
    pub fn has_unknown_code(&mut self, pid: ProcessId, names: &Names<'_>) -> bool {
        let Some(process) = self.processes.get_mut(&pid) else { return false };
        let mut known = process.known.take().unwrap_or_else(|| Known::new(process, names));
        let mut namer = Namer::new(names, process, &mut known);
        let nodes = 0..u32::try_from(process.table.len()).unwrap_or(u32::MAX);
        let mut addresses = nodes.filter_map(|node| process.table.frames(StackKey(node)).next());
        let unknown = addresses.any(|address| {
            let (frame, _) = namer.frame(address.0, false, u64::MAX);
            namer.kind(frame) == Some(Kind::ManagedUnnamed)
        });
        process.known = Some(known);
        unknown
    }
}
