//! Failures of our own: panics in the agent, hosts that are killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent_host::{AgentError, Fault, Options, Reason, Stage};
use testbed::Runtime;

use crate::support::{Guest, LONG, every_runtime, wait_for};

#[test]
fn a_panic_anywhere_in_the_agent_harms_nobody() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
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
                    // A fault of its last steps may cost the last word, never the end.
                    let farewell = attached.leave().expect("it leaves");
                    assert_eq!(farewell.reason, Some(Reason::Told), "{fault:?} on {runtime}");
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

/// A host that can be killed, since it is a process of its own.
fn host(guest: &Guest, what: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_agent-probe"))
        .args([&guest.target.pid().to_string(), what])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the probe starts")
}

#[test]
fn a_killed_host_is_noticed() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let mut host = host(&guest, "hold");
        let mut line = String::new();
        BufReader::new(host.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert!(line.starts_with("attached"), "{line}");
        wait_for("the agent's thread", || guest.has_agent_thread());
        host.kill().expect("killed");
        host.wait().expect("ended");
        guest.wait_until_alone();
        guest.can_be_visited();
    });
}

#[test]
fn hosts_may_be_killed_at_any_moment() {
    every_runtime(|runtime| {
        let guest = match runtime {
            Runtime::Net10 => Guest::quiet(runtime),
            _ => Guest::of("exception-storm", runtime),
        };
        // The moments are spread over what a visit takes; where in it they fall is the machine's chance.
        for moment in 0..13u64 {
            let mut host = host(&guest, "stacks");
            std::thread::sleep(Duration::from_millis(moment * moment));
            host.kill().expect("killed");
            host.wait().expect("ended");
        }
        guest.wait_until_alone();
        guest.can_be_visited();
        // What was left behind by the dead is taken away by the living.
        assert!(!guest.has_file(agent_host::library_name()));
        assert!(guest.target.is_alive());
    });
}
