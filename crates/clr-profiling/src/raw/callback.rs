//! The object that the runtime calls. A callback that becomes interesting gets a method in `Profiler`, a function here,
//! and its place in [`Instance::TABLE`].

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering, fence as barrier};

use super::fence::fence;
use super::info::Info;
use super::slots::{CALLBACKS, CallbackSlot, Function, IUNKNOWN, Slot};
use crate::{Entry, Event, EventRecord, Guid, HResult, Profiler};

/// The table of functions of our object.
type Table = [Function; CALLBACKS];

/// A profiler as the runtime holds it.
#[repr(C)]
pub(super) struct Instance<P> {
    table: &'static Table,
    references: AtomicU32,
    profiler: P,
}

// SAFETY of all functions below: the runtime calls them with our own object, which lives until its last reference is
// given back, and with pointers that are valid during the call, as its headers promise.

impl<P: Profiler> Instance<P> {
    const TABLE: &'static Table = &{
        let mut table: Table = [ignore as Function; CALLBACKS];
        table[CallbackSlot::QueryInterface as usize] = Self::query_interface as Function;
        table[CallbackSlot::AddRef as usize] = Self::add_ref as Function;
        table[CallbackSlot::Release as usize] = Self::release as Function;
        table[CallbackSlot::Initialize as usize] = Self::initialize as Function;
        table[CallbackSlot::Shutdown as usize] = Self::shutdown as Function;
        table[CallbackSlot::InitializeForAttach as usize] = Self::initialize_for_attach as Function;
        table[CallbackSlot::ProfilerAttachComplete as usize] = Self::attach_complete as Function;
        table[CallbackSlot::ProfilerDetachSucceeded as usize] = Self::detach_succeeded as Function;
        table[CallbackSlot::ExceptionThrown as usize] = Self::exception as Function;
        table[CallbackSlot::JITCompilationStarted as usize] = Self::compilation as Function;
        table[CallbackSlot::GarbageCollectionStarted as usize] = Self::collection as Function;
        table[CallbackSlot::ThreadCreated as usize] = Self::thread as Function;
        table[CallbackSlot::RuntimeSuspendStarted as usize] = Self::suspending as Function;
        table[CallbackSlot::EventPipeEventDelivered as usize] = Self::event as Function;
        table[CallbackSlot::LoadAsNotificationOnly as usize] = Self::load_as_notification_only as Function;
        table
    };

    /// A new object with one reference, which whoever gets it gives back.
    pub(super) fn create(profiler: P) -> *mut c_void {
        let instance = Instance { table: Self::TABLE, references: AtomicU32::new(1), profiler };
        Box::into_raw(Box::new(instance)).cast()
    }

    /// # Safety
    /// As above.
    pub(super) unsafe extern "system" fn query_interface(
        this: *mut c_void,
        id: *const Guid,
        found: *mut *mut c_void,
    ) -> HResult {
        if id.is_null() || found.is_null() {
            return HResult::E_POINTER;
        }
        // SAFETY: see above.
        let id = unsafe { *id };
        let known = id == IUNKNOWN || CallbackSlot::VERSIONS.iter().any(|version| version.id == id);
        // SAFETY: see above; versions extend each other, so one table serves all of them.
        unsafe {
            if !known {
                *found = std::ptr::null_mut();
                return HResult::E_NOINTERFACE;
            }
            Self::add_ref(this);
            *found = this;
        }
        HResult::S_OK
    }

    unsafe extern "system" fn add_ref(this: *mut c_void) -> u32 {
        // SAFETY: see above.
        let instance = unsafe { &*this.cast::<Self>() };
        instance.references.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// # Safety
    /// As above.
    pub(super) unsafe extern "system" fn release(this: *mut c_void) -> u32 {
        // SAFETY: see above.
        let before = unsafe { &*this.cast::<Self>() }.references.fetch_sub(1, Ordering::Release);
        if before == 1 {
            barrier(Ordering::Acquire);
            let body = || {
                // SAFETY: made by `Box::into_raw`, and that was the last reference.
                drop(unsafe { Box::from_raw(this.cast::<Self>()) });
                HResult::S_OK
            };
            let _ = fence(body, || ());
        }
        before.wrapping_sub(1)
    }

    /// Runs one callback behind the fence.
    unsafe fn enter(
        this: *mut c_void,
        entry: Entry,
        body: impl FnOnce(&P) -> Result<(), HResult>,
    ) -> HResult {
        // SAFETY: see above.
        let profiler = &unsafe { &*this.cast::<Self>() }.profiler;
        fence(|| HResult::of(body(profiler)), || profiler.panicked(entry))
    }

    unsafe extern "system" fn initialize(this: *mut c_void, info: *mut c_void) -> HResult {
        // SAFETY: see above.
        let body = |profiler: &P| profiler.initialize(unsafe { Info::query(info) }?);
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Initialize, body) }
    }

    unsafe extern "system" fn initialize_for_attach(
        this: *mut c_void,
        info: *mut c_void,
        data: *const u8,
        length: u32,
    ) -> HResult {
        let body = |profiler: &P| {
            // SAFETY: see above.
            let info = unsafe { Info::query(info) }?;
            let length = usize::try_from(length).unwrap_or(0);
            let data = match data.is_null() {
                true => &[][..],
                // SAFETY: see above.
                false => unsafe { std::slice::from_raw_parts(data, length) },
            };
            profiler.initialize_for_attach(info, data)
        };
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Initialize, body) }
    }

    unsafe extern "system" fn attach_complete(this: *mut c_void) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::AttachComplete, P::attach_complete) }
    }

    unsafe extern "system" fn detach_succeeded(this: *mut c_void) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::DetachSucceeded, P::detach_succeeded) }
    }

    unsafe extern "system" fn shutdown(this: *mut c_void) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Shutdown, P::shutdown) }
    }

    unsafe extern "system" fn suspending(this: *mut c_void, _reason: u32) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Suspending, P::suspending) }
    }

    unsafe extern "system" fn exception(this: *mut c_void, _object: usize) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Told, |profiler| profiler.told(Event::Exception)) }
    }

    unsafe extern "system" fn compilation(this: *mut c_void, _function: usize, _blockable: i32) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Told, |profiler| profiler.told(Event::Compilation)) }
    }

    unsafe extern "system" fn collection(
        this: *mut c_void,
        _generations: i32,
        _collected: *const i32,
        _reason: u32,
    ) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Told, |profiler| profiler.told(Event::Collection)) }
    }

    unsafe extern "system" fn thread(this: *mut c_void, _thread: usize) -> HResult {
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Told, |profiler| profiler.told(Event::Thread)) }
    }

    unsafe extern "system" fn event(
        this: *mut c_void,
        _provider: usize,
        id: u32,
        version: u32,
        _metadata_length: u32,
        _metadata: *const u8,
        length: u32,
        payload: *const u8,
        _activity: *const Guid,
        _related: *const Guid,
        _thread: usize,
        _frame_count: u32,
        _frames: *const usize,
    ) -> HResult {
        let body = |profiler: &P| {
            let length = usize::try_from(length).unwrap_or(0);
            let payload = match payload.is_null() {
                true => &[][..],
                // SAFETY: see above.
                false => unsafe { std::slice::from_raw_parts(payload, length) },
            };
            profiler.event(EventRecord { id, version, payload })
        };
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::Told, body) }
    }

    unsafe extern "system" fn load_as_notification_only(this: *mut c_void, answer: *mut i32) -> HResult {
        let body = |profiler: &P| {
            if answer.is_null() {
                return Err(HResult::E_POINTER);
            }
            let wanted = profiler.notification_only();
            // SAFETY: see above.
            unsafe { *answer = i32::from(wanted) };
            Ok(())
        };
        // SAFETY: see above.
        unsafe { Self::enter(this, Entry::NotificationOnly, body) }
    }
}

/// Stands in for every callback that we do not care about.
unsafe extern "system" fn ignore(_this: *mut c_void) -> HResult {
    HResult::S_OK
}
