//! What a profiler can ask the runtime. Wrapping one more call is one method here: its place in the table is known
//! already (`slots.rs`), its arguments are written at the call.

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use super::com::{Reference, call, text};
use super::metadata::Metadata;
use super::slots::{InfoSlot, MetadataSlot, Slot, ThreadEnumSlot};
use crate::{AssemblyId, ClassId, FunctionId, HResult, ModuleId, OsThreadId, ThreadId, Token};

/// Of a module's flags: it can be unloaded.
const COLLECTIBLE: u32 = 0x8;
/// Longest path of a module that is read.
const LONGEST_NAME: usize = 1024;

/// The runtime, as far as a profiler may ask it. Any thread of ours may ask.
pub struct Info {
    pub(super) reference: Reference<InfoSlot>,
}

// SAFETY: the runtime's object may be called from any thread at any time ("free threaded", corprof.idl).
unsafe impl Send for Info {}
// SAFETY: as above.
unsafe impl Sync for Info {}

/// What the runtime is to do for us: which events it tells of, what may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventMask {
    /// The flags of `COR_PRF_MONITOR`.
    pub low: u32,
    /// The flags of `COR_PRF_HIGH_MONITOR`.
    pub high: u32,
}

impl EventMask {
    /// Stacks may be walked. No event at all.
    pub const STACK_SNAPSHOT: EventMask = EventMask { low: 0x1000_0000, high: 0 };
    /// Tells of every suspension of the runtime.
    pub const SUSPENSIONS: EventMask = EventMask { low: 0x0001_0000, high: 0 };

    /// Events of sessions of ours come to us.
    pub const EVENTS: EventMask = EventMask { low: 0, high: 0x80 };

    /// Both.
    #[must_use]
    pub const fn and(self, other: EventMask) -> EventMask {
        EventMask { low: self.low | other.low, high: self.high | other.high }
    }
}

/// Which runtime this is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuntimeInformation {
    /// Number of the runtime in the process.
    pub instance: u16,
    /// 1 is .NET Framework, 2 is .NET.
    pub kind: u32,
    /// Major version. 3.1 calls itself 4.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// Build number.
    pub build: u16,
    /// Revision.
    pub revision: u16,
}

/// Where a method comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its type; 0 if the runtime cannot tell without its frame.
    pub class: ClassId,
    /// Its module.
    pub module: ModuleId,
    /// Its row in the module's metadata.
    pub token: Token,
}

/// What a module is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleInfo {
    /// Where it is mapped; 0 for one without a file.
    pub base: usize,
    /// Its assembly.
    pub assembly: AssemblyId,
    /// Its file, or its name if it has none; cut to 1023 characters.
    pub name: String,
    /// Whether it can be unloaded while the program runs. Its ids are then good only while the runtime is suspended.
    pub collectible: bool,
}

impl Info {
    /// Asks the object that the runtime passed to us for its newest interface.
    ///
    /// # Safety
    /// `unknown` is null or a live COM object.
    pub(super) unsafe fn query(unknown: *mut c_void) -> Result<Self, HResult> {
        // SAFETY: the caller's promise.
        Ok(Info { reference: unsafe { Reference::query(unknown) }? })
    }

    /// The newest version of `ICorProfilerInfo` that this runtime has: 11 is 3.1, 12 is 5 and 6, 13 is 7, 14 is 8, 15 is 9
    /// and 10.
    #[must_use]
    pub fn version(&self) -> usize {
        self.reference.version()
    }

    /// Says what the runtime is to do for us.
    pub fn set_event_mask(&self, mask: EventMask) -> Result<(), HResult> {
        // SAFETY: plain numbers.
        unsafe { call!(self.reference, InfoSlot::SetEventMask2(mask.low => u32, mask.high => u32)) }
    }

    /// Which runtime this is.
    pub fn runtime(&self) -> Result<RuntimeInformation, HResult> {
        let mut found = RuntimeInformation::default();
        // SAFETY: the pointers are to live fields; no text is asked for, so its pointers may be null.
        unsafe {
            call!(self.reference, InfoSlot::GetRuntimeInformation(
                &raw mut found.instance => *mut u16,
                &raw mut found.kind => *mut u32,
                &raw mut found.major => *mut u16,
                &raw mut found.minor => *mut u16,
                &raw mut found.build => *mut u16,
                &raw mut found.revision => *mut u16,
                0 => u32,
                ptr::null_mut() => *mut u32,
                ptr::null_mut() => *mut u16,
            ))?;
        }
        Ok(found)
    }

    /// Fills `room` with managed threads and returns how many there are in it; if it is full there may be more.
    ///
    /// For a suspended runtime: elsewhere a thread may end, and its id is then an address of nothing.
    pub(super) fn threads(&self, room: &mut [ThreadId]) -> Result<usize, HResult> {
        let mut list = ptr::null_mut();
        // SAFETY: room for one pointer, and what comes is a reference for us.
        let list: Reference<ThreadEnumSlot> = unsafe {
            call!(self.reference, InfoSlot::EnumThreads(&raw mut list => *mut *mut c_void))?;
            Reference::own(list, 0)?
        };
        let mut written = 0;
        let size = u32::try_from(room.len()).unwrap_or(u32::MAX);
        // SAFETY: there is room for as many ids as we say.
        unsafe {
            call!(list, ThreadEnumSlot::Next(
                size => u32,
                room.as_mut_ptr() => *mut ThreadId,
                &raw mut written => *mut u32,
            ))?;
        }
        Ok(usize::try_from(written).unwrap_or(0).min(room.len()))
    }

