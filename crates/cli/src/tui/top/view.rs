//! The screen.

use std::time::{Duration, Instant};

use model::format_duration;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use reports::{printable, printable_within};
use unicode_width::UnicodeWidthStr;

use super::rows::{MethodRow, ThreadRow, methods, percent, threads, total};
use super::state::{Side, State, Status};
use crate::tui::paint::{Paint, fit, trend_from_zero};

/// Columns of a number.
const NUMBER: usize = 8;
/// Widest trend.
const TREND: usize = 40;
/// Narrowest name beside a trend.
const NAME: usize = 40;
/// Most lines of notes.
const MOST_NOTES: usize = 2;
/// Most threads that are shown while none is being picked.
const THREADS: u16 = 6;

const KEYS: &str = "q quit  p pause  o on/off CPU  s sort  t threads  f fold framework  / filter";
const PICKING: &str = "arrows choose  Enter only this thread, or all again  Esc back";

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, state: &mut State, now: Instant) {
    let area = frame.area();
    let width = usize::from(area.width);
    let paint = Paint { colour: state.colour };
    let notes = notes(state, width);
    let note_lines = u16::try_from(notes.len()).unwrap_or_default().min(area.height.saturating_sub(6));
    let thread_lines = thread_lines(state, area.height);
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(thread_lines),
        Constraint::Length(note_lines),
        Constraint::Length(1),
    ]);
    let [top, heads, body, below, bottom, keys] = parts.areas(area);
    let columns = Columns::new(width);
    frame.render_widget(Paragraph::new(headline(state, now, width)).style(paint.bar()), top);
    frame.render_widget(Paragraph::new(columns.heads(state)).style(paint.dim()), heads);
    let where_in = draw_methods(frame, state, body, &columns, &paint);
    draw_threads(frame, state, below, &paint);
    frame.render_widget(Paragraph::new(notes).style(paint.note()), bottom);
    let line = match (state.editing, state.picking) {
        (true, _) => {
            format!("filter: {}_   Enter keeps it, Esc clears it", printable_within(&state.filter, 60))
        }
        (_, true) => PICKING.to_owned(),
        _ => KEYS.to_owned(),
    };
    let left = width.saturating_sub(where_in.width());
    frame.render_widget(Paragraph::new(fit(&line, left) + &where_in).style(paint.bar()), keys);
}

