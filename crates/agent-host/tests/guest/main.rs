//! The agent as a guest of real processes: every runtime, and everything that may go wrong on a visit. Whatever happens,
//! the target lives on and can be visited again.

mod async_samples;
mod collections;
mod ending;
mod endurance;
mod faults;
mod foreign;
mod graph;
mod heap;
mod hostile;
mod hostile_agent;
mod hostile_heap;
mod killed;
mod leaving;
mod locks;
mod memory;
mod obstacles;
mod placing;
mod strangers;
mod support;
mod together;

use agent_host::{Reason, library, library_name};
use support::{Guest, every_runtime, major};
use testbed::Runtime;

#[test]
fn the_library_is_small() {
    assert!(library().len() < 1 << 20, "{} bytes", library().len());
}

#[test]
fn it_comes_answers_and_leaves() {
    every_runtime(|runtime| {
        let guest = Guest::with_known_stack(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        assert_eq!(attached.hello().runtime[0], major(runtime));
        assert_eq!(attached.hello().process, guest.target.pid());
        assert!(!guest.has_file(library_name()), "the library is loaded and needed no more");

        let threads = attached.threads().expect("threads").threads;
        assert!(threads.iter().any(|thread| thread.os == guest.target.pid()), "the main thread: {threads:?}");

        let answer = attached.stacks().expect("stacks");
        assert_eq!(answer.left_out, 0);
        assert!(answer.stacks.len() >= threads.len() - 1);
        let names: Vec<String> =
            answer.methods.values().map(|method| format!("{}.{}", method.class, method.name)).collect();
        assert!(names.iter().any(|name| name == guest.known_method), "{names:?}");
        for stack in &answer.stacks {
            assert_eq!(stack.code, 0, "{stack:?}");
            for (method, _) in stack.frames.iter().filter(|(method, _)| *method != 0) {
                assert!(answer.methods.contains_key(method), "a frame without a method");
            }
        }

        let farewell = attached.leave().expect("it leaves");
        assert_eq!((farewell.reason, farewell.confirmed), (Some(Reason::Told), true));
        assert!(!guest.has_agent_thread());
        assert!(guest.target.is_alive());
    });
}

#[test]
fn it_works_under_load() {
    let busy =
        ["exception-storm", "allocation-pressure", "jit-storm", "forced-collections", "zombie-threads"];
    for (index, patient) in busy.into_iter().enumerate() {
        let runtime = [Runtime::Net9, Runtime::Net8, Runtime::Net31][index % 3];
        let guest = Guest::of(patient, runtime);
        for _ in 0..3 {
            let mut attached = guest.attach().expect("the agent comes");
            for _ in 0..10 {
                assert!(!attached.stacks().expect("stacks").stacks.is_empty(), "{patient} on {runtime}");
            }
            assert!(attached.leave().expect("it leaves").confirmed);
        }
        guest.still_works();
    }
}
