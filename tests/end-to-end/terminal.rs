//! A real terminal with the tool in it.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::support::eventually;

/// A terminal's usual size.
const SIZE: (u16, u16) = (100, 40);

/// A terminal with a program in it.
pub struct Terminal {
    keyboard: File,
    /// Kept open, so that what is written last is not lost, and for its settings.
    device: OwnedFd,
    screen: Arc<Mutex<Screen>>,
    pub child: Child,
}

/// What is to be seen, and all that was sent.
struct Screen {
    parser: vt100::Parser,
    bytes: Vec<u8>,
}

impl Terminal {
    pub fn start(mut command: Command) -> Terminal {
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
    pub fn contents(&self) -> String {
        self.screen.lock().expect("no panic").parser.screen().contents()
    }

    /// How much was sent.
    pub fn sent(&self) -> usize {
        self.screen.lock().expect("no panic").bytes.len()
    }

    /// Whether it is the first screen, with its cursor.
    pub fn is_given_back(&self) -> bool {
        let screen = self.screen.lock().expect("no panic");
        !screen.parser.screen().alternate_screen() && !screen.parser.screen().hide_cursor()
    }

    pub fn wait(&self, what: &str) {
        eventually(what, || self.contents().contains(what).then_some(()));
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.device, size).expect("it can be resized");
    }

    pub fn is_raw(&self) -> bool {
        !tcgetattr(&self.device).expect("settings").local_modes.contains(LocalModes::ICANON)
    }

    /// Waits for the end; the terminal must be as it was.
    pub fn ends(mut self) -> (Option<i32>, String) {
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
