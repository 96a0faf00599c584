//! What the library exports, and where its memory comes from.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr;
use std::sync::Once;

use clr_profiling::{Guid, HResult, get_class_object};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use crate::agent::Agent;

pub(crate) mod shared;

/// What is at least this large comes straight from the operating system.
const LARGE: usize = 64 * 1024;

#[global_allocator]
static MEMORY: Memory = Memory;

/// Small pieces come from the C library's allocator, which is the target's too; large ones are mappings of their own. To
/// give a large piece back to that allocator makes it hold more back from then on, for the whole process (`malloc(3)`,
/// M_MMAP_THRESHOLD, which moves by itself). A mapping is gone when it is given back.
struct Memory;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= 4096
}

fn map(size: usize) -> *mut u8 {
    let (protection, flags) = (ProtFlags::READ.union(ProtFlags::WRITE), MapFlags::PRIVATE);
    // SAFETY: a new mapping at an address of the system's choice.
    let mapped = unsafe { mmap_anonymous(ptr::null_mut(), size, protection, flags) };
    mapped.map_or(ptr::null_mut(), <*mut c_void>::cast)
}

// SAFETY: mappings are as large as asked for, aligned to pages, zeroed, and nobody else's; whether a piece is one depends
// on its layout alone, which is the same when it is given back.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_large(layout) {
            true => map(layout.size()),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_large(layout) {
            true => map(layout.size()),
            // SAFETY: the caller's promise.
            false => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise: it was made here, with this layout, and is not used any more.
        unsafe {
            match is_large(layout) {
                true => drop(munmap(piece.cast(), layout.size())),
                false => System.dealloc(piece, layout),
            }
        }
    }

    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise: the size is one that a layout can have.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller's promise; both pieces are at least as large as what is copied, and not the same.
        unsafe {
            if !is_large(layout) && !is_large(wanted) {
                return System.realloc(piece, layout, size);
            }
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(piece, moved, layout.size().min(size));
                self.dealloc(piece, layout);
            }
            moved
        }
    }
}

static FIRST: Once = Once::new();

/// How the runtime asks for a profiler.
///
/// # Safety
/// To be called by the runtime: `class` and `interface` point to ids, `found` to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn DllGetClassObject(
    class: *const Guid,
    interface: *const Guid,
    found: *mut *mut c_void,
) -> HResult {
    // The standard library of this library is its own, so this concerns our panics alone: they are nobody's output.
    FIRST.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    // SAFETY: the caller's promise.
    unsafe { get_class_object::<Agent>(class, interface, found) }
}

/// Fills the buffer from an address of this process; false if not all of it is there. Never a crash: the kernel copies.
pub(crate) fn read_memory(address: u64, into: &mut [u8]) -> bool {
    let Ok(address) = usize::try_from(address) else { return false };
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: into.len() };
    // SAFETY: the kernel writes at most `into.len()` bytes to where we may be written; it checks the other address itself.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(read) == Ok(into.len())
}

/// Words that are read at once.
pub(crate) const AT_ONCE: usize = 256;

/// Reads a word from each of these addresses of this process; those that cannot be read are 0. At most [`AT_ONCE`]; one
/// question to the kernel, if all can be read.
pub(crate) fn read_words(addresses: &[u64], into: &mut [u64; AT_ONCE]) {
    const WORD: usize = size_of::<u64>();
    into.fill(0);
    let nowhere = libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 };
    let mut there = [nowhere; AT_ONCE];
    let count = addresses.len().min(AT_ONCE);
    for (place, address) in there.iter_mut().zip(addresses) {
        let address = usize::try_from(*address).unwrap_or(0);
        *place = libc::iovec { iov_base: ptr::without_provenance_mut(address), iov_len: WORD };
    }
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: count * WORD };
    // SAFETY: the kernel writes at most `count` words to where we may be written, reads the addresses from `there`, which has
    // as many, and checks each of them itself.
    let read = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const here, 1, there.as_ptr(), count as libc::c_ulong, 0)
    };
    // It stops at the first that it cannot read. The others follow one by one.
    let whole = usize::try_from(read).unwrap_or(0) / WORD;
    for (word, address) in into.iter_mut().zip(addresses).skip(whole) {
        let mut bytes = [0; WORD];
        *word = if read_memory(*address, &mut bytes) { u64::from_ne_bytes(bytes) } else { 0 };
    }
}
