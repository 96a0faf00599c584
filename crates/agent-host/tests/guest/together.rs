//! Several hosts at once.

use agent_host::{AgentError, Fault, Options, Reason};
use testbed::Runtime;

use crate::support::{Guest, every_runtime};

#[test]
fn two_hosts_ask_one_target_at_the_same_time() {
    every_runtime(|runtime| {
        if runtime == Runtime::Net31 {
            return;
        }
        let guest = Guest::with_known_stack(runtime);
        // Both suspend the runtime as fast as they can: what .NET 8 does not bear unless they take turns.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut attached = guest.attach().expect("the agent comes");
                    for _ in 0..200 {
                        assert!(!attached.stacks().expect("stacks").stacks.is_empty());
                    }
                    assert!(attached.leave().expect("it leaves").confirmed);
                });
            }
        });
        assert!(!guest.has_file(agent_host::library_name()));
        guest.can_be_visited();
    });
}

#[test]
fn a_second_host_is_told_that_the_place_is_taken() {
    let guest = Guest::quiet(Runtime::Net31);
    let mut first = guest.attach().expect("the agent comes");
    let error = guest.attach().expect_err("this runtime has one place");
    assert!(matches!(error, AgentError::Taken), "{error}");
    assert!(!first.threads().expect("threads").threads.is_empty(), "the first is not disturbed");
    assert!(first.leave().expect("it leaves").confirmed);
    guest.can_be_visited();
}

#[test]
fn two_targets_share_one_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let guests: Vec<Guest> = (0..2)
        .map(|_| {
            let own = tempfile::tempdir().expect("a folder");
            let builder =
                testbed::shared().target("healthy-idle-service", Runtime::Net9).tmpdir(folder.path());
            Guest::started(builder, own, "")
        })
        .collect();
    std::thread::scope(|scope| {
        for guest in &guests {
            scope.spawn(|| (0..10).for_each(|_| guest.can_be_visited()));
        }
    });
    assert!(!folder.path().join(agent_host::library_name()).exists());
}

/// Such a runtime overlooks the profilers that it still has, and ends when one of them asks to leave.
#[test]
fn a_main_profiler_may_leave_while_the_agent_is_there() {
    every_runtime(|runtime| {
        if runtime == Runtime::Net31 {
            return;
        }
        let guest = Guest::with_known_stack(runtime);
        let mut ours = guest.attach().expect("the agent comes");
        // Its panic makes the runtime take it for a main profiler.
        let options = Options { fault: Some(Fault::NotificationOnly), ..Options::default() };
        let main = guest.attach_with(&options).expect("a main profiler comes");
        assert!(main.leave().expect("it leaves").confirmed);
        // We see it leave a moment before the runtime has counted. The next one to attach waits for that, whatever comes of it.
        let options = Options { fault: Some(Fault::Initialize), ..Options::default() };
        assert!(matches!(guest.attach_with(&options), Err(AgentError::NotLoaded { .. })));
        assert!(!ours.stacks().expect("stacks").stacks.is_empty());
        let farewell = ours.leave().expect("it says goodbye");
        assert_eq!((farewell.reason, farewell.confirmed), (Some(Reason::Told), false), "it stays, asleep");
        guest.wait_until_alone();
        guest.can_be_visited();
        guest.can_be_visited();
        assert!(guest.target.is_alive());
    });
}

#[test]
fn the_agent_lives_beside_a_main_profiler() {
    every_runtime(|runtime| {
        if runtime == Runtime::Net31 {
            return;
        }
        let guest = Guest::with_known_stack(runtime);
        let options = Options { fault: Some(Fault::NotificationOnly), ..Options::default() };
        let mut main = guest.attach_with(&options).expect("a main profiler comes");
        let error = guest.attach_with(&options).expect_err("there is one place for it");
        assert!(matches!(error, AgentError::Taken), "{error}");
        for _ in 0..3 {
            guest.can_be_visited();
        }
        assert!(!main.stacks().expect("stacks").stacks.is_empty(), "the first is not disturbed");
        assert!(main.leave().expect("it leaves").confirmed);
        guest.can_be_visited();
    });
}

/// A profiler that declines at the start of the program counts as one that left.
#[test]
fn a_profiler_that_declined_at_the_start_is_no_obstacle() {
    for runtime in Runtime::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("declines.so");
        std::fs::write(&library, agent_host::library()).expect("a library");
        let class = format!("{{{}}}", diagnostics_ipc::Guid(agent_wire::class_id(None)));
        let builder = testbed::shared()
            .target("healthy-idle-service", runtime)
            .tmpdir(folder.path())
            .env("CORECLR_ENABLE_PROFILING", "1")
            .env("CORECLR_PROFILER", class)
            .env("CORECLR_PROFILER_PATH", &library);
        let guest = Guest::started(builder, folder, "");
        guest.can_be_visited();
        guest.can_be_visited();
    }
}
