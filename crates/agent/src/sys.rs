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
