//! The formats. A new one is one file plus one line in [`FORMATS`].

use model::Report;

use crate::{TerminalStyle, html, json, markdown, terminal};

/// A way to show a report.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// What the user types.
    pub id: &'static str,
    /// Extension of a file in this format, without the dot.
    pub extension: &'static str,
    /// What it is for, in one line.
    pub description: &'static str,
    renderer: fn(&Report) -> String,
}

/// Every format, in the order in which help lists them.
#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { id: "terminal", extension: "txt", description: "plain text for an 80-column terminal", renderer: plain_terminal },
    Format { id: "markdown", extension: "md", description: "GitHub-flavoured Markdown for an issue or a chat", renderer: markdown::render },
    Format { id: "html", extension: "html", description: "one self-contained page for a browser", renderer: html::render },
    Format { id: "json", extension: "json", description: "every value, for scripts", renderer: json::render },
];

impl Format {
    /// The format with this id. A caller who wants to suggest a similar one walks [`FORMATS`].
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|format| format.id == id)
    }

    /// Renders a report. The terminal format is 80 columns wide and without colour; use
    /// [`terminal::render`] to choose.
    #[must_use]
    pub fn render(&self, report: &Report) -> String {
        (self.renderer)(report)
    }
}

fn plain_terminal(report: &Report) -> String {
    terminal::render(report, &TerminalStyle::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_format_can_be_found_and_described() {
        let ids: BTreeSet<_> = FORMATS.iter().map(|format| format.id).collect();
        let extensions: BTreeSet<_> = FORMATS.iter().map(|format| format.extension).collect();
        assert_eq!(ids.len(), FORMATS.len(), "two formats share an id");
        assert_eq!(extensions.len(), FORMATS.len(), "two formats share an extension");
        for format in FORMATS {
            assert_eq!(Format::by_id(format.id).map(|found| found.id), Some(format.id));
            assert!(format.id.chars().all(|c| c.is_ascii_lowercase()), "{}", format.id);
            assert!(format.extension.chars().all(|c| c.is_ascii_lowercase()), "{}", format.id);
            assert!(!format.description.is_empty() && format.description.len() <= 60, "{}", format.id);
            assert!(!format.description.ends_with('.'), "{}: a phrase, not a sentence", format.id);
        }
        assert!(Format::by_id("pdf").is_none());
    }
}
