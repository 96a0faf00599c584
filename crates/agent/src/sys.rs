//! What the library exports.

use std::ffi::c_void;
use std::sync::Once;

use clr_profiling::{Guid, HResult, get_class_object};

use crate::agent::Agent;

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
