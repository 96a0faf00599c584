//! The agent and the garbage collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use runtime_events::gc::GcType;
use runtime_events::{RuntimeEvent, keyword, provider};
use testbed::Runtime;

use crate::support::{Guest, LONG, every_runtime};

/// Counts collections that let threads go on.
#[derive(Clone, Default)]
struct InBackground(Arc<AtomicU32>);

impl Observer for InBackground {
    fn event(&mut self, _: &Seen<'_>, event: &RuntimeEvent<'_>) {
        if let RuntimeEvent::GcStart(start) = event
            && start.kind == GcType::Background
        {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn gc_session(keywords: u64) -> TraceRequest {
    TraceRequest::new(16, vec![Provider::new(provider::RUNTIME, keywords, Level::Informational)])
}

/// Waits until the runtime says that it collected in the background.
fn collects_in_background(guest: &Guest) {
    let count = InBackground::default();
    let seen = count.clone();
    let mut id = 1000;
    let driven = observe(&guest.client, &gc_session(keyword::GC), count, |waiting| {
        if seen.0.load(Ordering::Relaxed) > 0 || waiting.elapsed > LONG {
            return Going::Stop;
        }
        if guest.target.runtime() == Runtime::Net10 {
            // Requests larger than 85 KB lie on the heap whose growth brings about a full collection.
            let filler = "x".repeat(1 << 20);
            let request =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"filler":"{filler}"}}}}"#);
            guest.target.say(&(request + "\n")).expect("it listens");
            id += 1;
        } else {
            std::thread::sleep(waiting.slice.min(std::time::Duration::from_millis(10)));
        }
        Going::On
    });
    driven.expect("a session");
    assert!(seen.0.load(Ordering::Relaxed) > 0, "{}: no background collection", guest.target.runtime());
}

#[test]
fn collections_run_in_the_background_during_a_visit_and_after() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &["cleanings=5"]);
        let mut attached = guest.attach().expect("the agent comes");
        attached.stacks().expect("stacks");
        collects_in_background(&guest);
        assert!(attached.leave().expect("it leaves").confirmed);
        collects_in_background(&guest);
        guest.can_be_visited();
        collects_in_background(&guest);
    });
}

#[test]
fn a_target_that_collects_all_the_time_can_be_visited() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &["cleanings=1000"]);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // The stranger collects when a session that asks for it begins.
            let collecting = scope.spawn(|| {
                let mut sessions = 0;
                while runtime == Runtime::Net10 && !done.load(Ordering::Acquire) {
                    let request = gc_session(keyword::GC | keyword::GC_HEAP_COLLECT);
                    let session = observe(&guest.client, &request, InBackground::default(), |_| Going::Stop);
                    session.expect("a session");
                    sessions += 1;
                }
                sessions
            });
            let visits = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for _ in 0..5 {
                    let mut attached = guest.attach().expect("the agent comes");
                    for _ in 0..10 {
                        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
                    }
                    assert!(attached.leave().expect("it leaves").confirmed);
                }
            }));
            done.store(true, Ordering::Release);
            println!("{runtime}: {} sessions", collecting.join().expect("sessions"));
            assert!(visits.is_ok());
        });
        assert!(guest.target.is_alive());
    });
}
