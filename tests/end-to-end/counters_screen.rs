//! `drdotnet counters monitor` at a real terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use testbed::{Runtime, Target, shared};

use crate::support::{User, eventually, send};

/// A terminal's usual size.
const SIZE: (u16, u16) = (100, 40);

/// A terminal with a program in it.
struct Terminal {
    keyboard: File,
    /// Kept open, so that what is written last is not lost, and for its settings.
    device: OwnedFd,
    screen: Arc<Mutex<Screen>>,
    child: Child,
}

/// What is to be seen, and all that was sent.
struct Screen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    fn start(mut command: Command) -> Terminal {
        let (columns, rows) = SIZE;
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
        let size = |number| NonZero::new(number).expect("a size");
        let parser = vt100::Parser::new(size(rows), size(columns), 0);
        let screen = Arc::new(Mutex::new(Screen { parser, bytes: Vec::new() }));
        let mut output = File::from(master);
        let keyboard = output.try_clone().expect("a copy");
        let drawing = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let mut screen = drawing.lock().expect("no panic");
                screen.parser.process(&buffer[..count]);
                screen.bytes.extend(&buffer[..count]);
            }
        });
        Terminal { keyboard, device, screen, child }
    }

    /// What is to be seen.
    fn contents(&self) -> String {
        self.screen.lock().expect("no panic").parser.screen().contents()
    }

    /// How much was sent.
    fn sent(&self) -> usize {
        self.screen.lock().expect("no panic").bytes.len()
    }

    /// Whether it is the first screen, with its cursor.
    fn is_given_back(&self) -> bool {
        let screen = self.screen.lock().expect("no panic");
        !screen.parser.screen().alternate_screen() && !screen.parser.screen().hide_cursor()
    }

    fn wait(&self, what: &str) {
        eventually(what, || self.contents().contains(what).then_some(()));
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
        eventually("the terminal is given back", || self.is_given_back().then_some(()));
        assert!(!self.is_raw(), "the terminal was left in raw mode");
        (status.code(), self.contents())
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
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal.device, size).unwrap();
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
