//! What keys do.

use ratatui::crossterm::event::{Event, KeyCode};

use super::rows::threads;
use super::state::{Picked, Side, State};
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
        KeyCode::Char('s' | 'S') => state.sort = state.sort.next(),
        KeyCode::Char('o' | 'O') if state.has_waits => flip(state),
        KeyCode::Char('f' | 'F') => {
            state.folded = !state.folded;
            state.forget_history();
        }
        KeyCode::Char('t' | 'T') | KeyCode::Tab => state.picking = !state.picking,
        KeyCode::Enter if state.picking => pick(state),
        KeyCode::Esc if state.picking => state.picking = false,
        KeyCode::Esc if state.picked.is_some() => state.picked = None,
        KeyCode::Esc => state.filter.clear(),
        code => return go(state, code),
    }
    Reaction::Draw
}

/// The other side of time.
fn flip(state: &mut State) {
    state.side = match state.side {
        Side::OnCpu => Side::OffCpu,
        Side::OffCpu => Side::OnCpu,
    };
    (state.scroll, state.cursor) = (0, 0);
}

/// Picks the thread under the cursor, or lets it go.
fn pick(state: &mut State) {
    let rows = threads(state);
    let Some(row) = rows.get(state.cursor.min(rows.len().saturating_sub(1))) else { return };
    let picked = Picked { id: row.id, name: row.name.clone() };
    state.picked = if state.picked.as_ref() == Some(&picked) { None } else { Some(picked) };
    (state.picking, state.scroll) = (false, 0);
}

fn go(state: &mut State, code: KeyCode) -> Reaction {
    let page = state.page;
    let place = if state.picking { &mut state.cursor } else { &mut state.scroll };
    *place = match code {
        KeyCode::Up | KeyCode::Char('k') => place.saturating_sub(1),
        // Drawing keeps it within what there is.
        KeyCode::Down | KeyCode::Char('j') => place.saturating_add(1),
        KeyCode::PageUp => place.saturating_sub(page),
        KeyCode::PageDown => place.saturating_add(page),
        KeyCode::Home => 0,
        KeyCode::End => usize::MAX,
        _ => return Reaction::None,
    };
    Reaction::Draw
}
