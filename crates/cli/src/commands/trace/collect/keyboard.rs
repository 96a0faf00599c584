//! Keys that are pressed while a recording runs. Only a terminal that is ours to read has any.

use std::io::{IsTerminal, Read, Stdin, stdin};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Enter or q.
    Stop,
    /// s
    Save,
}

/// Which keys are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Enter.
    Enter,
    /// s, q and Enter, without Enter behind them.
    SaveAndStop,
}

/// The keyboard, if there is one. The terminal is as it was once this is dropped.
pub struct Keyboard {
    input: Option<Stdin>,
    before: Option<Termios>,
}

impl Keyboard {
    /// Begins to listen.
    pub fn open(keys: Keys) -> Keyboard {
        let input = stdin();
        // To read in the background would stop the tool.
        let is_ours =
            input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group == rustix::process::getpgrp());
        if !is_ours {
            return Keyboard { input: None, before: None };
        }
        let before = tcgetattr(&input).ok().filter(|_| keys == Keys::SaveAndStop);
        if let Some(before) = &before {
            let mut raw = before.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            let _ = tcsetattr(&input, OptionalActions::Now, &raw);
        }
        Keyboard { input: Some(input), before }
    }

    /// No keyboard.
    pub fn none() -> Keyboard {
        Keyboard { input: None, before: None }
    }

    /// Whether there are keys to be pressed.
    pub fn is_there(&self) -> bool {
        self.input.is_some()
    }

    /// The key that was pressed, if one was.
    pub fn pressed(&mut self) -> Option<Key> {
        let input = self.input.as_ref()?;
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut ready = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        if poll(&mut ready, Some(&at_once)).unwrap_or(0) == 0 {
            return None;
        }
        let mut bytes = [0; 64];
        let count = input.lock().read(&mut bytes).unwrap_or(0);
        if count == 0 {
            // The terminal is gone, and would be ready for ever.
            self.input = None;
            return None;
        }
        bytes.iter().take(count).find_map(|byte| match byte {
            b'\n' | b'\r' => Some(Key::Stop),
            b'q' | b'Q' if self.before.is_some() => Some(Key::Stop),
            b's' | b'S' if self.before.is_some() => Some(Key::Save),
            _ => None,
        })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let (Some(input), Some(before)) = (&self.input, &self.before) {
            let _ = tcsetattr(input, OptionalActions::Now, before);
        }
    }
}
