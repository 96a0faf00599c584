//! What the library exports.

use std::ffi::c_void;

use clr_profiling::{Guid, HResult, get_class_object};

use crate::Foreign;

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
    // SAFETY: the caller's promise.
    unsafe { get_class_object::<Foreign>(class, interface, found) }
}
