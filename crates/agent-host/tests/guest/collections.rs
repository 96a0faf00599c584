//! The agent and the garbage collector.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diagnostics_ipc::{Level, Provider, TraceRequest};
use event_session::{Going, Observer, Seen, observe};
use runtime_events::gc::GcType;
use runtime_events::{RuntimeEvent, keyword, provider};

use crate::support::{Guest, LONG, every_runtime};

/// How collections ran, with how many of each kind.
#[derive(Clone, Default)]
struct Kinds(Arc<Mutex<HashMap<String, u32>>>);

impl Kinds {
    fn count(&self) -> u32 {
        self.0.lock().expect("a lock").values().sum()
    }

    fn has(&self, kind: GcType) -> bool {
        self.0.lock().expect("a lock").keys().any(|seen| seen.starts_with(&format!("{kind:?}")))
    }
}

impl Observer for Kinds {
    fn event(&mut self, _: &Seen<'_>, event: &RuntimeEvent<'_>) {
        if let RuntimeEvent::GcStart(start) = event {
            let kind = format!("{:?} {:?} {:?}", start.kind, start.generation, start.reason);
            *self.0.lock().expect("a lock").entry(kind).or_default() += 1;
        }
    }
}

fn gc_session(keywords: u64) -> TraceRequest {
    TraceRequest::new(16, vec![Provider::new(provider::RUNTIME, keywords, Level::Informational)])
}

/// Waits until the runtime says that it collected in the background.
fn collects_in_background(guest: &Guest) {
    let kinds = Kinds::default();
    let seen = kinds.clone();
    let driven = observe(&guest.client, &gc_session(keyword::GC), kinds, |waiting| {
        if seen.has(GcType::Background) || waiting.elapsed > LONG {
            return Going::Stop;
        }
        std::thread::sleep(waiting.slice.min(Duration::from_millis(10)));
        Going::On
    });
    driven.expect("a session");
    assert!(seen.has(GcType::Background), "{}: {:?}", guest.target.runtime(), seen.0);
}

#[test]
fn collections_run_in_the_background_during_a_visit_and_after() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &["cleanings=5", "pantry=32"]);
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
        let guest = Guest::busy(runtime, &["cleanings=1000", "pantry=32"]);
        let done = AtomicBool::new(false);
        let kinds = Kinds::default();
        let seen = kinds.clone();
        std::thread::scope(|scope| {
            let counting = scope.spawn(|| {
                observe(&guest.client, &gc_session(keyword::GC), kinds, |waiting| {
                    std::thread::sleep(waiting.slice.min(Duration::from_millis(10)));
                    if done.load(Ordering::Acquire) { Going::Stop } else { Going::On }
                })
            });
            let mut visits = 0;
            let went = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let until = Instant::now() + LONG;
                while (visits < 5 || seen.count() < 20) && Instant::now() < until {
                    visits += 1;
                    let mut attached = guest.attach().expect("the agent comes");
                    for _ in 0..20 {
                        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
                    }
                    assert!(attached.leave().expect("it leaves").confirmed);
                }
            }));
            done.store(true, Ordering::Release);
            assert!(went.is_ok());
            println!("{runtime}: {} collections during {visits} visits", seen.count());
            counting.join().expect("no panic").expect("a session");
        });
        assert!(seen.count() >= 20, "{:?}", seen.0);
        assert!(guest.target.is_alive());
    });
}
