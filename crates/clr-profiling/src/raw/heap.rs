//! The objects of a suspended runtime, and what their types look like.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::classes::FieldOffset;
use super::com::call;
use super::info::Info;
use super::slots::InfoSlot;
use super::suspended::{Suspended, Walk};
use crate::{ClassId, HResult, ModuleId, ObjectId, Token};

/// Most type arguments of a type that are read; no program has more.
pub const MOST_ARGUMENTS: usize = 16;
/// Of a method table's first word: the objects have elements.
const HAS_ELEMENTS: u32 = 0x8000_0000;
/// Lower bits of an object's first word that are the collector's while it marks.
const MARKS: usize = 7;
/// Bytes of an object that lie before the address that names it.
const HEADER: usize = 8;

/// An object of the heap while it is walked.
#[derive(Clone, Copy)]
pub struct HeapObject<'a> {
    object: ObjectId,
    walk: PhantomData<&'a ()>,
}

/// Where a type comes from, with its type arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapType {
    /// Its module.
    pub module: ModuleId,
    /// Its row in the module's metadata.
    pub token: Token,
    /// What it extends; 0 for none.
    pub parent: ClassId,
    /// How many of `arguments` there are.
    pub argument_count: usize,
    /// Its type arguments, those of its outer types included.
    pub arguments: [ClassId; MOST_ARGUMENTS],
}

/// The elements of an array type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayInfo {
    /// What its elements are: a `CorElementType`.
    pub element_kind: u32,
    /// Their type; 0 where the kind says it all.
    pub element: ClassId,
    /// Number of its dimensions.
    pub rank: u32,
}

impl HeapObject<'_> {
    /// Where it lies.
    #[must_use]
    #[inline]
    pub fn id(&self) -> ObjectId {
        self.object
    }

    /// Its type.
    #[must_use]
    #[inline]
    pub fn class(&self) -> ClassId {
        // SAFETY: the runtime has just told us of this object and is suspended; the first word names its type.
        ClassId(unsafe { (self.object.0 as *const usize).read() } & !MARKS)
    }

    /// Its bytes, with its header, as its type says; the runtime rounds them up to eight.
    #[must_use]
    #[inline]
    pub fn size(&self) -> usize {
        // SAFETY: a live object's type is live; a method table begins with flags and a base size, an object with elements
        // has their number behind its first word.
        let size = unsafe {
            let table = self.class().0 as *const u32;
            let count = (self.object.0 as *const u32).add(2);
            size_of_object(table.read(), table.add(1).read(), || count.read())
        };
        size + HEADER
    }

    /// Copies its first bytes, from the address that names it, and returns how many: no more than it has.
    pub fn copy(&self, room: &mut [u8]) -> usize {
        let size = self.size() - HEADER;
        let length = size.min(room.len());
        // SAFETY: the object has `size` bytes from its address on, the runtime is suspended, and `room` is ours.
        unsafe { std::ptr::copy_nonoverlapping(self.object.0 as *const u8, room.as_mut_ptr(), length) };
        length
    }
}

/// Bytes of an object from the address that names it, by the first two words of its type (`flags`, which hold the size of
/// an element, and the base size) and the number of its elements.
#[must_use]
#[inline]
pub fn size_of_object(flags: u32, base: u32, count: impl FnOnce() -> u32) -> usize {
    let elements = if flags & HAS_ELEMENTS == 0 { 0 } else { u64::from(flags & 0xFFFF) * u64::from(count()) };
    let size = u64::from(base).saturating_add(elements);
    usize::try_from(size).unwrap_or(0).saturating_sub(HEADER)
}

impl Suspended<'_> {
    /// Walks all objects of the heap, dead ones that no collection has swept yet included. .NET 9 and newer; older ones
    /// answer [`HResult::E_NOINTERFACE`].
    pub fn heap(&self, mut visit: impl FnMut(HeapObject<'_>) -> Walk) -> Result<(), HResult> {
        let mut visitor = Visitor { visit: &mut visit, panicked: false };
        let data = (&raw mut visitor).cast::<c_void>();
        // SAFETY: `on_object` has the form that is asked for, and `data` outlives the call.
        let outcome = unsafe { self.info.heap_objects(on_object as *const c_void, data) };
        if visitor.panicked { Err(HResult::E_UNEXPECTED) } else { outcome }
    }
}