fn headline(state: &State, now: Instant, width: usize) -> String {
    let mut parts = vec![printable(&state.title), state.side.words().to_owned()];
    if let Some(interval) = state.shown() {
        let all = percent(total(state), interval.took);
        parts.push(match state.side {
            Side::OnCpu => format!("{all:.0} % CPU"),
            Side::OffCpu => format!("{:.1} threads", all / 100.0),
        });
        parts.push(format!("{} samples", interval.samples));
        if interval.lost > 0 {
            parts.push(format!("{} LOST", interval.lost));
        }
    }
    if let Some(picked) = &state.picked {
        parts.push(format!("thread {} {}", picked.id, picked.name));
    }
    if state.status == Status::Ended {
        parts.insert(0, "ENDED".to_owned());
    }
    if state.is_paused() {
        // First, because it explains why nothing moves.
        parts.insert(0, "PAUSED".to_owned());
    }
    if !state.filter.is_empty() && !state.editing {
        parts.push(format!("filter '{}'", printable_within(&state.filter, 40)));
    }
    let seconds = now.saturating_duration_since(state.begin).as_secs();
    parts.push(format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    fit(&parts.join(" · "), width)
}

/// Which columns there is room for.
struct Columns {
    name: usize,
    trend: usize,
}

impl Columns {
    fn new(width: usize) -> Columns {
        let left = width.saturating_sub(2 * (NUMBER + 1));
        let trend = (left / 3).min(TREND).min(left.saturating_sub(NAME + 1));
        let trend = if trend < 8 { 0 } else { trend };
        let gap = usize::from(trend > 0);
        Columns { name: left.saturating_sub(trend + gap), trend }
    }

    fn heads(&self, state: &State) -> String {
        let sorted =
            |word: &str| if state.sort.word() == word { format!("{word}*") } else { word.to_owned() };
        let folded = if state.folded { "method, with the framework code it calls" } else { "method" };
        let mut text = format!(" {:>NUMBER$} {:>NUMBER$}", sorted("self"), sorted("total")).split_off(1);
        text += &format!(" {}", fit(folded, self.name));
        if self.trend > 0 {
            text += &format!(" {:>width$}", "trend of self", width = self.trend);
        }
        text
    }
}

/// Draws the methods, and hands out which of them when not all fit.
fn draw_methods(
    frame: &mut Frame<'_>,
    state: &mut State,
    area: Rect,
    columns: &Columns,
    paint: &Paint,
) -> String {
    let height = usize::from(area.height);
    let rows = methods(state);
    let scroll = state.scroll.min(rows.len().saturating_sub(height));
    let took = state.shown().map_or(Duration::ZERO, |interval| interval.took);
    let mut lines: Vec<Line<'_>> = rows
        .iter()
        .skip(scroll)
        .take(height)
        .map(|row| method_line(row, state, took, columns, paint))
        .collect();
    if rows.is_empty() {
        lines.push(Line::styled(format!("  {}", nothing(state)), paint.dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
    (state.scroll, state.page) = (scroll, height.max(1));
    if rows.len() <= height {
        String::new()
    } else {
        format!("  {}-{} of {}", scroll + 1, scroll + height, rows.len())
    }
}

/// Why there is nothing to see.
pub(super) fn nothing(state: &State) -> &'static str {
    match (state.shown(), state.side) {
        (None, _) => "the first samples come in a second",
        _ if !state.filter.is_empty() => "no method has the filter's text in it",
        _ if state.picked.is_some() => "this thread has none in this interval",
        (_, Side::OnCpu) => "it did not run: o shows where its threads wait",
        (_, Side::OffCpu) => "no thread waited for anything but work",
    }
}

fn method_line(
    row: &MethodRow,
    state: &State,
    took: Duration,
    columns: &Columns,
    paint: &Paint,
) -> Line<'static> {
    let style = match (row.is_own, state.colour) {
        (true, true) => Style::new().fg(Color::Green).add_modifier(Modifier::BOLD),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
        (false, _) => Style::new(),
    };
    let mut spans = vec![
        Span::raw(format!("{:>NUMBER$}", share(row.own, took))),
        Span::raw(format!(" {:>NUMBER$} ", share(row.total, took))),
        Span::styled(fit(&row.name, columns.name), style),
    ];
    if columns.trend > 0 && state.picked.is_none() {
        let bars = trend_from_zero(state.history(&row.name).into_iter(), columns.trend);
        // Now is at the right, in every row.
        spans.push(Span::styled(format!(" {bars:>width$}", width = columns.trend), paint.trend()));
    }
    Line::from(spans)
}

/// A time in per cent of one processor or thread.
pub(super) fn share(time: u64, took: Duration) -> String {
    format!("{:.1} %", percent(time, took))
}

fn thread_lines(state: &State, height: u16) -> u16 {
    let most = if state.picking { height / 2 } else { THREADS.min(height / 4) };
    let rows = u16::try_from(threads(state).len()).unwrap_or(u16::MAX);
    // A head, and nothing on a screen that is too small for it.
    if most < 2 || rows == 0 { 0 } else { rows.saturating_add(1).min(most) }
}

fn draw_threads(frame: &mut Frame<'_>, state: &mut State, area: Rect, paint: &Paint) {
    let height = usize::from(area.height).saturating_sub(1);
    if height == 0 {
        return;
    }
    let rows = threads(state);
    state.cursor = state.cursor.min(rows.len().saturating_sub(1));
    let took = state.shown().map_or(Duration::ZERO, |interval| interval.took);
    let skip = if state.picking { (state.cursor + 1).saturating_sub(height) } else { 0 };
    let mut lines = vec![Line::styled(format!("{:>NUMBER$} {:>NUMBER$} thread", "time", "id"), paint.dim())];
    for (place, row) in rows.iter().enumerate().skip(skip).take(height) {
        let is_picked = state.picked.as_ref().is_some_and(|picked| picked.id == row.id);
        let style = match state.picking && place == state.cursor {
            true => paint.bar(),
            false if is_picked => Style::new().add_modifier(Modifier::BOLD),
            false => Style::new(),
        };
        lines.push(Line::styled(thread_line(row, took, usize::from(area.width)), style));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn thread_line(row: &ThreadRow, took: Duration, width: usize) -> String {
    fit(&format!("{:>NUMBER$} {:>NUMBER$} {}", share(row.time, took), row.id, row.name), width)
}

/// What is worth a word, in lines that fit.
fn notes(state: &State, width: usize) -> Vec<Line<'static>> {
    let mut texts: Vec<String> = state.notes.clone();
    if let Some(interval) = state.shown().filter(|one| state.side == Side::OffCpu && !one.idle.is_zero()) {
        texts.push(format!(
            "{} of waiting for work (idle pool, service threads) is left out",
            format_duration(interval.idle)
        ));
    }
    let mut lines: Vec<Line<'static>> = texts
        .iter()
        .map(|text| Line::raw(fit(&format!("! {}", printable_within(text, reports::LONGEST_PROSE)), width)))
        .collect();
    lines.truncate(MOST_NOTES);
    lines
}
