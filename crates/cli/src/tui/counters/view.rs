//! The screen.

use std::time::Instant;

use model::format_duration;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use reports::printable_within;
use unicode_width::UnicodeWidthStr;

use super::figures::{change, name, value};
use super::rows::{Label, Row, moved, primary, rows, title};
use super::state::State;
use crate::tui::paint::{Paint, fit, trend};

/// Columns of a value and of a change.
const VALUE: usize = 14;
/// Widest trend.
const TREND: usize = 60;
/// Narrowest name beside a trend.
const NAME: usize = 34;
/// Most notes that are shown.
const MOST_NOTES: usize = 4;

const KEYS: &str = "q quit  p pause  / filter  s sort  d changes  arrows scroll";

/// Draws the screen.
pub fn draw(frame: &mut Frame<'_>, state: &mut State, now: Instant) {
    let area = frame.area();
    let notes = notes(state, usize::from(area.width));
    let note_lines = u16::try_from(notes.len()).unwrap_or_default().min(area.height.saturating_sub(4));
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(note_lines),
        Constraint::Length(1),
    ]);
    let [top, heads, body, bottom, keys] = parts.areas(area);
    let columns = Columns::new(usize::from(area.width), state.deltas);
    let paint = Paint { colour: state.colour };
    frame
        .render_widget(Paragraph::new(headline(state, now, usize::from(area.width))).style(paint.bar()), top);
    frame.render_widget(Paragraph::new(columns.heads()).style(paint.dim()), heads);
    let where_in = body_rows(frame, state, now, body, &columns, &paint);
    frame.render_widget(Paragraph::new(notes).style(paint.note()), bottom);
    let line = if state.editing {
        format!("filter: {}_   Enter keeps it, Esc clears it", printable_within(&state.filter, 60))
    } else {
        KEYS.to_owned()
    };
    let left = usize::from(area.width).saturating_sub(where_in.width());
    frame.render_widget(Paragraph::new(fit(&line, left) + &where_in).style(paint.bar()), keys);
}

fn headline(state: &State, now: Instant, width: usize) -> String {
    let who = match state.subjects.as_slice() {
        [one] => title(one),
        several => format!("{} processes", several.len()),
    };
    let mut parts = vec![who, format!("every {}", format_duration(state.interval))];
    if state.is_paused() {
        // First, because it explains why nothing moves.
        parts.insert(0, "PAUSED".to_owned());
    }
    if !state.filter.is_empty() && !state.editing {
        parts.push(format!("filter '{}'", printable_within(&state.filter, 40)));
    }
    if state.sort != super::state::Sort::Name {
        parts.push(format!("by {}", state.sort.word()));
    }
    let seconds = now.saturating_duration_since(state.begin).as_secs();
    parts.push(format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60));
    fit(&parts.join(" · "), width)
}

/// Which columns there is room for.
struct Columns {
    name: usize,
    change: bool,
    trend: usize,
}

impl Columns {
    fn new(width: usize, deltas: bool) -> Columns {
        let numbers = (VALUE + 1) * if deltas { 2 } else { 1 };
        let left = width.saturating_sub(numbers);
        // A third for the trend, if the name has enough.
        let trend = (left / 3).min(TREND).min(left.saturating_sub(NAME + 1));
        let trend = if trend < 8 { 0 } else { trend };
        let gap = if trend > 0 { 1 } else { 0 };
        Columns { name: left.saturating_sub(trend + gap), change: deltas, trend }
    }

    fn heads(&self) -> String {
        let mut text = fit("", self.name);
        text += &format!(" {:>VALUE$}", "value");
        if self.change {
            text += &format!(" {:>VALUE$}", "change");
        }
        if self.trend > 0 {
            text += &format!(" {:>width$}", "trend", width = self.trend);
        }
        text
    }
}

/// Draws the rows, and hands out which of them when not all fit.
fn body_rows(
    frame: &mut Frame<'_>,
    state: &mut State,
    now: Instant,
    area: Rect,
    columns: &Columns,
    paint: &Paint,
) -> String {
    let height = usize::from(area.height);
    let (lines, scroll, all) = {
        let rows = rows(state, now);
        let scroll = state.scroll.min(rows.len().saturating_sub(height));
        let visible = rows.iter().skip(scroll).take(height);
        let lines: Vec<Line<'_>> = visible.map(|row| line(row, state, columns, paint)).collect();
        (lines, scroll, rows.len())
    };
    frame.render_widget(Paragraph::new(lines), area);
    (state.scroll, state.page) = (scroll, height.max(1));
    if all <= height { String::new() } else { format!("  {}-{} of {all}", scroll + 1, scroll + height) }
}

fn line(row: &Row<'_>, state: &State, columns: &Columns, paint: &Paint) -> Line<'static> {
    match row {
        Row::Process { title, trouble } => {
            let mut spans = vec![Span::styled(title.clone(), paint.title())];
            spans.extend(trouble.iter().map(|trouble| Span::styled(format!("  {trouble}"), paint.trouble())));
            Line::from(spans)
        }
        Row::Provider(name) => Line::styled(format!("[{name}]"), paint.provider()),
        Row::Counter { series, tags } => {
            Line::raw(format!("  {}{tags}", name(&series.counter, &series.reading, state.interval)))
        }
        Row::Words(words) => Line::styled(format!("  {words}"), paint.dim()),
        Row::Value { series, label, quantile } => {
            let unit = series.counter.unit.as_deref();
            let (text, style) = match label {
                Label::Name(tags) => {
                    let name = name(&series.counter, &series.reading, state.interval);
                    (format!("  {name}{tags}"), Style::new())
                }
                Label::Tags(tags) => (format!("    {tags}"), paint.dim()),
            };
            let number = quantile.map_or_else(|| primary(&series.reading), |one| Some(one.value));
            let number = number.map_or("-".to_owned(), |number| value(number, unit));
            let mut spans =
                vec![Span::styled(fit(&text, columns.name), style), Span::raw(format!(" {number:>VALUE$}"))];
            // A histogram has one history, that of its headline.
            let is_headline = quantile.is_none() || *quantile == series.reading.headline_quantile();
            if columns.change {
                let moved = if is_headline { moved(series).map(|by| change(by, unit)) } else { None };
                spans.push(Span::raw(format!(" {:>VALUE$}", moved.unwrap_or_default())));
            }
            if columns.trend > 0 && is_headline {
                let bars = trend(series.history(), columns.trend);
                // Now is at the right, in every row.
                spans.push(Span::styled(format!(" {bars:>width$}", width = columns.trend), paint.trend()));
            }
            Line::from(spans)
        }
    }
}

/// What is worth a word, in lines that fit.
fn notes(state: &State, width: usize) -> Vec<Line<'static>> {
    let several = state.subjects.len() > 1;
    let mut lines: Vec<Line<'static>> = Vec::new();
    for subject in &state.subjects {
        for note in subject.board.notes() {
            let who = if several { format!("pid {}: ", subject.pid) } else { String::new() };
            let text = printable_within(&format!("! {who}{note}"), reports::LONGEST_PROSE);
            let wrapped = crate::layout::hanging(2, text.trim_start_matches("! "), Some(width));
            let text = format!("! {wrapped}");
            lines.extend(text.lines().map(|line| Line::raw(line.to_owned())));
        }
    }
    lines.truncate(MOST_NOTES);
    lines
}
