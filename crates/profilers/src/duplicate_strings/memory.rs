//! The target's memory: read from outside where this user may, else by an agent.

use std::fs::File;
use std::os::unix::fs::FileExt;

use agent_host::AgentError;
use model::ProcessId;

use crate::inside::Guest;

/// Reads parts of a process's memory. The process runs on meanwhile.
pub(super) trait Memory {
    /// The longest part that is read at once.
    fn longest(&self) -> usize;

    /// Fills the buffer; false if not all of it can be read.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;
}

/// From outside.
pub(super) struct Outside(File);

impl Outside {
    /// None if this user may not.
    pub(super) fn open(pid: ProcessId) -> Option<Outside> {
        let file = File::open(format!("/proc/{pid}/mem")).ok()?;
        Some(Outside(file))
    }
}

impl Memory for Outside {
    fn longest(&self) -> usize {
        1 << 20
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        self.0.read_exact_at(into, address).is_ok()
    }
}

/// By an agent in the process.
pub(super) struct Inside<'a, 'b> {
    pub(super) guest: &'a mut Guest<'b>,
    /// Why it answers no more.
    pub(super) failed: Option<AgentError>,
}

impl Memory for Inside<'_, '_> {
    fn longest(&self) -> usize {
        // One message.
        48 << 10
    }

    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        if self.failed.is_some() {
            return false;
        }
        let Ok(length) = u32::try_from(into.len()) else { return false };
        match self.guest.ask_running(|agent| agent.memory(&[(address, length)])) {
            Ok(mut parts) => match parts.pop().flatten() {
                Some(bytes) if bytes.len() == into.len() => {
                    into.copy_from_slice(&bytes);
                    true
                }
                _ => false,
            },
            Err(error) => {
                self.failed = Some(error);
                false
            }
        }
    }
}
