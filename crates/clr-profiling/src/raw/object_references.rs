//! Which objects an object refers to, by what its type says of its layout.
//!
//! ```text
//!  before the method table, read downwards from it:
//!    count > 0:  count times { length - size of the object, offset }     runs of references
//!    count < 0:  { -, offset }, then -count times { references, bytes to skip }, repeated for every element of an array
//! ```
//! This is what the collector itself reads; it is the same on .NET 9 and 10, where walks of the heap exist.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::com::call;
use super::heap::HeapObject;
use super::slots::InfoSlot;
use super::suspended::Suspended;
use crate::{HResult, ObjectId};

/// Of a method table's first word (9 and 10): there are references in its objects.
const HAS_REFERENCES: u32 = 0x0100_0000;
/// The type can be unloaded: each of its objects keeps it, by a reference that is not in the object.
const COLLECTIBLE: u32 = 0x0020_0000;
const WORD: usize = size_of::<usize>();

/// Whether objects of a type keep it loaded, by the first word of its method table (9 and newer).
#[must_use]
pub fn can_be_unloaded(flags: u32) -> bool {
    flags & COLLECTIBLE != 0
}

impl HeapObject<'_> {
    fn flags(&self) -> u32 {
        // SAFETY: a live object's type is live, and a method table begins with its flags.
        unsafe { (self.class().0 as *const u32).read() }
    }

    /// Whether references can be in it.
    #[must_use]
    #[inline]
    pub fn has_references(&self) -> bool {
        self.flags() & (HAS_REFERENCES | COLLECTIBLE) != 0
    }

    /// Whether its type can be unloaded. What it refers to is then told by [`Suspended::references_of`] alone.
    #[must_use]
    #[inline]
    pub fn is_collectible(&self) -> bool {
        self.flags() & COLLECTIBLE != 0
    }

    /// Shows every reference in it that is not null.
    #[inline]
    pub fn each_reference(&self, mut visit: impl FnMut(usize)) {
        if self.flags() & HAS_REFERENCES == 0 {
            return;
        }
        let table = self.class().0 as *const u8;
        let object = self.id().0;
        let size = self.size();
        // SAFETY: the type says that there are references, so its description lies before the method table as above. The
        // places that it names lie within the object, which lives while the runtime is suspended.
        unsafe {
            let count = table.cast::<isize>().sub(1).read();
            let mut series = table.cast::<usize>().sub(3);
            if count >= 0 {
                for _ in 0..count {
                    let (length, offset) = (series.read(), series.add(1).read());
                    let start = object.wrapping_add(offset);
                    let end = start.wrapping_add(length.wrapping_add(size));
                    each(start, end, &mut visit);
                    series = series.sub(2);
                }
                return;
            }
            let mut place = object.wrapping_add(series.add(1).read());
            let end = object.wrapping_add(size).wrapping_sub(WORD);
            while place < end {
                let mut item = series.cast::<u32>();
                for _ in count..0 {
                    let (references, skip) = (item.read() as usize, item.add(1).read() as usize);
                    let stop = place.wrapping_add(references * WORD);
                    each(place, stop, &mut visit);
                    place = stop.wrapping_add(skip);
                    item = item.sub(2);
                }
            }
        }
    }
}

/// Shows the words of a range that are not 0.
///
/// # Safety
/// The range lies in an object that lives.
#[inline]
unsafe fn each(start: usize, end: usize, visit: &mut impl FnMut(usize)) {
    let mut place = start;
    while place < end {
        // SAFETY: the caller's promise.
        let target = unsafe { (place as *const usize).read() };
        if target != 0 {
            visit(target);
        }
        place = place.wrapping_add(WORD);
    }
}

impl Suspended<'_> {
    /// Shows every reference of an object, asking the runtime: also the one to what keeps its type loaded.
    pub fn references_of(&self, object: HeapObject<'_>, mut visit: impl FnMut(usize)) -> Result<(), HResult> {
        let mut visitor = Visitor { visit: &mut visit, panicked: false };
        // SAFETY: the object is what the runtime has just named, `on_reference` has the form that is asked for, and the
        // visitor outlives the call.
        let outcome = unsafe {
            call!(self.info.reference, InfoSlot::EnumerateObjectReferences(
                object.id() => ObjectId,
                on_reference as *const c_void => *const c_void,
                (&raw mut visitor).cast::<c_void>() => *mut c_void,
            ))
        };
        if visitor.panicked { Err(HResult::E_UNEXPECTED) } else { outcome }
    }
}

struct Visitor<'a> {
    visit: &'a mut dyn FnMut(usize),
    panicked: bool,
}

/// `ObjectReferenceCallback` of `corprof.idl`: goes on while it is 1.
unsafe extern "system" fn on_reference(_object: ObjectId, place: *const ObjectId, data: *mut c_void) -> i32 {
    // SAFETY: it is what `Suspended::references_of` gave, and it waits for the end.
    let visitor = unsafe { &mut *data.cast::<Visitor<'_>>() };
    // SAFETY: the runtime shows a place that holds a reference.
    let target = unsafe { place.read() }.0;
    if target == 0 {
        return 1;
    }
    match catch_unwind(AssertUnwindSafe(|| (visitor.visit)(target))) {
        Ok(()) => 1,
        Err(payload) => {
            std::mem::forget(payload);
            visitor.panicked = true;
            0
        }
    }
}
