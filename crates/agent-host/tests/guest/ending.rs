//! Targets that end while the agent is there, or before it comes.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agent_host::{AgentError, Reason};
use process_view::ViewError;
use testbed::Runtime;

use crate::support::{Guest, LONG, every_runtime, wait_for};

/// One with many stacks to walk.
fn crowded(runtime: Runtime) -> Guest {
    Guest::busy(runtime, &["guests=200", "depth=50"])
}

/// Ends it, and demands that it ends as it does without a visitor.
fn ends_as_usual(guest: &Guest, usual: ExitStatus) {
    guest.target.terminate().expect("a signal");
    let status = guest.target.wait_exit(LONG).expect("it ends");
    assert_eq!(status, usual, "{}: {}", guest.target.runtime(), guest.target.stderr_text());
}

fn usual_end(runtime: Runtime) -> ExitStatus {
    let guest = crowded(runtime);
    guest.target.terminate().expect("a signal");
    let status = guest.target.wait_exit(LONG).expect("it ends");
    println!("{runtime} ends with {status}");
    assert!(status.signal().is_none_or(|signal| signal == 15), "{status}");
    status
}

#[test]
fn a_target_may_end_before_a_question() {
    every_runtime(|runtime| {
        let usual = usual_end(runtime);
        let guest = crowded(runtime);
        let attached = guest.attach().expect("the agent comes");
        ends_as_usual(&guest, usual);
        let farewell = attached.wait_gone(LONG).expect("it is gone");
        assert!(!farewell.confirmed, "{farewell:?}");

        let guest = crowded(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        guest.target.kill().expect("a signal");
        assert_eq!(guest.target.wait_exit(LONG).expect("it ends").signal(), Some(9));
        let error = attached.stacks().expect_err("nobody is there to answer");
        assert!(matches!(error, AgentError::Lost { .. }), "{error}");
    });
}

#[test]
fn a_target_may_end_while_its_stacks_are_walked() {
    every_runtime(|runtime| {
        let usual = usual_end(runtime);
        for _ in 0..3 {
            let guest = crowded(runtime);
            let mut attached = guest.attach().expect("the agent comes");
            let answers = AtomicU32::new(0);
            std::thread::scope(|scope| {
                let asking = scope.spawn(|| {
                    loop {
                        match guest.ask_everything(&mut attached) {
                            Ok(()) => answers.fetch_add(1, Ordering::Relaxed),
                            Err(error) => break error,
                        };
                    }
                });
                wait_for("some answers", || answers.load(Ordering::Relaxed) > 1 || asking.is_finished());
                ends_as_usual(&guest, usual);
                let error = asking.join().expect("no panic");
                // Its farewell may come through, where an answer was expected.
                println!("{runtime}: {error}");
                let shutdown = matches!(error, AgentError::Left { reason: Reason::Shutdown });
                assert!(shutdown || matches!(error, AgentError::Lost { .. }), "{error}");
            });
        }
    });
}

#[test]
fn a_target_may_end_while_the_agent_leaves() {
    every_runtime(|runtime| {
        let usual = usual_end(runtime);
        // Leaving takes about a third of a second.
        for delay in [0, 20, 150, 290] {
            let guest = crowded(runtime);
            let mut attached = guest.attach().expect("the agent comes");
            attached.stacks().expect("stacks");
            std::thread::scope(|scope| {
                let leaving = scope.spawn(|| attached.leave());
                std::thread::sleep(Duration::from_millis(delay));
                ends_as_usual(&guest, usual);
                let farewell = leaving.join().expect("no panic").expect("it is gone");
                println!("{runtime}, after {delay} ms: {farewell:?}");
            });
        }
    });
}

#[test]
fn a_target_that_has_ended_is_told_from_one_that_hangs() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        guest.target.kill().expect("a signal");
        // Nobody has collected it yet, or somebody has.
        wait_for("its end", || !guest.target.is_alive());
        let error = guest.attach().expect_err("it has ended");
        assert!(matches!(error, AgentError::Ended | AgentError::View(ViewError::Vanished { .. })), "{error}");
    });
}

#[test]
fn a_target_may_end_while_the_agent_comes() {
    every_runtime(|runtime| {
        for delay in [0, 1, 3] {
            let guest = Guest::quiet(runtime);
            std::thread::scope(|scope| {
                let coming = scope.spawn(|| guest.attach());
                std::thread::sleep(Duration::from_millis(delay));
                guest.target.terminate().expect("a signal");
                let status = guest.target.wait_exit(LONG).expect("it ends");
                assert!(status.signal().is_none_or(|signal| signal == 15), "{runtime}: {status}");
                match coming.join().expect("no panic") {
                    Ok(attached) => drop(attached),
                    Err(error) => println!("{runtime}, after {delay} ms: {error}"),
                }
            });
        }
    });
}
