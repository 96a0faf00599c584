//! Our own memory, read by way of the kernel: an address that leads nowhere is an error and no crash.

use std::fs::File;
use std::os::unix::fs::FileExt;

use agent_wire::Stage;
use clr_profiling::HResult;

use crate::answers::Refusal;

/// Bits of an object's first word that are no part of its type's address.
const MARKS: u64 = 7;

pub(super) struct OwnMemory(File);

impl OwnMemory {
    pub(super) fn open() -> Result<OwnMemory, Refusal> {
        let refused = |_| Refusal { stage: Stage::Heap, code: HResult::E_FAIL };
        File::open("/proc/self/mem").map(OwnMemory).map_err(refused)
    }

    /// Fills `room` whole, or says that it cannot.
    pub(super) fn read(&self, address: u64, room: &mut [u8]) -> Option<()> {
        self.0.read_exact_at(room, address).ok()
    }

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The type of what may be an object.
    pub(super) fn class(&self, object: u64) -> Option<u64> {
        self.word(object).map(|word| word & !MARKS)
    }
}
