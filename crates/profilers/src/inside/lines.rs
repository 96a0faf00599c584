//! Exact lines: the runtime is asked once to tell of all its code, with its IL maps.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use diagnostics_ipc::{Client, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use kernel_collector::SharedCode;
use model::Cost;
use runtime_events::RuntimeEvent;
use symbols::{CodeMap, RUNDOWN_FOR_LINES};

/// Room for all names at once, in the target, for as long as it takes to send them.
const BUFFER_MB: u32 = 32;
/// How long is waited for it. The stacks are there already; without this they have lines that are less exact.
const PATIENCE: Duration = Duration::from_secs(5);

/// All code of a process.
pub(crate) struct AllCode {
    code: SharedCode,
    /// What it took to be told; nothing if another look was.
    bytes: u64,
    /// It was not asked, because that could have crashed it.
    pub(crate) is_withheld: bool,
}

impl AllCode {
    /// Asks the runtime for it. `None` if it does not tell, or not in time.
    pub(crate) fn ask(client: Client) -> Option<AllCode> {
        AllCode::add_to(CodeMap::new(), client)
    }

    /// The same, beside what is known already.
    pub(crate) fn add_to(known: CodeMap, client: Client) -> Option<AllCode> {
        let Answer { bytes, mut code, is_withheld } = all_code(known, client)?;
        code.settle();
        Some(AllCode { code: Arc::new(Mutex::new(code)), bytes, is_withheld })
    }

    /// For others to use.
    pub(crate) fn shared(&self) -> SharedCode {
        SharedCode::clone(&self.code)
    }

    /// What another look was told.
    pub(crate) fn handed_on(code: SharedCode) -> AllCode {
        let all = AllCode { code, bytes: 0, is_withheld: false };
        all.lock().settle();
        all
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CodeMap> {
        self.code.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what it cost, and says what for; nothing if another look has paid for it.
    pub(crate) fn charge(&self, cost: &mut Cost, purpose: &str) {
        cost.bytes += self.bytes;
        if self.bytes > 0 && !self.is_withheld {
            cost.method += &format!("; the runtime listed all its code, for {purpose}");
        }
    }
}

struct Learner(CodeMap);

impl Observer for Learner {
    fn event(&mut self, _: &Seen<'_>, event: &RuntimeEvent<'_>) {
        self.0.learn(event);
    }
}

struct Answer {
    bytes: u64,
    code: CodeMap,
    is_withheld: bool,
}

/// A session that is stopped at once: the runtime then tells of all code that it has. `None` if it does not, or not in time.
fn all_code(known: CodeMap, client: Client) -> Option<Answer> {
    let request = TraceRequest::names_alone(BUFFER_MB, RUNDOWN_FOR_LINES);
    let (tell, told) = channel();
    let thread = std::thread::Builder::new().name("lines".to_owned());
    let started = thread.spawn(move || {
        let driven = observe(&client, &request, Learner(known), |_| Going::Stop);
        let _ = tell.send(driven.ok().map(|driven| Answer {
            bytes: driven.bytes,
            code: driven.value.observer.0,
            is_withheld: driven.value.withheld_names,
        }));
    });
    drop(started.ok()?);
    told.recv_timeout(PATIENCE).ok()?
}
