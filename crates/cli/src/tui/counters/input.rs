//! What keys do.

use ratatui::crossterm::event::{Event, KeyCode};

use super::state::State;
use crate::tui::keys::{self, Reaction};

/// Does what a key, or another event of the terminal, asks for.
pub fn react(state: &mut State, event: &Event) -> Reaction {
    keys::react(event, |key| press(state, key))
}

fn press(state: &mut State, key: KeyCode) -> Reaction {
    if state.editing {
        state.scroll = 0;
        return keys::edit(&mut state.filter, &mut state.editing, key);
    }
    match key {
        KeyCode::Char('q' | 'Q') => return Reaction::Quit,
        KeyCode::Char('p' | 'P' | ' ') if state.is_paused() => state.resume(),
        KeyCode::Char('p' | 'P' | ' ') => state.pause(),
        KeyCode::Char('r' | 'R') => state.resume(),
        KeyCode::Char('/') => state.editing = true,
        KeyCode::Esc => state.filter.clear(),
        KeyCode::Char('s' | 'S') => state.sort = state.sort.next(),
        KeyCode::Char('d' | 'D') => state.deltas = !state.deltas,
        KeyCode::Up | KeyCode::Char('k') => state.scroll = state.scroll.saturating_sub(1),
        // Drawing keeps it within what there is.
        KeyCode::Down | KeyCode::Char('j') => state.scroll = state.scroll.saturating_add(1),
        KeyCode::PageUp => state.scroll = state.scroll.saturating_sub(state.page),
        KeyCode::PageDown => state.scroll = state.scroll.saturating_add(state.page),
        KeyCode::Home => state.scroll = 0,
        KeyCode::End => state.scroll = usize::MAX,
        _ => return Reaction::None,
    }
    Reaction::Draw
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use ratatui::crossterm::event::{KeyEvent, KeyModifiers};

    use super::super::state::Sort;
    use super::*;

    fn state() -> State {
        State::new([(1, "a".to_owned(), None)], Duration::from_secs(1), Instant::now())
    }

    fn key(state: &mut State, code: KeyCode) -> Reaction {
        react(state, &Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    #[test]
    fn letters_belong_to_the_filter_while_it_is_typed() {
        let mut state = state();
        key(&mut state, KeyCode::Char('/'));
        for c in "cpuq".chars() {
            assert_eq!(key(&mut state, KeyCode::Char(c)), Reaction::Draw);
        }
        key(&mut state, KeyCode::Backspace);
        key(&mut state, KeyCode::Enter);
        assert_eq!((state.filter.as_str(), state.editing), ("cpu", false));
        assert_eq!(key(&mut state, KeyCode::Char('q')), Reaction::Quit);
        key(&mut state, KeyCode::Esc);
        assert_eq!(state.filter, "");
    }

    #[test]
    fn ctrl_c_leaves_even_while_the_filter_is_typed() {
        let mut state = state();
        state.editing = true;
        let ctrl_c = Event::Key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(react(&mut state, &ctrl_c), Reaction::Quit);
    }

    #[test]
    fn pause_sort_changes_and_scroll() {
        let mut state = state();
        key(&mut state, KeyCode::Char(' '));
        assert!(state.is_paused());
        key(&mut state, KeyCode::Char('r'));
        assert!(!state.is_paused());
        key(&mut state, KeyCode::Char('s'));
        assert_eq!(state.sort, Sort::Value);
        key(&mut state, KeyCode::Char('d'));
        assert!(state.deltas);
        key(&mut state, KeyCode::Down);
        key(&mut state, KeyCode::End);
        assert_eq!(state.scroll, usize::MAX);
        key(&mut state, KeyCode::PageUp);
        key(&mut state, KeyCode::Home);
        assert_eq!((state.scroll, key(&mut state, KeyCode::F(5))), (0, Reaction::None));
    }
}
