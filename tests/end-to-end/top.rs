//! `drdotnet top`, at a terminal and without one.

use testbed::{Runtime, shared};

use crate::support::{User, eventually};
use crate::terminal::Terminal;

#[test]
fn it_shows_the_hottest_method_and_reacts_to_keys() {
    let user = User::new();
    let target = shared().target("hot-method", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let mut terminal = Terminal::start(user.command(&["top", "-p", &pid]));
    // The patient's culprit is what it has to name; its module's own code is what it is about.
    let culprit = testbed::patients().iter().find(|patient| patient.id == "hot-method").unwrap().culprits[0];
    terminal.wait(culprit);
    terminal.wait("on CPU");
    terminal.press("s");
    terminal.wait("total*");
    terminal.press("o");
    terminal.wait("waiting");
    terminal.press("o");
    terminal.press("f");
    terminal.wait("with the framework code it calls");
    terminal.press("t");
    terminal.wait("Enter only this thread");
    terminal.press("\r");
    terminal.wait("· thread ");
    terminal.press("\u{1b}");
    eventually("all threads again", || (!terminal.contents().contains("· thread ")).then_some(()));
    terminal.press("p");
    terminal.wait("PAUSED");
    terminal.press("/nothing has this name\r");
    terminal.wait("no method has the filter's text");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!((code, seen.as_str()), (Some(0), ""));
    assert!(target.is_alive());
}

#[test]
fn a_target_that_ends_is_said() {
    let user = User::new();
    let target = shared().target("hot-method", Runtime::Net9).start().unwrap();
    let pid = target.pid().to_string();
    let mut terminal = Terminal::start(user.command(&["top", "-p", &pid]));
    terminal.wait("on CPU ·");
    target.kill().unwrap();
    terminal.wait("ENDED");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!(code, Some(8), "{seen}");
    assert!(seen.contains("has ended"), "{seen}");
}

#[test]
fn without_a_terminal_it_prints_lines_until_its_time_is_over() {
    let user = User::new();
    let target = shared().target("hot-method", Runtime::Net8).start().unwrap();
    let pid = target.pid().to_string();
    let culprit = testbed::patients().iter().find(|patient| patient.id == "hot-method").unwrap().culprits[0];
    let run = user.says(&["top", "-p", &pid, "--duration", "5s", "--rate", "199"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains(culprit), "{}", run.stdout);
    assert!(run.stdout.contains("% CPU"), "{}", run.stdout);
}

#[test]
fn wrong_words_and_dead_processes_are_refused() {
    let user = User::new();
    assert_eq!(user.says(&["top", "-p", "4194303"]).code, Some(3));
    assert_eq!(user.says(&["top", "-p", "1", "--rate", "0"]).code, Some(2));
    assert_eq!(user.says(&["top", "-p", "1", "--interval", "often"]).code, Some(12));
}
