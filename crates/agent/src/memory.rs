//! Memory of this process whose address is a guess: a wrong one is an error, not a crash.

use agent_wire::{FromAgent, Pause, Range};

use crate::line::Silence;
use crate::sys::read_memory;

/// Eight bytes.
pub(crate) fn word(address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    read_memory(address, &mut bytes).then_some(u64::from_le_bytes(bytes))
}

/// So many words in a row.
pub(crate) fn words<const N: usize>(address: u64) -> Option<[u64; N]> {
    let mut bytes = [[0; 8]; N];
    read_memory(address, bytes.as_flattened_mut()).then_some(bytes.map(u64::from_le_bytes))
}

/// What was asked for, in one message.
pub(crate) fn tell(
    ranges: &[Range],
    mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
) -> Result<(), Silence> {
    let part = |range: &Range| {
        let mut bytes = vec![0; usize::try_from(range.length).ok()?];
        read_memory(range.address, &mut bytes).then_some(bytes)
    };
    say(FromAgent::Memory(ranges.iter().map(part).collect()))?;
    say(FromAgent::Answered { left_out: 0, pause: Pause::default() })
}
