//! Hosts that are killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Chance, Guest, every_runtime};

/// Hosts that are killed on each runtime.
const KILLED: u32 = 50;

/// A host that can be killed, since it is a process of its own.
pub fn host(guest: &Guest, what: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_agent-probe"))
        .args([&guest.target.pid().to_string(), what])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the probe starts")
}

/// What a host that failed has to say.
fn said(host: &mut Child) -> String {
    let mut text = String::new();
    let errors = host.stderr.take().expect("a pipe");
    BufReader::new(errors).read_to_string(&mut text).expect("text");
    text
}

#[test]
fn hosts_may_be_killed_at_any_moment() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &[]);
        let mut chance = Chance::new();
        let began = Instant::now();
        assert!(host(&guest, "stacks").wait().expect("it ends").success());
        let whole = began.elapsed();
        for round in 0..KILLED {
            let mut host = host(&guest, "stacks");
            // Every second one is killed after it was attached: while it asks, is answered, or waits for the farewell.
            let mut output = BufReader::new(host.stdout.take().expect("a pipe"));
            if round % 2 == 1 {
                let mut line = String::new();
                output.read_line(&mut line).expect("a line");
                assert!(line.starts_with("attached"), "{runtime}, round {round}: {}", said(&mut host));
            }
            // The moments are spread over what a visit takes; where in it they fall is the machine's chance.
            std::thread::sleep(whole.mul_f64(chance.share()).min(Duration::from_secs(2)));
            host.kill().expect("killed");
            host.wait().expect("ended");
            assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
        }
        guest.wait_until_alone();
        guest.can_be_visited();
        // What was left behind by the dead is taken away by the living.
        assert!(!guest.has_file(agent_host::library_name()));
        guest.still_works();
    });
}
