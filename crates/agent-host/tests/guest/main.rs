//! The agent as a guest of real processes: every runtime, and everything that may go wrong on a visit. Whatever happens,
//! the target lives on and can be visited again.

mod faults;
mod heap;
mod hostile;
mod placing;
mod support;
mod together;

use std::time::{Duration, Instant};

use agent_host::{AgentError, Options, Reason, library, library_name};
use support::{Guest, LONG, every_runtime, major, wait_for};
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

/// What must not grow with the number of visits.
#[test]
fn fifty_visits_leave_nothing_behind() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let visit = || {
            let mut attached = guest.attach().expect("the agent comes");
            attached.stacks().expect("stacks");
            let visits = attached.hello().attached;
            let farewell = attached.leave().expect("it leaves");
            assert!(farewell.confirmed, "{farewell:?}");
            visits
        };
        // The first ones make what is kept: the mapped library, the allocator's arenas, what the runtime loads for it.
        for _ in 0..5 {
            visit();
        }
        let before = guest.vitals();
        for _ in 0..44 {
            visit();
        }
        assert_eq!(visit(), 50, "all visits are in one image of the library");
        let mut after = guest.vitals();
        // The target has threads of its own that come and go, with a few mappings each. What a visit leaves behind would be
        // there 45 times.
        wait_for("as few threads, descriptors and mappings as before", || {
            after = guest.vitals();
            after.descriptors <= before.descriptors
                && after.threads <= before.threads + 2
                && after.mappings <= before.mappings + 16
        });
        println!("{runtime}: {before:?} -> {after:?}");
        assert_eq!(after.library, before.library, "the library is mapped once");
        // A target that lives grows by itself: by compiled code, by pages of its files that it looks at. After some 80 visits
        // even that ends, and 130 more were seen to add 0.2 MB at most.
        assert!(after.resident <= before.resident + (8 << 20), "{before:?} {after:?}");
    });
}

#[test]
fn it_leaves_by_itself_when_its_time_is_over() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let options = Options { stay: Duration::from_millis(200), ..Options::default() };
        let attached = guest.attach_with(&options).expect("the agent comes");
        let farewell = attached.wait_gone(LONG).expect("it leaves");
        assert_eq!((farewell.reason, farewell.confirmed), (Some(Reason::Deadline), true));
        guest.can_be_visited();
    });
}

#[test]
fn it_leaves_by_itself_when_the_line_is_cut() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        drop(guest.attach().expect("the agent comes"));
        guest.wait_until_alone();
        guest.can_be_visited();
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

#[test]
fn a_target_may_end_while_the_agent_is_there() {
    every_runtime(|runtime| {
        for killed in [false, true] {
            let guest = Guest::quiet(runtime);
            let attached = guest.attach().expect("the agent comes");
            if killed { guest.target.kill() } else { guest.target.terminate() }.expect("a signal");
            let status = guest.target.wait_exit(LONG).expect("it ends");
            let farewell = attached.wait_gone(LONG).expect("it is gone");
            println!("{runtime}: {status} {farewell:?}");
            let crashed = std::os::unix::process::ExitStatusExt::signal(&status);
            assert!(crashed.is_none_or(|signal| signal == if killed { 9 } else { 15 }), "{status}");
        }
    });
}

#[test]
fn a_stopped_target_is_an_error_and_not_harmed() {
    let guest = Guest::quiet(Runtime::Net9);
    guest.target.suspend().expect("it stops");
    let began = Instant::now();
    let error = guest.attach_impatiently().expect_err("nobody is there to load it");
    assert!(matches!(error, AgentError::Ipc(_)), "{error} after {:?}", began.elapsed());
    guest.target.resume().expect("it goes on");
    // The order is still in its socket and is carried out now: the agent comes, finds nobody, and leaves.
    guest.wait_until_alone();
    guest.can_be_visited();
}
