//! A Markdown document in which only our own markup takes effect.

use crate::hostile::{LONGEST_PROSE, printable_within};

/// A Markdown document under construction.
#[derive(Default)]
pub(super) struct Document(String);

impl Document {
    /// Markup and words of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A string from the report.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.0.push_str(&escape(text));
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// Escapes a text so that it means itself wherever a word may stand, including the cell of a table.
///
/// Characters that are harmless in their place (`.` and `-` in `System.Threading`) stay as they are: people
/// read the source of these files as well.
fn escape(text: &str) -> String {
    let text = printable_within(text, LONGEST_PROSE);
    // Four leading spaces would begin a block of code.
    let text = text.trim();
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == text.len();
        let after = &rest[c.len_utf8()..];
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // GitHub looks for addresses and @mentions after Markdown is done, where no escape is left to
            // see. It leaves code alone, so the sign, and each run of it, becomes code.
            '@' => {
                let run = rest.len() - rest.trim_start_matches('@').len();
                out.push('`');
                out.push_str(&rest[..run]);
                out.push('`');
                rest = &rest[run..];
                continue;
            }
            // The same holds for references to issues.
            '#' if after.starts_with(|next: char| next.is_ascii_digit()) => out.push_str("`#`"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' => push_escaped(&mut out, c),
            // `http://` and `www.` become links without any brackets.
            ':' if after.starts_with('/') => push_escaped(&mut out, c),
            '.' if ends_with_www(&out) => push_escaped(&mut out, c),
            // At the start of a line these begin a list, a rule or a heading; `-5` and `2.95` do not.
            '-' | '+' | '=' if at_start && !begins_word(after) => push_escaped(&mut out, c),
            '.' | ')' if is_number(&out) && !begins_word(after) => push_escaped(&mut out, c),
            _ => out.push(c),
        }
        rest = after;
    }
    out
}

fn push_escaped(out: &mut String, c: char) {
    out.push('\\');
    out.push(c);
}

fn begins_word(text: &str) -> bool {
    text.starts_with(char::is_alphanumeric)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn ends_with_www(text: &str) -> bool {
    text.len() >= 3
        && text.is_char_boundary(text.len() - 3)
        && text[text.len() - 3..].eq_ignore_ascii_case("www")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_markup_survives() {
        for (text, escaped) in [
            ("System.Threading.Monitor", "System.Threading.Monitor"),
            ("List<string>&", "List&lt;string&gt;&amp;"),
            ("[click](http://evil)", r"\[click\](http\://evil)"),
            ("![x](//evil/x.png)", r"!\[x\](//evil/x.png)"),
            ("a|b\nc", r"a\|b\\nc"),
            ("`code` **bold** _it_ ~~no~~", r"\`code\` \*\*bold\*\* \_it\_ \~\~no\~\~"),
            ("www.evil.com", r"www\.evil.com"),
            ("me@evil.com, @@you", "me`@`evil.com, `@@`you"),
            ("see #12, C#", r"see `#`12, C\#"),
            ("# heading", r"\# heading"),
            ("- item", r"\- item"),
            ("1. item", r"1\. item"),
            ("2.95 s", "2.95 s"),
            ("-5 ms", "-5 ms"),
            (".NET Tiered", ".NET Tiered"),
            ("---", r"\---"),
            ("12) item", r"12\) item"),
            ("    code", "code"),
            ("a - b + c. d", "a - b + c. d"),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }
}
