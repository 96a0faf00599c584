//! What a profiler is told by the runtime.

use crate::{Guid, HResult, Info};

/// A place where the runtime enters our code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// It asks whether we are content with notifications.
    NotificationOnly,
    /// It initialises us.
    Initialize,
    /// It says that we are attached.
    AttachComplete,
    /// It says that we are detached.
    DetachSucceeded,
    /// It is about to end.
    Shutdown,
    /// It is about to stop all managed threads.
    Suspending,
    /// It tells of an event.
    Told,
}

/// What a main profiler can be told of, if its event mask asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An exception was thrown.
    Exception,
    /// A method is about to be compiled.
    Compilation,
    /// A collection begins.
    Collection,
    /// A managed thread was made.
    Thread,
}

/// An event of a session of ours.
#[derive(Clone, Copy, Debug)]
pub struct EventRecord<'a> {
    /// Its number; the provider is the one that the session asks for.
    pub id: u32,
    /// Version of its layout.
    pub version: u32,
    /// Its fields.
    pub payload: &'a [u8],
}

/// A profiler. The runtime calls it from several of its threads, also at the same time, and waits: be quick, take no
/// lock that a thread in managed code may hold.
///
/// A panic in any of these becomes a failure code for the runtime.
pub trait Profiler: Send + Sync + Sized + 'static {
    /// Whether the library has this class.
    fn has(class: Guid) -> bool;

    /// A new profiler of a class; `None` if there is no such class here.
    fn create(class: Guid) -> Option<Self>;

    /// Whether notifications are enough, so that it can live beside another profiler (6; older ones do not ask).
    fn notification_only(&self) -> bool {
        true
    }

    /// It was named in the environment of a program that starts. On an error the runtime lets go of it.
    fn initialize(&self, info: Info) -> Result<(), HResult> {
        let _ = info;
        Err(HResult::E_PROFILER_CANCEL_ACTIVATION)
    }

    /// It was loaded into a running process. Its event mask is to be set now. On an error the runtime lets go of it
    /// and gives the code to whoever attached it.
    ///
    /// `info` must be gone when this is dropped: the runtime deletes what is behind it right afterwards.
    fn initialize_for_attach(&self, info: Info, client_data: &[u8]) -> Result<(), HResult>;

    /// It is attached: from now on it may ask and leave.
    fn attach_complete(&self) -> Result<(), HResult> {
        Ok(())
    }

    /// It has been detached: no call arrives after this one, and none may be made.
    fn detach_succeeded(&self) -> Result<(), HResult> {
        Ok(())
    }

    /// The runtime is about to end: no call may be made after this.
    fn shutdown(&self) -> Result<(), HResult> {
        Ok(())
    }

    /// The runtime is about to stop all managed threads, for whatever reason ([`crate::EventMask::SUSPENSIONS`]).
    fn suspending(&self) -> Result<(), HResult> {
        Ok(())
    }

    /// Something happened that the event mask asks for.
    fn told(&self, event: Event) -> Result<(), HResult> {
        let _ = event;
        Ok(())
    }

    /// An event of a session of ours, on the thread that it happens on, which waits.
    fn event(&self, record: EventRecord<'_>) -> Result<(), HResult> {
        let _ = record;
        Ok(())
    }

    /// Our code panicked at this entry; the runtime got a failure code.
    fn panicked(&self, entry: Entry) {
        let _ = entry;
    }
}
