//! References to objects of the runtime's, and calls through their tables.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use super::slots::{Function, Slot};
use crate::{Guid, HResult};

/// An object as COM lays it out: first of all comes the address of its table.
#[repr(C)]
pub(super) struct Object {
    table: *const Function,
}

/// One reference to an object, given back on drop.
pub(super) struct Reference<S: Slot> {
    object: NonNull<Object>,
    /// Index of the version that the object answered to.
    version: usize,
    slots: PhantomData<S>,
}

impl<S: Slot> Reference<S> {
    /// Asks an object for the newest version that it has.
    ///
    /// # Safety
    /// `unknown` is null or a live COM object.
    pub(super) unsafe fn query(unknown: *mut c_void) -> Result<Self, HResult> {
        let unknown = NonNull::new(unknown.cast::<Object>()).ok_or(HResult::E_POINTER)?;
        for (version, described) in S::VERSIONS.iter().enumerate().rev() {
            let mut found = ptr::null_mut();
            // SAFETY: the object is live, and every table begins with `QueryInterface` of this form.
            let code = unsafe {
                let address = unknown.as_ref().table.read();
                let query: unsafe extern "system" fn(*mut c_void, *const Guid, *mut *mut c_void) -> HResult =
                    std::mem::transmute(address);
                query(unknown.as_ptr().cast(), &raw const described.id, &raw mut found)
            };
            if code.is_success()
                && let Some(object) = NonNull::new(found.cast())
            {
                return Ok(Reference { object, version, slots: PhantomData });
            }
        }
        Err(HResult::E_NOINTERFACE)
    }

    /// Takes over a reference that a call returned.
    ///
    /// # Safety
    /// `object` is null or a reference to this version (an index) of the interface, which nobody else gives back.
    pub(super) unsafe fn own(object: *mut c_void, version: usize) -> Result<Self, HResult> {
        let object = NonNull::new(object.cast()).ok_or(HResult::E_POINTER)?;
        Ok(Reference { object, version, slots: PhantomData })
    }

    /// The version that it is, counted from 1.
    pub(super) fn version(&self) -> usize {
        self.version + 1
    }

    /// The object, for a call.
    pub(super) fn this(&self) -> *mut c_void {
        self.object.as_ptr().cast()
    }

    /// The address of a function; an error if this version does not have it.
    pub(super) fn function(&self, slot: S) -> Result<Function, HResult> {
        let size = S::VERSIONS.get(self.version).map_or(0, |version| version.size);
        if slot.index() >= size {
            return Err(HResult::E_NOINTERFACE);
        }
        // SAFETY: the object is live as long as we hold a reference, and its table has `size` functions.
        Ok(unsafe { self.object.as_ref().table.add(slot.index()).read() })
    }
}

impl<S: Slot> Drop for Reference<S> {
    fn drop(&mut self) {
        /// Index of `Release`, in every table.
        const RELEASE: usize = 2;
        // SAFETY: the object is live: this gives back the reference that kept it so.
        unsafe {
            let address = self.object.as_ref().table.add(RELEASE).read();
            let release: unsafe extern "system" fn(*mut c_void) -> u32 = std::mem::transmute(address);
            release(self.this());
        }
    }
}

/// Calls a function of an interface: `call!(reference, Slot::Name(value: Type, ...))` is a `Result<(), HResult>`. The
/// types are those of the runtime's header. An unsafe expression: who writes it answers for types and values.
macro_rules! call {
    ($reference:expr, $slots:ident :: $slot:ident ( $($value:expr => $type:ty),* $(,)? )) => {
        match $reference.function($slots::$slot) {
            Ok(address) => {
                let function: unsafe extern "system" fn(*mut std::ffi::c_void $(, $type)*) -> $crate::HResult =
                    std::mem::transmute(address);
                function($reference.this() $(, $value)*).ok()
            }
            Err(missing) => Err(missing),
        }
    };
}
pub(super) use call;

/// Text that the runtime wrote into a buffer; `written` counts its final NUL.
pub(super) fn text(buffer: &[u16], written: u32) -> String {
    let written = usize::try_from(written).unwrap_or(usize::MAX).min(buffer.len());
    let text = buffer.get(..written).unwrap_or_default();
    let end = text.iter().position(|&unit| unit == 0).unwrap_or(text.len());
    String::from_utf16_lossy(text.get(..end).unwrap_or_default())
}
