//! Strings of the target, made safe to look at.
//!
//! A type, thread or exception message may hold anything: a sequence that clears the screen or sets the
//! title, a character that shows the rest of the line backwards, a name of a megabyte. Nothing is dropped
//! without a trace, since a hidden character is often the very reason why two names differ.

use unicode_width::UnicodeWidthChar;

/// Longest name shown in a terminal, in characters.
pub const LONGEST_NAME: usize = 400;

/// Longest sentence shown in a terminal, and longest string shown in Markdown and HTML, in characters.
pub const LONGEST_PROSE: usize = 1_000;

/// Accents allowed on one letter. Real scripts need up to three; a heap of them paints over other lines.
const MOST_MARKS: usize = 3;

/// A string that is safe to print to a terminal, at most [`LONGEST_NAME`] characters long.
///
/// Characters that steer the terminal, reorder text or cannot be seen become `\n`, `\t` or `\u{1b}`; a cut
/// string ends in `…`.
///
/// ```
/// assert_eq!(reports::printable("Order\u{1b}[31m\u{202e}\n"), r"Order\u{1b}[31m\u{202e}\n");
/// ```
#[must_use]
pub fn printable(text: &str) -> String {
    printable_within(text, LONGEST_NAME)
}

/// Like [`printable`], with another limit on the length of the result, in characters.
#[must_use]
pub fn printable_within(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    // Where to cut if the text turns out too long: the last place that leaves room for the ellipsis.
    let mut cut = 0;
    let mut marks = MOST_MARKS;
    for c in text.chars() {
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        let before = out.len();
        if must_be_shown_escaped(c) || marks > MOST_MARKS {
            push_escaped(&mut out, c);
        } else {
            out.push(c);
        }
        length += out[before..].chars().count();
        if length > limit {
            out.truncate(cut);
            out.push('…');
            break;
        }
        if length < limit {
            cut = out.len();
        }
    }
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => out.extend(c.escape_unicode()),
    }
}

/// True for characters that steer a terminal, reorder text, break lines or leave no mark.
///
/// These are the control characters, the bidirectional controls and Unicode's `Default_Ignorable_Code_Point`
/// set (zero-width characters, variation selectors, tags, fillers), with the line separators and the
/// interlinear annotation marks added.
pub(crate) fn must_be_shown_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests;
