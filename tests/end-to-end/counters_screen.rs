//! `drdotnet counters monitor` at a real terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use testbed::{Runtime, Target, shared};

use crate::support::{User, eventually, send};

/// What a terminal is told to leave its second screen, and to show its cursor.
const GIVEN_BACK: [&str; 2] = ["\u{1b}[?1049l", "\u{1b}[?25h"];

/// A terminal with a program in it.
struct Terminal {
    keyboard: File,
    /// Kept open, so that what is written last is not lost, and for its settings.
    device: OwnedFd,
    seen: Arc<Mutex<String>>,
    child: Child,
}

impl Terminal {
    fn start(mut command: Command, columns: u16, rows: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("it can be used");
        unlockpt(&master).expect("it can be opened");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let name = name.to_str().expect("a path").to_owned();
        let device: OwnedFd = File::options().read(true).write(true).open(name).expect("it opens").into();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("it has a size");
        let end = || Stdio::from(device.try_clone().expect("a copy"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the command starts");
        let seen = Arc::new(Mutex::new(String::new()));
        let mut screen = File::from(master);
        let keyboard = screen.try_clone().expect("a copy");
        let writing = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                *writing.lock().expect("no panic") += &String::from_utf8_lossy(&buffer[..count]);
            }
        });
        Terminal { keyboard, device, seen, child }
    }

    fn seen(&self) -> String {
        self.seen.lock().expect("no panic").clone()
    }

    fn wait(&self, what: &str) {
        eventually(what, || self.seen().contains(what).then_some(()));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.device).expect("settings").local_modes.contains(LocalModes::ICANON)
    }

    /// Waits for the end; the terminal must be as it was.
    fn ends(mut self) -> (Option<i32>, String) {
        let status = eventually("the tool ends", || self.child.try_wait().expect("it can be waited for"));
        for sequence in GIVEN_BACK {
            self.wait(sequence);
        }
        assert!(!self.is_raw(), "the terminal was left in raw mode");
        (status.code(), self.seen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn monitor(user: &User, target: &Target) -> Terminal {
    let pid = target.pid().to_string();
    let command = user.command(&["counters", "monitor", "-p", &pid, "--counters", "Box.Office"]);
    let terminal = Terminal::start(command, 100, 40);
    terminal.wait("hall.temperature");
    assert!(terminal.is_raw());
    terminal
}

#[test]
fn it_draws_reacts_to_keys_and_gives_the_terminal_back() {
    let user = User::new();
    let target = shared().target("healthy-metrics", Runtime::Net9).start().unwrap();
    let mut terminal = monitor(&user, &target);
    terminal.press("p");
    terminal.wait("PAUSED");
    terminal.press("/hall");
    terminal.wait("filter: hall");
    terminal.press("\r");
    terminal.wait("filter 'hall'");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("\u{1b}[31m\u{1b}"), "the target's escapes are not sent on");
    assert!(seen.contains("later\\u{1b}"), "{seen}");
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
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.device, size).unwrap();
        // It is no controlling terminal, so the news is brought by hand.
        send(terminal.child.id(), Signal::WINCH);
        let before = terminal.seen().len();
        terminal.press("d");
        eventually("it draws again", || (terminal.seen().len() > before).then_some(()));
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
    let mut terminal = Terminal::start(command, 100, 40);
    terminal.wait("hall.temperature");
    terminal.press("q");
    let (code, seen) = terminal.ends();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("ready"), "{seen}");
    eventually("the farewell", || seen.contains("stopped the program").then_some(()));
}
