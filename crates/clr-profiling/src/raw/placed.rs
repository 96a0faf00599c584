//! Walks of stacks that tell where on the stack each frame lies.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use super::com::call;
use super::slots::InfoSlot;
use super::suspended::{Frame, Suspended, Walk};
use crate::{ClassId, CodeAddress, FunctionId, HResult, ModuleId, ThreadId, Token};

/// Most type arguments of a type that are looked at.
const MOST_ARGUMENTS: usize = 16;
/// `COR_PRF_SNAPSHOT_REGISTER_CONTEXT`: every frame comes with its registers.
const WITH_REGISTERS: u32 = 1;
/// Where in a `CONTEXT` of x64 the stack pointer is, and the registers that a call leaves as they are (`rbx`, `rbp`, `r12`
/// to `r15`).
const STACK_POINTER: usize = 0x98;
const KEPT: [usize; 6] = [0x90, 0xA0, 0xD8, 0xE0, 0xE8, 0xF0];
/// A context that has all of these.
const CONTEXT: usize = 0xF8;

/// A frame, while the walk is at it.
pub struct PlacedFrame<'a> {
    /// The frame.
    pub frame: Frame,
    /// Where its part of the stack begins; 0 if that is not known.
    pub stack_pointer: usize,
    /// What stands in registers that hold their value over calls.
    pub registers: [usize; 6],
    /// The runtime's handle of it, good for this moment.
    place: usize,
    suspended: &'a Suspended<'a>,
}

impl PlacedFrame<'_> {
    /// The type whose method it is, with the type arguments that it has in this frame, as far as the runtime can tell.
    pub fn class(&self) -> Result<ClassId, HResult> {
        let mut found = ClassId(0);
        // SAFETY: the pointers are to live locals or null where nothing is asked for; the runtime has just given us the
        // method and the handle, and waits in its callback.
        unsafe {
            call!(self.suspended.info.reference, InfoSlot::GetFunctionInfo2(
                self.frame.function => FunctionId,
                self.place => usize,
                &raw mut found => *mut ClassId,
                ptr::null_mut() => *mut ModuleId,
                ptr::null_mut() => *mut Token,
                0 => u32,
                ptr::null_mut() => *mut u32,
                ptr::null_mut() => *mut ClassId,
            ))?;
        }
        Ok(found)
    }
}

impl Suspended<'_> {
    /// Like [`Suspended::walk`], with the place of every frame.
    pub fn walk_placed(
        &self,
        thread: ThreadId,
        mut visit: impl FnMut(&PlacedFrame<'_>) -> Walk,
    ) -> Result<(), HResult> {
        let mut visitor = Visitor { suspended: self, visit: &mut visit, panicked: false };
        // SAFETY: threads cannot end while the runtime is suspended, and `on_frame` has the form that is asked for.
        let outcome = unsafe {
            call!(self.info.reference, InfoSlot::DoStackSnapshot(
                thread => ThreadId,
                on_frame as *const c_void => *const c_void,
                WITH_REGISTERS => u32,
                (&raw mut visitor).cast::<c_void>() => *mut c_void,
                ptr::null_mut() => *mut u8,
                0 => u32,
            ))
        };
        if visitor.panicked {
            return Err(HResult::E_UNEXPECTED);
        }
        match outcome {
            // What a thread without managed frames answers, and what our own wish to end does.
            Err(HResult::E_FAIL | HResult::E_STACKSNAPSHOT_ABORTED) => Ok(()),
            outcome => outcome,
        }
    }

    /// The last type argument of a type; none of one that has no arguments.
    #[must_use]
    pub fn last_argument(&self, class: ClassId) -> Option<ClassId> {
        let mut arguments = [ClassId(0); MOST_ARGUMENTS];
        let mut count = 0u32;
        let room = u32::try_from(MOST_ARGUMENTS).unwrap_or(0);
        // SAFETY: the pointers are to live locals or null where nothing is asked for, and there is as much room as we say.
        let outcome = unsafe {
            call!(self.info.reference, InfoSlot::GetClassIDInfo2(
                class => ClassId,
                ptr::null_mut() => *mut ModuleId,
                ptr::null_mut() => *mut Token,
                ptr::null_mut() => *mut ClassId,
                room => u32,
                &raw mut count => *mut u32,
                arguments.as_mut_ptr() => *mut ClassId,
            ))
        };
        let count = usize::try_from(count).unwrap_or(0);
        let last = arguments.get(..count)?.last().copied();
        last.filter(|class| outcome.is_ok() && *class != ClassId(0))
    }
}

struct Visitor<'a> {
    suspended: &'a Suspended<'a>,
    visit: &'a mut dyn FnMut(&PlacedFrame<'_>) -> Walk,
    panicked: bool,
}

/// `StackSnapshotCallback` of `corprof.idl`.
unsafe extern "system" fn on_frame(
    function: FunctionId,
    address: CodeAddress,
    place: usize,
    context_size: u32,
    context: *const u8,
    data: *mut c_void,
) -> HResult {
    // SAFETY: it is what `Suspended::walk_placed` gave, and it waits for the end of the walk.
    let visitor = unsafe { &mut *data.cast::<Visitor<'_>>() };
    let has_registers = cfg!(target_arch = "x86_64")
        && !context.is_null()
        && usize::try_from(context_size).is_ok_and(|size| size >= CONTEXT);
    let register = |offset: usize| {
        if !has_registers {
            return 0;
        }
        // SAFETY: the context is as large as the runtime says, which we have compared with what we read.
        unsafe { context.add(offset).cast::<usize>().read_unaligned() }
    };
    let placed = PlacedFrame {
        frame: Frame { function, address },
        stack_pointer: register(STACK_POINTER),
        registers: KEPT.map(register),
        place,
        suspended: visitor.suspended,
    };
    let visit = AssertUnwindSafe(|| (visitor.visit)(&placed));
    match catch_unwind(visit) {
        Ok(Walk::On) => HResult::S_OK,
        Ok(Walk::Enough) => HResult::S_FALSE,
        Err(payload) => {
            std::mem::forget(payload);
            visitor.panicked = true;
            HResult::S_FALSE
        }
    }
}
