//! What keys of all live screens have in common.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Longest filter.
const LONGEST_FILTER: usize = 100;

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// Nothing.
    None,
    /// The screen has changed.
    Draw,
    /// The user wants to leave.
    Quit,
}

/// Does what an event of the terminal asks for; `press` knows the keys of the screen.
pub fn react(event: &Event, press: impl FnOnce(KeyCode) -> Reaction) -> Reaction {
    match event {
        Event::Key(KeyEvent { kind: KeyEventKind::Release, .. }) => Reaction::None,
        Event::Key(key) if key.modifiers.contains(KeyModifiers::CONTROL) => match key.code {
            KeyCode::Char('c' | 'd') => Reaction::Quit,
            _ => Reaction::None,
        },
        Event::Key(key) => press(key.code),
        Event::Resize(..) => Reaction::Draw,
        _ => Reaction::None,
    }
}

/// A key while a filter is typed.
pub fn edit(filter: &mut String, editing: &mut bool, key: KeyCode) -> Reaction {
    match key {
        KeyCode::Enter => *editing = false,
        KeyCode::Esc => {
            filter.clear();
            *editing = false;
        }
        KeyCode::Backspace => _ = filter.pop(),
        KeyCode::Char(c) if filter.chars().count() < LONGEST_FILTER => filter.push(c),
        _ => return Reaction::None,
    }
    Reaction::Draw
}
