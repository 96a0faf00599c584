//! The border, called as the runtime calls it. That the runtime agrees is tested on real processes, by `agent-host`.

use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::com::{Reference, call};
use super::slots::{CallbackSlot, Function, ICLASS_FACTORY, IUNKNOWN, InfoSlot, MetadataSlot, Slot};
use crate::{Entry, EventMask, Guid, HResult, Info, Profiler, ThreadId, get_class_object};

const GOOD: Guid = Guid::new(1);
const PANICS: Guid = Guid::new(2);
const PANICS_WHEN_MADE: Guid = Guid::new(3);

/// Profilers that exist. A test that looks at it must be alone.
static ALIVE: AtomicU32 = AtomicU32::new(0);
static ALONE: Mutex<()> = Mutex::new(());

struct Probe {
    panics: bool,
    info: Mutex<Option<Info>>,
    panicked: AtomicU32,
}

impl Profiler for Probe {
    fn has(class: Guid) -> bool {
        class != Guid::new(9)
    }

    fn create(class: Guid) -> Option<Self> {
        assert_ne!(class, PANICS_WHEN_MADE);
        let known = class == GOOD || class == PANICS;
        known.then(|| {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Probe { panics: class == PANICS, info: Mutex::new(None), panicked: AtomicU32::new(0) }
        })
    }

    fn initialize_for_attach(&self, info: Info, data: &[u8]) -> Result<(), HResult> {
        assert!(!self.panics, "wanted");
        assert_eq!(data, b"data");
        assert_eq!(info.version(), 3);
        *self.info.lock().unwrap() = Some(info);
        Ok(())
    }

