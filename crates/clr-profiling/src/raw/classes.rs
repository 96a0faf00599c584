//! Types and objects of a suspended runtime: what they are, and who refers to whom.
//!
//! All of these take ids that the runtime itself gave during the same suspension, or the type of an object that lives.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::com::call;
use super::slots::InfoSlot;
use super::suspended::{Suspended, Walk};
use crate::{AppDomainId, ClassId, HResult, ModuleId, ObjectId, ThreadId, Token};

/// Where a type comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassInfo {
    /// Its module.
    pub module: ModuleId,
    /// Its row in the module's metadata.
    pub token: Token,
    /// What it extends; 0 for none.
    pub parent: ClassId,
}

/// Where a field lies in the objects of its type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct FieldOffset {
    /// Its row in the module's metadata.
    pub token: Token,
    /// Bytes from the start of the object.
    pub offset: u32,
}

impl Suspended<'_> {
    /// The application domain of a thread.
    pub fn app_domain(&self, thread: ThreadId) -> Result<AppDomainId, HResult> {
        let mut found = AppDomainId(0);
        // SAFETY: the pointer is to a live local. The runtime is suspended, so the thread lives.
        unsafe {
            call!(self.info.reference, InfoSlot::GetThreadAppDomain(
                thread => ThreadId,
                &raw mut found => *mut AppDomainId,
            ))?;
        }
        Ok(found)
    }

    /// Where a type comes from; [`HResult::E_CLASSID_IS_ARRAY`] for arrays, which come from nowhere.
    pub fn class(&self, class: ClassId) -> Result<ClassInfo, HResult> {
        let mut found = ClassInfo::default();
        // SAFETY: the pointers are to live fields; no generic arguments are asked for, so their pointers may be null.
        unsafe {
            call!(self.info.reference, InfoSlot::GetClassIDInfo2(
                class => ClassId,
                &raw mut found.module => *mut ModuleId,
                &raw mut found.token => *mut Token,
                &raw mut found.parent => *mut ClassId,
                0 => u32,
                ptr::null_mut() => *mut u32,
                ptr::null_mut() => *mut ClassId,
            ))?;
        }
        Ok(found)
    }

    /// Where the fields lie that a type adds to those of its parent. Fills `room` and returns how many there are in it; a
    /// type with more is an error.
    pub fn layout(&self, class: ClassId, room: &mut [FieldOffset]) -> Result<usize, HResult> {
        let (mut count, mut size) = (0u32, 0u32);
        let places = u32::try_from(room.len()).unwrap_or(u32::MAX);
        // SAFETY: the pointers are to live locals, and there is room for as many fields as we say.
        unsafe {
            call!(self.info.reference, InfoSlot::GetClassLayout(
                class => ClassId,
                room.as_mut_ptr() => *mut FieldOffset,
                places => u32,
                &raw mut count => *mut u32,
                &raw mut size => *mut u32,
            ))?;
        }
        Ok(usize::try_from(count).unwrap_or(0).min(room.len()))
    }

    /// Where a static field of a loaded type has its value.
    pub fn static_field(&self, class: ClassId, field: Token, domain: AppDomainId) -> Result<usize, HResult> {
        let mut found = ptr::null_mut::<c_void>();
        // SAFETY: the pointer is to a live local.
        unsafe {
            call!(self.info.reference, InfoSlot::GetAppDomainStaticAddress(
                class => ClassId,
                field => Token,
                domain => AppDomainId,
                &raw mut found => *mut *mut c_void,
            ))?;
        }
        Ok(found.addr())
    }

    /// Shows every reference of every object on the heap (9 and newer): the object, where in it the reference stands, and
    /// what it refers to. The runtime stands still all the while, about 25 ms for each million of objects.
    pub fn references(
        &self,
        mut visit: impl FnMut(ObjectId, usize, ObjectId) -> Walk,
    ) -> Result<(), HResult> {
        let mut state = Visitor { suspended: self, visit: &mut visit, over: false, panicked: false };
        // SAFETY: `on_object` has the form that is asked for, and the state lives until the call returns.
        let outcome = unsafe {
            call!(self.info.reference, InfoSlot::EnumerateGCHeapObjects(
                on_object as *const c_void => *const c_void,
                (&raw mut state).cast::<c_void>() => *mut c_void,
            ))
        };
        if state.panicked { Err(HResult::E_UNEXPECTED) } else { outcome }
    }
}

struct Visitor<'a> {
    suspended: &'a Suspended<'a>,
    visit: &'a mut dyn FnMut(ObjectId, usize, ObjectId) -> Walk,
    over: bool,
    panicked: bool,
}

/// `ObjectCallback` of `corprof.idl`: goes on while it is 1.
unsafe extern "system" fn on_object(object: ObjectId, data: *mut c_void) -> i32 {
    // SAFETY: it is what `Suspended::references` gave; nobody else uses it meanwhile.
    let suspended = unsafe { (*data.cast::<Visitor<'_>>()).suspended };
    // An object without references is no error, and an error of one object is no reason to miss the others.
    // SAFETY: the object is what the runtime has just named, and `on_reference` has the form that is asked for.
    let _ = unsafe {
        call!(suspended.info.reference, InfoSlot::EnumerateObjectReferences(
            object => ObjectId,
            on_reference as *const c_void => *const c_void,
            data => *mut c_void,
        ))
    };
    // SAFETY: as above.
    i32::from(unsafe { !(*data.cast::<Visitor<'_>>()).over })
}

/// `ObjectReferenceCallback` of `corprof.idl`: goes on while it is 1.
unsafe extern "system" fn on_reference(object: ObjectId, place: *const ObjectId, data: *mut c_void) -> i32 {
    // SAFETY: it is what `Suspended::references` gave; nobody else uses it meanwhile.
    let visitor = unsafe { &mut *data.cast::<Visitor<'_>>() };
    // SAFETY: the runtime shows a place in an object that lives, and no managed code runs that could change it.
    let target = unsafe { place.read() };
    let offset = place.addr().wrapping_sub(object.0);
    let visit = AssertUnwindSafe(|| (visitor.visit)(object, offset, target));
    match catch_unwind(visit) {
        Ok(Walk::On) => 1,
        Ok(Walk::Enough) => {
            visitor.over = true;
            0
        }
        Err(payload) => {
            std::mem::forget(payload);
            (visitor.over, visitor.panicked) = (true, true);
            0
        }
    }
}
