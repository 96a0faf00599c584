//! Sessions of the runtime's events whose events come to us (5 and newer): each while it happens, on the thread it happens on.

use std::ffi::c_void;
use std::ptr;

use super::com::call;
use super::info::Info;
use super::slots::InfoSlot;
use crate::HResult;

/// `COR_PRF_EVENTPIPE_PROVIDER_CONFIG` of `corprof.idl`.
#[repr(C)]
struct ProviderConfig {
    name: *const u16,
    keywords: u64,
    level: u32,
    filter: *const u16,
}

/// A session. It must be ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSession(u64);

impl Info {
    /// Begins a session of one provider. Events come to [`crate::Profiler::event`] if the mask asks for them
    /// ([`crate::EventMask::EVENTS`]). Where the keywords ask for a collection, it is over when this returns. With a rundown,
    /// the runtime tells of its modules and methods when the session ends.
    pub fn start_events(
        &self,
        provider: &str,
        keywords: u64,
        level: u32,
        rundown: bool,
    ) -> Result<EventSession, HResult> {
        let name: Vec<u16> = provider.encode_utf16().chain([0]).collect();
        let mut config = ProviderConfig { name: name.as_ptr(), keywords, level, filter: ptr::null() };
        let mut session = 0;
        // SAFETY: one configuration, whose name is a text with its end; the pointers are to live locals.
        unsafe {
            call!(self.reference, InfoSlot::EventPipeStartSession(
                1 => u32,
                (&raw mut config).cast::<c_void>() => *mut c_void,
                i32::from(rundown) => i32,
                &raw mut session => *mut u64,
            ))?;
        }
        Ok(EventSession(session))
    }

    /// Ends a session.
    pub fn stop_events(&self, session: EventSession) -> Result<(), HResult> {
        // SAFETY: a plain number, which the runtime gave us.
        unsafe { call!(self.reference, InfoSlot::EventPipeStopSession(session.0 => u64)) }
    }

    /// Makes a full, blocking collection and returns when it is over.
    pub fn collect(&self) -> Result<(), HResult> {
        // SAFETY: no arguments.
        unsafe { call!(self.reference, InfoSlot::ForceGC()) }
    }
}
