//! Fitting sentences to the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrowest text that is worth wrapping; a narrower terminal wraps by itself.
const NARROWEST: usize = 20;

/// Wraps `text`, which begins at column `indent`; its further lines begin there, too. Without a width nothing is
/// wrapped: somebody may be searching in it.
pub fn hanging(indent: usize, text: &str, width: Option<usize>) -> String {
    let Some(room) = width.map(|width| width.saturating_sub(indent)).filter(|room| *room >= NARROWEST) else {
        return text.to_owned();
    };
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > room {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        } else if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if line.width() + c.width().unwrap_or(0) > room {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
        // Two spaces in a row set a command apart from its explanation; they are kept inside a line.
        if word.is_empty() && !line.is_empty() && !line.ends_with(' ') {
            line.push(' ');
        }
    }
    lines.push(line.trim_end().to_owned());
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_under_its_first_word() {
        let text = hanging(4, "one two three four five six seven", Some(24));
        assert_eq!(text, "one two three four\n    five six seven");
    }

    #[test]
    fn a_long_word_is_broken_and_no_line_is_too_wide() {
        let text = hanging(2, &format!("at {}", "x".repeat(50)), Some(30));
        assert!(text.lines().all(|line| line.trim_start().len() <= 28), "{text}");
        assert_eq!(text.matches('x').count(), 50);
    }

    #[test]
    fn spaces_that_set_a_command_apart_are_kept() {
        let text = "drdotnet ps   lists them";
        assert_eq!(hanging(8, text, Some(80)), text);
        assert_eq!(hanging(8, text, None), text);
    }
}