    /// The operating system's number of a thread that lives.
    pub(super) fn os_thread(&self, thread: ThreadId) -> Result<OsThreadId, HResult> {
        let mut found = OsThreadId(0);
        // SAFETY: the pointer is to a live local. The runtime is suspended, so the thread lives.
        unsafe {
            call!(self.reference, InfoSlot::GetThreadInfo(
                thread => ThreadId,
                &raw mut found => *mut OsThreadId,
            ))?;
        }
        Ok(found)
    }

    /// Where a method comes from.
    pub fn function(&self, function: FunctionId) -> Result<FunctionInfo, HResult> {
        let mut found = FunctionInfo::default();
        // SAFETY: the pointers are to live fields; no generic arguments are asked for, so their pointers may be null.
        unsafe {
            call!(self.reference, InfoSlot::GetFunctionInfo2(
                function => FunctionId,
                0 => usize,
                &raw mut found.class => *mut ClassId,
                &raw mut found.module => *mut ModuleId,
                &raw mut found.token => *mut Token,
                0 => u32,
                ptr::null_mut() => *mut u32,
                ptr::null_mut() => *mut ClassId,
            ))?;
        }
        Ok(found)
    }

    /// What a module is.
    pub fn module(&self, module: ModuleId) -> Result<ModuleInfo, HResult> {
        let mut found = ModuleInfo::default();
        let (mut name, mut written, mut flags) = ([0u16; LONGEST_NAME], 0u32, 0u32);
        let room = u32::try_from(name.len()).unwrap_or(0);
        // SAFETY: the pointers are to live locals, and the name has the room that we say.
        unsafe {
            call!(self.reference, InfoSlot::GetModuleInfo2(
                module => ModuleId,
                &raw mut found.base => *mut usize,
                room => u32,
                &raw mut written => *mut u32,
                name.as_mut_ptr() => *mut u16,
                &raw mut found.assembly => *mut AssemblyId,
                &raw mut flags => *mut u32,
            ))?;
        }
        found.name = text(&name, written);
        found.collectible = flags & COLLECTIBLE != 0;
        Ok(found)
    }

    /// The metadata of a module, to read.
    pub fn metadata(&self, module: ModuleId) -> Result<Metadata, HResult> {
        const READ: u32 = 0;
        const IMPORT: usize = 0;
        let mut found = ptr::null_mut();
        let id = MetadataSlot::VERSIONS[IMPORT].id;
        // SAFETY: room for one pointer, and what comes is a reference for us to the interface that we name.
        unsafe {
            call!(self.reference, InfoSlot::GetModuleMetaData(
                module => ModuleId,
                READ => u32,
                &raw const id => *const crate::Guid,
                &raw mut found => *mut *mut c_void,
            ))?;
            Ok(Metadata { reference: Reference::own(found, IMPORT)? })
        }
    }

    /// Asks to be let go. When this succeeds, nothing more may be asked; [`crate::Profiler::detach_succeeded`] follows when
    /// no thread is in our code any more.
    ///
    /// The runtime looks for that after `expected` (at least 300 ms), then after twice `expected`, both counted from this
    /// call, and then after *ten minutes*. With a small `expected` its thread is easily too late for both.
    pub fn request_detach(&self, expected: Duration) -> Result<(), HResult> {
        let milliseconds = u32::try_from(expected.as_millis()).unwrap_or(u32::MAX).max(1);
        // SAFETY: a plain number.
        unsafe { call!(self.reference, InfoSlot::RequestProfilerDetach(milliseconds => u32)) }
    }

    /// Stops every managed thread. Fails with [`HResult::E_SUSPENSION_IN_PROGRESS`] while somebody else does.
    pub(super) fn suspend_runtime(&self) -> Result<(), HResult> {
        // SAFETY: no arguments.
        unsafe { call!(self.reference, InfoSlot::SuspendRuntime()) }
    }

    /// Lets them run again.
    pub(super) fn resume_runtime(&self) -> Result<(), HResult> {
        // SAFETY: no arguments.
        unsafe { call!(self.reference, InfoSlot::ResumeRuntime()) }
    }

    /// Walks the stack of a thread.
    ///
    /// # Safety
    /// The thread exists and cannot end meanwhile. `callback` has the form of `StackSnapshotCallback` and gets `data`.
    pub(super) unsafe fn stack_snapshot(
        &self,
        thread: ThreadId,
        callback: *const c_void,
        data: *mut c_void,
    ) -> Result<(), HResult> {
        // SAFETY: the caller's promise; no context is given, so its pointer is null.
        unsafe {
            call!(self.reference, InfoSlot::DoStackSnapshot(
                thread => ThreadId,
                callback => *const c_void,
                0 => u32,
                data => *mut c_void,
                ptr::null_mut() => *mut u8,
                0 => u32,
            ))
        }
    }
}