    fn panicked(&self, entry: Entry) {
        assert_eq!(entry, Entry::Initialize);
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An object with the third version of the runtime's interface, which counts its references.
#[repr(C)]
struct Counted {
    table: *const Function,
    references: AtomicU32,
}

unsafe extern "system" fn query(this: *mut c_void, id: *const Guid, found: *mut *mut c_void) -> HResult {
    // SAFETY: called by the code under test with what the test made.
    unsafe {
        if InfoSlot::VERSIONS[..3].iter().all(|version| version.id != *id) {
            return HResult::E_NOINTERFACE;
        }
        (*this.cast::<Counted>()).references.fetch_add(1, Ordering::Relaxed);
        *found = this;
    }
    HResult::S_OK
}

unsafe extern "system" fn give_back(this: *mut c_void) -> u32 {
    // SAFETY: as above.
    unsafe { (*this.cast::<Counted>()).references.fetch_sub(1, Ordering::Relaxed) - 1 }
}

fn counted_table() -> [Function; 3] {
    [query as Function, ptr::null(), give_back as Function]
}

/// The factory's `CreateInstance`, through its table, and the factory given back.
fn create(class: Guid) -> Result<Reference<CallbackSlot>, HResult> {
    let mut factory = ptr::null_mut();
    // SAFETY: what the runtime does: the ids and the room are live locals.
    unsafe {
        get_class_object::<Probe>(&raw const class, &ICLASS_FACTORY, &raw mut factory).ok()?;
        let table = *factory.cast::<*const Function>();
        let make: unsafe extern "system" fn(
            *mut c_void,
            *mut c_void,
            *const Guid,
            *mut *mut c_void,
        ) -> HResult = std::mem::transmute(table.add(3).read());
        let release: unsafe extern "system" fn(*mut c_void) -> u32 = std::mem::transmute(table.add(2).read());
        let mut made = ptr::null_mut();
        let code = make(factory, ptr::null_mut(), &IUNKNOWN, &raw mut made);
        assert_eq!(release(factory), 0);
        code.ok()?;
        let found = Reference::query(made);
        let release: unsafe extern "system" fn(*mut c_void) -> u32 =
            std::mem::transmute((*made.cast::<*const Function>()).add(2).read());
        assert_eq!(release(made), 1);
        found
    }
}

fn initialize(profiler: &Reference<CallbackSlot>, unknown: *mut c_void) -> Result<(), HResult> {
    // SAFETY: what the runtime does.
    unsafe {
        call!(profiler, CallbackSlot::InitializeForAttach(
            unknown => *mut c_void,
            b"data".as_ptr() => *const u8,
            4 => u32,
        ))
    }
}

#[test]
fn a_profiler_lives_until_its_last_reference_and_gives_back_its_own() {
    let _alone = ALONE.lock().unwrap();
    let table = counted_table();
    let mut runtime = Counted { table: table.as_ptr(), references: AtomicU32::new(1) };
    let unknown = (&raw mut runtime).cast();
    let profiler = create(GOOD).unwrap();
    assert_eq!((profiler.version(), ALIVE.load(Ordering::Relaxed)), (11, 1));
    assert_eq!(initialize(&profiler, unknown), Ok(()));
    assert_eq!(runtime.references.load(Ordering::Relaxed), 2);
    drop(profiler);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    assert_eq!(runtime.references.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panic_becomes_a_code_and_nothing_leaks() {
    let _alone = ALONE.lock().unwrap();
    let table = counted_table();
    let mut runtime = Counted { table: table.as_ptr(), references: AtomicU32::new(1) };
    let profiler = create(PANICS).unwrap();
    assert_eq!(initialize(&profiler, (&raw mut runtime).cast()), Err(HResult::E_UNEXPECTED));
    assert_eq!(runtime.references.load(Ordering::Relaxed), 1);
    drop(profiler);
    assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    assert_eq!(create(PANICS_WHEN_MADE).err(), Some(HResult::E_UNEXPECTED));
}

#[test]
fn unknown_classes_interfaces_and_null_are_refused() {
    let _alone = ALONE.lock().unwrap();
    assert_eq!(create(Guid::new(9)).err(), Some(HResult::CLASS_E_CLASSNOTAVAILABLE));
    let mut found = ptr::null_mut();
    // SAFETY: what a confused runtime might do.
    unsafe {
        let other = Guid::new(77);
        let code = get_class_object::<Probe>(&GOOD, &raw const other, &raw mut found);
        assert_eq!((code, found), (HResult::E_NOINTERFACE, ptr::null_mut()));
        let code = get_class_object::<Probe>(ptr::null(), &raw const other, &raw mut found);
        assert_eq!(code, HResult::E_POINTER);
        assert!(Reference::<InfoSlot>::query(ptr::null_mut()).is_err());
        let profiler = create(GOOD).unwrap();
        assert_eq!(Reference::<MetadataSlot>::query(profiler.this()).err(), Some(HResult::E_NOINTERFACE));
        assert_eq!(initialize(&profiler, ptr::null_mut()), Err(HResult::E_POINTER));
    }
}

#[test]
fn a_callback_of_no_interest_succeeds_whatever_its_arguments() {
    let _alone = ALONE.lock().unwrap();
    let profiler = create(GOOD).unwrap();
    // SAFETY: the stand-in looks at none of these.
    unsafe {
        let call = call!(profiler, CallbackSlot::EventPipeEventDelivered(
            1 => usize, 2 => u32, 3 => u32, 4 => u32, ptr::null() => *const u8, 5 => u32, ptr::null() => *const u8,
            ptr::null() => *const Guid, ptr::null() => *const Guid, 6 => usize, 7 => u32, ptr::null() => *const usize,
        ));
        assert_eq!(call, Ok(()));
        let mut answer = 7;
        let asked = call!(profiler, CallbackSlot::LoadAsNotificationOnly(&raw mut answer => *mut i32));
        assert_eq!((asked, answer), (Ok(()), 1));
    }
}

#[test]
fn a_function_that_an_old_runtime_lacks_is_an_error() {
    let table = counted_table();
    let mut runtime = Counted { table: table.as_ptr(), references: AtomicU32::new(1) };
    // SAFETY: it is a live object with the third version, whose functions beyond the first three are not called.
    let info = unsafe { Info::query((&raw mut runtime).cast()) }.unwrap();
    assert_eq!(info.set_event_mask(EventMask::STACK_SNAPSHOT), Err(HResult::E_NOINTERFACE));
    assert_eq!(info.threads(&mut [ThreadId(0); 4]), Err(HResult::E_NOINTERFACE));
    drop(info);
    assert_eq!(runtime.references.load(Ordering::Relaxed), 1);
}
