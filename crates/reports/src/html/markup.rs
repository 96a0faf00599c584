//! HTML in which only our own markup takes effect.

use crate::hostile::{LONGEST_PROSE, printable_within};

/// HTML under construction.
#[derive(Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup and words of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A string from the report, safe between tags and inside a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in printable_within(text, LONGEST_PROSE).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                _ => self.0.push(c),
            }
        }
        self
    }

    /// A number with at most one decimal, for a style or a coordinate.
    pub(super) fn number(&mut self, value: f64) -> &mut Self {
        let text = format!("{value:.1}");
        self.0.push_str(text.strip_suffix(".0").unwrap_or(&text));
        self
    }

    /// A whole element with a text in it; no `class` attribute when `class` is empty.
    pub(super) fn element(&mut self, name: &'static str, class: &'static str, text: &str) -> &mut Self {
        self.raw("<").raw(name);
        if !class.is_empty() {
            self.raw(" class=\"").raw(class).raw("\"");
        }
        self.raw(">").text(text).raw("</").raw(name).raw(">")
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}
