//! The same as plain lines, for a file, a pipe or a terminal that can do nothing else.

use std::time::Duration;

use reports::{LONGEST_PROSE, printable, printable_within};

use super::rows::{methods, percent, threads, total};
use super::state::{Side, State};
use super::view::{nothing, share};

/// Rows of a block.
const METHODS: usize = 20;
const THREADS: usize = 8;

/// The hottest methods and threads, under a line with the time.
pub fn block(state: &State, time: &str) -> String {
    let took = state.shown().map_or(Duration::ZERO, |interval| interval.took);
    let all = percent(total(state), took);
    let all = match state.side {
        Side::OnCpu => format!("{all:.0} % CPU"),
        Side::OffCpu => format!("{:.1} threads", all / 100.0),
    };
    let mut text = format!("{time}  {}  {}: {all}\n", printable(&state.title), state.side.words());
    let rows = methods(state);
    if rows.is_empty() {
        text += &format!("  {}\n", nothing(state));
    } else {
        text += &format!("{:>10} {:>10} method\n", "self", "total");
    }
    for row in rows.iter().take(METHODS) {
        text += &format!("{:>10} {:>10} {}\n", share(row.own, took), share(row.total, took), row.name);
    }
    let rows = threads(state);
    if !rows.is_empty() {
        text += &format!("{:>10} {:>10} thread\n", "time", "id");
    }
    for row in rows.iter().take(THREADS) {
        text += &format!("{:>10} {:>10} {}\n", share(row.time, took), row.id, row.name);
    }
    for note in &state.notes {
        text += &format!("! {}\n", printable_within(note, LONGEST_PROSE));
    }
    text
}
