//! `drdotnet counters monitor` at a real terminal.

use rustix::process::Signal;
use testbed::{Runtime, Target, shared};

use crate::support::{User, eventually, send};
use crate::terminal::Terminal;

fn monitor(user: &User, target: &Target) -> Terminal {
    let pid = target.pid().to_string();
    let command = user.command(&["counters", "monitor", "-p", &pid, "--counters", "Box.Office"]);
    let terminal = Terminal::start(command);
    terminal.wait("hall.temperature");
    assert!(terminal.is_raw() && !terminal.is_given_back());
    terminal
}

#[test]
fn it_draws_reacts_to_keys_and_gives_the_terminal_back() {
    let user = User::new();
    let target = shared().target("healthy-metrics", Runtime::Net9).start().unwrap();
    let mut terminal = monitor(&user, &target);
    terminal.wait("[city=Gent,paid=cash, or \"card\"=later\\u{1b");
    terminal.wait("ticket.price (EUR) [city=Gent]");
    terminal.wait("p95 counter=0");
    terminal.press("p");
    terminal.wait("PAUSED · Patients9 (pid ");
    terminal.press("/hall");
    terminal.wait("filter: hall_");
    terminal.press("\r");
    terminal.wait("filter 'hall'");
    eventually("only what the filter lets pass", || {
        (!terminal.contents().contains("ticket.price")).then_some(())
    });
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!((code, seen.as_str()), (Some(0), ""));
}

#[test]
fn signals_and_ctrl_c_give_the_terminal_back() {
    let user = User::new();
    let target = shared().target("healthy-metrics", Runtime::Net9).start().unwrap();
    for signal in [Some(Signal::TERM), Some(Signal::HUP), None] {
        let mut terminal = monitor(&user, &target);
        match signal {
            // Twice, as impatient people do.
            Some(signal) => (0..2).for_each(|_| send(terminal.child.id(), signal)),
            None => terminal.press("\u{3}"),
        }
        let (code, seen) = terminal.ends();
        assert_eq!(code, Some(0), "{signal:?}: {seen}");
    }
    assert!(target.is_alive());
}

#[test]
fn a_target_that_dies_keeps_its_last_values_on_the_screen() {
    let user = User::new();
    let target = shared().target("healthy-metrics", Runtime::Net9).start().unwrap();
    let mut terminal = monitor(&user, &target);
    send(target.pid(), Signal::KILL);
    terminal.wait("has ended; these are its last values");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!(code, Some(8), "{seen}");
}

#[test]
fn a_terminal_that_becomes_tiny_does_no_harm() {
    let user = User::new();
    let target = shared().target("healthy-metrics", Runtime::Net9).start().unwrap();
    let mut terminal = monitor(&user, &target);
    for (columns, rows) in [(40, 10), (10, 3), (1, 1), (120, 50)] {
        terminal.resize(columns, rows);
        // It is no controlling terminal, so the news is brought by hand.
        send(terminal.child.id(), Signal::WINCH);
        let before = terminal.sent();
        terminal.press("d");
        eventually("it draws again", || (terminal.sent() > before).then_some(()));
    }
    terminal.press("q");
    assert_eq!(terminal.ends().0, Some(0));
}

#[test]
fn a_program_that_is_started_does_not_spoil_the_screen() {
    let user = User::new();
    let line = shared().target("healthy-metrics", Runtime::Net9).command().unwrap();
    let mut command = user.command(&["counters", "monitor", "--counters", "Box.Office", "--"]);
    command.args(line.words());
    line.apply_environment(&mut command);
    let mut terminal = Terminal::start(command);
    terminal.wait("hall.temperature");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen, "stopped the program that was started for this");
}
