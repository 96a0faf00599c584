//! Memory that the host shares with us.

use std::ffi::c_void;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU8, Ordering};

use agent_wire::{HEAD_BYTES, RING_BYTES, SLOT_ROOM, slot_at};
use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The mapping, gone when it is dropped.
pub(crate) struct Shared(NonNull<u8>);

// SAFETY: it is memory of nobody else in this process, and not bound to a thread.
unsafe impl Send for Shared {}

impl Shared {
    /// Maps it. Refused if its size is not what it must be or could still change: memory that is cut off under a mapping ends
    /// the process that touches it.
    pub(crate) fn map(memory: &OwnedFd) -> Option<Shared> {
        let sealed =
            fcntl_get_seals(memory).ok()?.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL);
        let size = u64::try_from(fstat(memory).ok()?.st_size).ok()?;
        if !sealed || size != RING_BYTES as u64 {
            return None;
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the system's choice, of a file that has this size and keeps it.
        let mapped = unsafe { mmap(ptr::null_mut(), RING_BYTES, protection, flags, memory, 0) };
        NonNull::new(mapped.ok()?.cast()).map(Shared)
    }

    fn byte(&self, offset: usize) -> Option<&AtomicU8> {
        // SAFETY: it lies within the mapping, which lives as long as this; both sides read and write it as a byte alone.
        (offset < RING_BYTES).then(|| unsafe { AtomicU8::from_ptr(self.0.as_ptr().add(offset)) })
    }

    /// A byte that both sides use; what was written before it was set can be read after this.
    pub(crate) fn get(&self, offset: usize) -> u8 {
        self.byte(offset).map_or(0, |byte| byte.load(Ordering::Acquire))
    }

    /// Sets such a byte, after all that was written before.
    pub(crate) fn set(&self, offset: usize, value: u8) {
        if let Some(byte) = self.byte(offset) {
            byte.store(value, Ordering::Release);
        }
    }

    /// Room for the words of a slot that is ours at the moment.
    pub(crate) fn words(&mut self, slot: usize) -> &mut [u64] {
        // SAFETY: the slot lies within the mapping, aligned to pages, and so the words to eight bytes. Nobody else touches a
        // slot that its state says is ours, and who has this slice has borrowed all of it.
        unsafe {
            let first = self.0.as_ptr().add(slot_at(slot) + HEAD_BYTES).cast::<u64>();
            std::slice::from_raw_parts_mut(first, SLOT_ROOM / 8)
        }
    }

    /// Writes the head of a slot that is ours at the moment.
    pub(crate) fn set_head(&mut self, slot: usize, head: &[u8; HEAD_BYTES]) {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(head.as_ptr(), self.0.as_ptr().add(slot_at(slot)), HEAD_BYTES) };
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this size, and no slice of it is left.
        let _ = unsafe { munmap(self.0.as_ptr().cast::<c_void>(), RING_BYTES) };
    }
}
