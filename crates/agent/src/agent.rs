//! The profiler that the runtime sees. It only receives: what is to be done is done by the thread of its [`Visit`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agent_wire::{Attach, Fault, Reason};
use clr_profiling::{Entry, EventMask, EventRecord, Guid, HResult, Info, Profiler};

use crate::visit::Visit;

/// Room for the thread's stack: the runtime walks stacks and reads metadata on it.
const STACK: usize = 1 << 20;
/// How long an ending process waits for our thread to let go of the runtime.
const SHUTDOWN: Duration = Duration::from_millis(200);

pub(crate) struct Agent {
    fault: Option<Fault>,
    /// Whether we are one of several profilers, or may be.
    one_of_many: AtomicBool,
    visit: OnceLock<Arc<Visit>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Agent {
    fn fail_at(&self, fault: Fault) {
        assert!(self.fault != Some(fault), "a fault that was asked for");
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Profiler for Agent {
    fn has(class: Guid) -> bool {
        let found = Fault::of_class(class.number());
        assert!(found != Some(Some(Fault::GetClassObject)), "a fault that was asked for");
        found.is_some()
    }

    fn create(class: Guid) -> Option<Self> {
        let fault = Fault::of_class(class.number())?;
        let one_of_many = AtomicBool::new(false);
        let agent = Agent { fault, one_of_many, visit: OnceLock::new(), thread: Mutex::new(None) };
        agent.fail_at(Fault::Create);
        Some(agent)
    }

    fn notification_only(&self) -> bool {
        self.fail_at(Fault::NotificationOnly);
        self.one_of_many.store(true, Ordering::Relaxed);
        true
    }

    fn initialize_for_attach(&self, info: Info, client_data: &[u8]) -> Result<(), HResult> {
        self.fail_at(Fault::Initialize);
        let orders = Attach::decode(client_data).map_err(|_| HResult::E_INVALIDARG)?;
        info.set_event_mask(EventMask::STACK_SNAPSHOT)?;
        let visit = Visit::new(info, orders, self.fault, self.one_of_many.load(Ordering::Relaxed));
        self.visit.set(Arc::new(visit)).map_err(|_| HResult::E_UNEXPECTED)
    }

    /// Not before this: a runtime that overlooks us (see `Visit::detach`) initialises us and never gets here.
    fn attach_complete(&self) -> Result<(), HResult> {
        self.fail_at(Fault::AttachComplete);
        let visit = self.visit.get().ok_or(HResult::E_UNEXPECTED)?;
        let theirs = Arc::clone(visit);
        let started = std::thread::Builder::new()
            .name("drdotnet-agent".into())
            .stack_size(STACK)
            .spawn(move || theirs.run());
        match started {
            Ok(thread) => *self.thread() = Some(thread),
            // Nobody would ever lead us out.
            Err(_) => visit.detach(),
        }
        Ok(())
    }

    fn detach_succeeded(&self) -> Result<(), HResult> {
        // The thread asked for this as its last deed, so it has ended or is about to. It must not use the runtime's
        // interface after our last reference is given back, which follows this call.
        if let Some(thread) = self.thread().take() {
            let _ = thread.join();
        }
        self.fail_at(Fault::DetachSucceeded);
        if let Some(visit) = self.visit.get() {
            visit.say_detached();
        }
        Ok(())
    }

    fn shutdown(&self) -> Result<(), HResult> {
        if let Some(visit) = self.visit.get() {
            visit.end(Reason::Shutdown);
        }
        let until = Instant::now() + SHUTDOWN;
        while self.thread().as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.fail_at(Fault::Shutdown);
        Ok(())
    }

    fn suspending(&self) -> Result<(), HResult> {
        if let Some(visit) = self.visit.get() {
            visit.is_seen();
        }
        self.fail_at(Fault::Suspending);
        Ok(())
    }

    fn event(&self, record: EventRecord<'_>) -> Result<(), HResult> {
        if let Some(visit) = self.visit.get() {
            visit.events.tell(visit, record);
        }
        Ok(())
    }

    fn panicked(&self, entry: Entry) {
        // Called is seen, whatever became of it.
        if entry == Entry::Suspending
            && let Some(visit) = self.visit.get()
        {
            visit.is_seen();
        }
        // Attached without a thread that would ever lead us out.
        if entry == Entry::AttachComplete
            && self.thread().is_none()
            && let Some(visit) = self.visit.get()
        {
            visit.detach();
        }
        // What the host waits for: the end of the stream. It comes with our last reference.
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.fail_at(Fault::Release);
    }
}
