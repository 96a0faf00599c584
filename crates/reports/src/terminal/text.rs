//! Measuring, cutting and wrapping text by the columns it takes.

use unicode_width::UnicodeWidthChar;

/// Names shorter than this are cut at the end: two stumps would not help.
const SHORTEST_MIDDLE_CUT: usize = 12;

/// Columns that `text` takes.
///
/// The sum over characters, which is how most terminals count. Joined emoji may take fewer, never more.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Cuts the end off, so that the rest and `…` take at most `most` columns.
pub(crate) fn cut_end(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    if most == 0 {
        return String::new();
    }
    format!("{}…", start(text, most - 1).trim_end())
}

/// Cuts a text to at most `most` columns where it hurts least.
///
/// Names of types and methods begin alike and differ at the end, so a name loses first its parameters and then
/// its middle; a sentence or a command line loses its end.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let name = text.split('(').next().unwrap_or(text);
    let name_fits = name.len() < text.len() && width(name) < most;
    if width(text) <= most || most < SHORTEST_MIDDLE_CUT || name.contains(' ') || name_fits {
        return cut_end(text, most);
    }
    let head = start(name, (most - 1) / 3);
    let tail = end(name, most - 1 - width(head));
    format!("{head}…{tail}")
}

fn start(text: &str, most: usize) -> &str {
    let mut used = 0;
    for (index, c) in text.char_indices() {
        used += columns(c);
        if used > most {
            return &text[..index];
        }
    }
    text
}

fn end(text: &str, most: usize) -> &str {
    let mut used = 0;
    for (index, c) in text.char_indices().rev() {
        used += columns(c);
        if used > most {
            return &text[index + c.len_utf8()..];
        }
    }
    text
}

/// Where a text stands in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Fills a text with spaces up to `columns`.
pub(crate) fn pad(text: &str, columns: usize, align: Align) -> String {
    let fill = " ".repeat(columns.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{fill}"),
        Align::Right => format!("{fill}{text}"),
    }
}

/// Breaks a text at spaces into lines of at most `most` columns; longer words are broken between their parts, or anywhere.
pub(crate) fn wrap(text: &str, most: usize) -> Vec<String> {
    let most = most.max(2); // one wide character
    let mut lines = Vec::new();
    let mut line = String::new();
    for mut word in text.split(' ').filter(|word| !word.is_empty()) {
        let gap = usize::from(!line.is_empty());
        if width(&line) + gap + width(word) <= most {
            line.push_str(if gap == 1 { " " } else { "" });
            line.push_str(word);
            continue;
        }
        if gap == 1 {
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > most {
            let head = start(word, most);
            // A name breaks between its parts rather than within one.
            let part = head.rfind(['.', '/', '+']).map(|dot| &head[..=dot]);
            let head = part.filter(|part| width(part) * 2 > most).unwrap_or(head);
            lines.push(head.to_owned());
            word = &word[head.len()..];
        }
        line.push_str(word);
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}
