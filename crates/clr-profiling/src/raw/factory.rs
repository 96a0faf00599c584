//! The class factory: how the runtime gets its first object from a library.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence as barrier};

use super::callback::Instance;
use super::fence::fence;
use super::slots::{ICLASS_FACTORY, IUNKNOWN};
use crate::{Guid, HResult, Profiler};

/// The table of functions of a factory.
#[repr(C)]
struct Table {
    query_interface: unsafe extern "system" fn(*mut c_void, *const Guid, *mut *mut c_void) -> HResult,
    add_ref: unsafe extern "system" fn(*mut c_void) -> u32,
    release: unsafe extern "system" fn(*mut c_void) -> u32,
    create_instance:
        unsafe extern "system" fn(*mut c_void, *mut c_void, *const Guid, *mut *mut c_void) -> HResult,
    lock_server: unsafe extern "system" fn(*mut c_void, i32) -> HResult,
}

const _: () = assert!(size_of::<Table>() == 5 * size_of::<usize>());

/// A factory of profilers of one class.
#[repr(C)]
struct Factory<P> {
    table: &'static Table,
    references: AtomicU32,
    class: Guid,
    makes: PhantomData<fn() -> P>,
}

/// The body of a library's `DllGetClassObject`.
///
/// # Safety
/// To be called by the runtime only: `class` and `id` point to ids, `found` to room for a pointer.
pub unsafe fn get_class_object<P: Profiler>(
    class: *const Guid,
    id: *const Guid,
    found: *mut *mut c_void,
) -> HResult {
    let body = || {
        if class.is_null() || id.is_null() || found.is_null() {
            return HResult::E_POINTER;
        }
        // SAFETY: the caller's promise.
        unsafe {
            *found = ptr::null_mut();
            if !P::has(*class) {
                return HResult::CLASS_E_CLASSNOTAVAILABLE;
            }
            let factory = Factory::<P> {
                table: Factory::<P>::TABLE,
                references: AtomicU32::new(1),
                class: *class,
                makes: PhantomData,
            };
            let this = Box::into_raw(Box::new(factory)).cast();
            let code = Factory::<P>::query_interface(this, id, found);
            // The answer holds a reference of its own; without one the factory ends here.
            Factory::<P>::release(this);
            code
        }
    };
    fence(body, || ())
}

// SAFETY of all functions below: the runtime calls them with our own object, which lives until its last reference is
// given back, and with pointers that are valid during the call.

impl<P: Profiler> Factory<P> {
    const TABLE: &'static Table = &Table {
        query_interface: Self::query_interface,
        add_ref: Self::add_ref,
        release: Self::release,
        create_instance: Self::create_instance,
        lock_server: Self::lock_server,
    };

    unsafe extern "system" fn query_interface(
        this: *mut c_void,
        id: *const Guid,
        found: *mut *mut c_void,
    ) -> HResult {
        if id.is_null() || found.is_null() {
            return HResult::E_POINTER;
        }
        // SAFETY: see above.
        unsafe {
            if *id != IUNKNOWN && *id != ICLASS_FACTORY {
                *found = ptr::null_mut();
                return HResult::E_NOINTERFACE;
            }
            Self::add_ref(this);
            *found = this;
        }
        HResult::S_OK
    }

    unsafe extern "system" fn add_ref(this: *mut c_void) -> u32 {
        // SAFETY: see above.
        let factory = unsafe { &*this.cast::<Self>() };
        factory.references.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    unsafe extern "system" fn release(this: *mut c_void) -> u32 {
        // SAFETY: see above.
        let before = unsafe { &*this.cast::<Self>() }.references.fetch_sub(1, Ordering::Release);
        if before == 1 {
            barrier(Ordering::Acquire);
            // SAFETY: made by `Box::into_raw`, and that was the last reference. Nothing in it can panic.
            drop(unsafe { Box::from_raw(this.cast::<Self>()) });
        }
        before.wrapping_sub(1)
    }

    unsafe extern "system" fn create_instance(
        this: *mut c_void,
        outer: *mut c_void,
        id: *const Guid,
        found: *mut *mut c_void,
    ) -> HResult {
        let body = || {
            if found.is_null() {
                return HResult::E_POINTER;
            }
            // SAFETY: see above.
            unsafe { *found = ptr::null_mut() };
            if !outer.is_null() {
                return HResult::CLASS_E_NOAGGREGATION;
            }
            // SAFETY: see above.
            let class = unsafe { &*this.cast::<Self>() }.class;
            let Some(profiler) = P::create(class) else { return HResult::CLASS_E_CLASSNOTAVAILABLE };
            let made = Instance::create(profiler);
            // SAFETY: see above; the answer holds a reference of its own.
            unsafe {
                let code = Instance::<P>::query_interface(made, id, found);
                Instance::<P>::release(made);
                code
            }
        };
        fence(body, || ())
    }

    unsafe extern "system" fn lock_server(_this: *mut c_void, _lock: i32) -> HResult {
        HResult::S_OK
    }
}
