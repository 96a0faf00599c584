//! The same as plain lines, for a file, a pipe or a terminal that can do nothing else.

use std::time::Instant;

use reports::{LONGEST_PROSE, printable_within};

use super::figures::{change, name, value};
use super::rows::{Label, Row, moved, primary, rows, title};
use super::state::State;

/// Column where values end.
const WIDTH: usize = 72;

/// All rows of the screen, under a line with the time.
pub fn block(state: &State, time: &str, now: Instant) -> String {
    let mut text = match state.subjects.as_slice() {
        [one] => format!("{time}  {}\n", title(one)),
        several => format!("{time}  {} processes\n", several.len()),
    };
    for row in rows(state, now) {
        let (label, number, moved) = match row {
            Row::Process { title, trouble } => {
                let trouble = trouble.map(|trouble| format!(": {trouble}")).unwrap_or_default();
                text += &format!("{title}{trouble}\n");
                continue;
            }
            Row::Provider(name) => {
                text += &format!("[{name}]\n");
                continue;
            }
            Row::Words(words) => {
                text += &format!("  {words}\n");
                continue;
            }
            Row::Counter { series, tags } => {
                text += &format!("  {}{tags}\n", name(&series.counter, &series.reading, state.interval));
                continue;
            }
            Row::Value { series, label, quantile } => {
                let label = match label {
                    Label::Name(tags) => {
                        format!("  {}{tags}", name(&series.counter, &series.reading, state.interval))
                    }
                    Label::Tags(tags) => format!("    {tags}"),
                };
                let unit = series.counter.unit.as_deref();
                let number = quantile.map_or_else(|| primary(&series.reading), |one| Some(one.value));
                let number = number.map_or("-".to_owned(), |number| value(number, unit));
                let moved = moved(series).filter(|_| state.deltas && quantile.is_none());
                (label, number, moved.map(|by| change(by, unit)).unwrap_or_default())
            }
        };
        let gap = WIDTH.saturating_sub(label.chars().count() + number.chars().count()).max(2);
        let line = format!("{label}{}{number}  {moved}", " ".repeat(gap));
        text += &format!("{}\n", line.trim_end());
    }
    for subject in &state.subjects {
        for note in subject.board.notes() {
            let note = format!("pid {}: {note}", subject.pid);
            text += &format!("! {}\n", printable_within(&note, LONGEST_PROSE));
        }
    }
    text
}
