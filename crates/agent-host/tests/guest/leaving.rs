//! The agent goes by itself. How fast is a matter of the machine and is measured by the benchmark; that it goes, here.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use agent_host::{AgentError, Options, Reason};

use crate::killed::host;
use crate::support::{Guest, LONG, every_runtime, wait_for};

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
fn it_leaves_when_its_time_is_over_in_the_middle_of_an_answer() {
    every_runtime(|runtime| {
        let guest = Guest::busy(runtime, &["cleanings=50"]);
        let options = Options { stay: Duration::from_millis(500), ..Options::default() };
        let mut attached = guest.attach_with(&options).expect("the agent comes");
        let mut answers = 0;
        let error = loop {
            match attached.stacks() {
                Ok(_) => answers += 1,
                Err(error) => break error,
            }
        };
        println!("{runtime}: {answers} answers, then {error}");
        // Where an answer was expected comes its farewell, or the end of the line in the middle of one.
        let deadline = matches!(error, AgentError::Left { reason: Reason::Deadline });
        assert!(deadline || matches!(error, AgentError::Lost { .. }), "{error}");
        attached.wait_gone(LONG).expect("it leaves");
        guest.wait_until_alone();
        guest.can_be_visited();
    });
}

#[test]
fn it_leaves_when_its_host_is_killed() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let mut host = host(&guest, "hold");
        let mut line = String::new();
        let mut output = BufReader::new(host.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        assert!(line.starts_with("attached"), "{line}");
        wait_for("the agent's thread", || guest.has_agent_thread());
        host.kill().expect("killed");
        host.wait().expect("ended");
        guest.wait_until_alone();
        guest.can_be_visited();
    });
}
