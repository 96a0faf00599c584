//! Texts out of the target's data, which may be secret.
//!
//! Names of methods, types, files and threads say what a program is. Texts that it computes with (messages of
//! exceptions, values on its command line and in its environment, strings on its heap) may say what its users do.
//! Every such text passes through here on its way into a report, so that one option hides them all.

use std::fmt;

use sha2::{Digest, Sha256};

/// Whether texts of the target's data are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Redaction {
    /// As they are.
    #[default]
    Off,
    /// As their length and a short hash: the same text is the same hash, in every report.
    On,
}

impl Redaction {
    /// A text as it may be shown; an empty one has nothing to hide.
    #[must_use]
    pub fn text(self, text: &str) -> String {
        match self {
            Redaction::Off => text.to_owned(),
            Redaction::On if text.is_empty() => String::new(),
            Redaction::On => hidden(text, ""),
        }
    }
}

/// `(14 characters, #1f3a9c02)`
fn hidden(text: &str, more_than: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hash = digest.iter().take(4).fold(0_u32, |hash, byte| hash << 8 | u32::from(*byte));
    let length = text.chars().count();
    let characters = if length == 1 { "character" } else { "characters" };
    format!("({more_than}{length} {characters}, #{hash:08x})")
}

/// A text out of the target's data, cut to a length. It is only had for a report by [`TargetText::shown`].
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetText {
    kept: String,
    is_cut: bool,
}

impl TargetText {
    /// Characters that are kept at most.
    pub const LONGEST: usize = 300;

    /// A text, or its beginning if it is long.
    #[must_use]
    pub fn new(text: &str) -> TargetText {
        match text.char_indices().nth(TargetText::LONGEST) {
            Some((end, _)) => TargetText { kept: text[..end].to_owned(), is_cut: true },
            None => TargetText { kept: text.to_owned(), is_cut: false },
        }
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The text with its letters changed one by one or left out, such as all digits made equal.
    #[must_use]
    pub fn map(&self, change: impl FnOnce(&str) -> String) -> TargetText {
        TargetText { kept: change(&self.kept), is_cut: self.is_cut }
    }

    /// As it may stand in a report.
    #[must_use]
    pub fn shown(&self, redaction: Redaction) -> String {
        match redaction {
            Redaction::On if self.is_cut => hidden(&self.kept, "more than "),
            Redaction::Off if self.is_cut => format!("{}…", self.kept),
            _ => redaction.text(&self.kept),
        }
    }
}

/// For logs and failed tests, which are shown to people as well.
impl fmt::Debug for TargetText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown(Redaction::On))
    }
}

impl From<&str> for TargetText {
    fn from(text: &str) -> TargetText {
        TargetText::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_text_tells_its_length_and_a_hash_and_nothing_else() {
        let hidden = TargetText::new("pass phrase 4711").shown(Redaction::On);
        assert!(
            hidden.starts_with("(16 characters, #") && hidden.len() == "(16 characters, #00000000)".len()
        );
        assert_eq!(hidden, Redaction::On.text("pass phrase 4711"));
        assert_ne!(hidden, Redaction::On.text("pass phrase 4712"));
        assert_eq!(Redaction::On.text("ü").chars().next(), Some('('));
        assert_eq!(Redaction::On.text(""), "");
        assert_eq!(format!("{:?}", TargetText::new("pass phrase 4711")), hidden);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let text = TargetText::new(&"ä".repeat(TargetText::LONGEST + 1));
        assert_eq!(text.shown(Redaction::Off).chars().count(), TargetText::LONGEST + 1);
        assert!(text.shown(Redaction::Off).ends_with("ä…"));
        assert!(text.shown(Redaction::On).starts_with("(more than 300 characters, #"));
        let fits = "ä".repeat(TargetText::LONGEST);
        assert_eq!(TargetText::new(&fits).shown(Redaction::Off), fits);
    }
}
