//! Failures of our own: panics in the agent.

use agent_host::{AgentError, Fault, Options, Reason, Stage};

use crate::support::{Guest, LONG, every_runtime};

#[test]
fn a_panic_anywhere_in_the_agent_harms_nobody() {
    every_runtime(|runtime| {
        let guest = Guest::with_known_stack(runtime);
        for fault in Fault::ALL {
            let options = Options { fault: Some(fault), ..Options::default() };
            match guest.attach_with(&options) {
                Ok(mut attached) => {
                    let answer = attached.stacks();
                    if matches!(fault, Fault::Answer | Fault::Suspended) {
                        let panicked = matches!(answer, Err(AgentError::Refused { stage: Stage::Panic, .. }));
                        assert!(panicked, "{fault:?} on {runtime}: {answer:?}");
                    } else {
                        assert!(answer.is_ok(), "{fault:?} on {runtime}: {answer:?}");
                    }
                    // Every question stands it; those that failed are refused.
                    guest.ask_everything(&mut attached).expect("answers or refusals");
                    // A fault of its last steps may cost the last word, never the end.
                    let farewell = attached.leave().expect("it leaves");
                    let reason = if fault == Fault::Leaving { None } else { Some(Reason::Told) };
                    assert_eq!(farewell.reason, reason, "{fault:?} on {runtime}");
                    assert_eq!(farewell.confirmed, fault != Fault::DetachSucceeded, "{fault:?} on {runtime}");
                }
                Err(error) => {
                    println!("{runtime}, {fault:?}: {error}");
                    let early = !matches!(
                        fault,
                        Fault::Answer
                            | Fault::Suspended
                            | Fault::DetachSucceeded
                            | Fault::Shutdown
                            | Fault::Release
                            | Fault::Frame
                            | Fault::Object
                            | Fault::Suspending
                            | Fault::Leaving
                    );
                    assert!(early, "{fault:?} on {runtime}: {error}");
                }
            }
            guest.wait_until_alone();
            // After the fault `NotificationOnly` this is also a visit to a runtime that has lost a main profiler: asked for a
            // detach at the wrong moment, it would end.
            guest.can_be_visited();
            assert!(guest.target.stderr_text().is_empty(), "{}", guest.target.stderr_text());
        }
    });
}

#[test]
fn a_panic_while_the_process_ends_is_no_crash() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let options = Options { fault: Some(Fault::Shutdown), ..Options::default() };
        let attached = guest.attach_with(&options).expect("the agent comes");
        guest.target.terminate().expect("a signal");
        let status = guest.target.wait_exit(LONG).expect("it ends");
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        assert!(signal.is_none_or(|signal| signal == 15), "{runtime}: {status}");
        drop(attached);
    });
}
