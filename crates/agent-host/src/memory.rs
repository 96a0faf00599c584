//! Parts of the target's memory, read by the agent: where this user may not read it from outside.

use agent_wire::{MOST_BYTES, MOST_RANGES, Range};

use crate::AgentError;
use crate::attached::Attached;

/// What a part of an answer takes beside its bytes.
const OVERHEAD: usize = 5;

impl Attached {
    /// Bytes at these addresses; none where not all of them can be read. Nothing stands still for it. A part that is longer
    /// than a message can hold is none.
    pub fn memory(&mut self, places: &[(u64, u32)]) -> Result<Vec<Option<Vec<u8>>>, AgentError> {
        let mut found = Vec::with_capacity(places.len());
        let mut batch = Vec::new();
        let mut room = MOST_BYTES;
        for &(address, length) in places {
            let fits = usize::try_from(length).is_ok_and(|length| length + OVERHEAD <= MOST_BYTES);
            // A part of no bytes is read as one of none.
            let length = if fits { length } else { 0 };
            let size = usize::try_from(length).unwrap_or(0) + OVERHEAD;
            if batch.len() == MOST_RANGES || size > room {
                found.append(&mut self.read(std::mem::take(&mut batch))?);
                room = MOST_BYTES;
            }
            room -= size;
            batch.push(Range { address, length });
        }
        if !batch.is_empty() {
            found.append(&mut self.read(batch)?);
        }
        Ok(found.into_iter().map(|part| part.filter(|bytes| !bytes.is_empty())).collect())
    }
}