struct Visitor<'a> {
    visit: &'a mut dyn FnMut(HeapObject<'_>) -> Walk,
    panicked: bool,
}

/// `ObjectCallback` of `corprof.idl`: whether to go on.
unsafe extern "system" fn on_object(object: ObjectId, data: *mut c_void) -> i32 {
    // SAFETY: it is what `Suspended::heap` gave, and it waits for the end of the walk.
    let visitor = unsafe { &mut *data.cast::<Visitor<'_>>() };
    let visit = AssertUnwindSafe(|| (visitor.visit)(HeapObject { object, walk: PhantomData }));
    match catch_unwind(visit) {
        Ok(Walk::On) => 1,
        Ok(Walk::Enough) => 0,
        Err(payload) => {
            std::mem::forget(payload);
            visitor.panicked = true;
            0
        }
    }
}

impl Info {
    /// # Safety
    /// The runtime is suspended by this thread. `callback` has the form of `ObjectCallback` and gets `data`.
    unsafe fn heap_objects(&self, callback: *const c_void, data: *mut c_void) -> Result<(), HResult> {
        // SAFETY: the caller's promise.
        unsafe {
            call!(self.reference, InfoSlot::EnumerateGCHeapObjects(
                callback => *const c_void,
                data => *mut c_void,
            ))
        }
    }

    /// Where a type comes from. The id must be of a type that is loaded, which a live object proves; an array is an error.
    pub fn heap_type(&self, class: ClassId) -> Result<HeapType, HResult> {
        let mut found = HeapType::default();
        let mut count = 0u32;
        let room = u32::try_from(MOST_ARGUMENTS).unwrap_or(0);
        // SAFETY: the pointers are to live fields, and there is room for as many arguments as we say.
        unsafe {
            call!(self.reference, InfoSlot::GetClassIDInfo2(
                class => ClassId,
                &raw mut found.module => *mut ModuleId,
                &raw mut found.token => *mut Token,
                &raw mut found.parent => *mut ClassId,
                room => u32,
                &raw mut count => *mut u32,
                found.arguments.as_mut_ptr() => *mut ClassId,
            ))?;
        }
        found.argument_count = usize::try_from(count).unwrap_or(0).min(MOST_ARGUMENTS);
        Ok(found)
    }

    /// What the elements of an array type are; none if it is no array. The id must be of a type that is loaded.
    #[must_use]
    pub fn array(&self, class: ClassId) -> Option<ArrayInfo> {
        let mut found = ArrayInfo::default();
        // SAFETY: the pointers are to live fields. "No array" is S_FALSE, with a rank of 0.
        let outcome = unsafe {
            call!(self.reference, InfoSlot::IsArrayClass(
                class => ClassId,
                &raw mut found.element_kind => *mut u32,
                &raw mut found.element => *mut ClassId,
                &raw mut found.rank => *mut u32,
            ))
        };
        (outcome.is_ok() && found.rank > 0).then_some(found)
    }

    /// Fills `room` with the fields that a type itself declares (those of its parents are theirs) and returns how many it
    /// has, and the size of its objects. The id must be of a type that is loaded.
    pub fn layout(&self, class: ClassId, room: &mut [FieldOffset]) -> Result<(usize, u32), HResult> {
        let (mut count, mut size) = (0u32, 0u32);
        let length = u32::try_from(room.len()).unwrap_or(0);
        // SAFETY: the pointers are to live locals, and there is room for as many fields as we say.
        unsafe {
            call!(self.reference, InfoSlot::GetClassLayout(
                class => ClassId,
                room.as_mut_ptr() => *mut FieldOffset,
                length => u32,
                &raw mut count => *mut u32,
                &raw mut size => *mut u32,
            ))?;
        }
        Ok((usize::try_from(count).unwrap_or(0).min(room.len()), size))
    }
}

#[cfg(test)]
mod tests {
    use super::size_of_object;

    #[test]
    fn sizes_follow_the_method_table() {
        assert_eq!(size_of_object(0x0000_1234, 24, || panic!("it has no elements")), 16);
        assert_eq!(size_of_object(0x8000_0008, 24, || 3), 40);
        assert_eq!(size_of_object(0x8000_FFFF, u32::MAX, || u32::MAX), 281_474_976_645_112);
        assert_eq!(size_of_object(0, 0, || 0), 0);
    }
}
