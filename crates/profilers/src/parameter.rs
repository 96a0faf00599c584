//! Parameters of a profiler: described once, checked in one place.

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number in a range, ends included.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// When nothing is given.
        default: u64,
    },
    /// One of a few words.
    Choice {
        /// The words.
        options: &'static [&'static str],
        /// When nothing is given.
        default: &'static str,
    },
    /// Any text; nothing when it is not given.
    Text {
        /// What it names, in a few words.
        what: &'static str,
    },
}

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in `--set name=value`.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it does, in one line.
    pub help: &'static str,
}

impl Parameter {
    /// The default as it would be typed.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.kind {
            Kind::Integer { default, .. } => default.to_string(),
            Kind::Choice { default, .. } => default.to_owned(),
            Kind::Text { .. } => String::new(),
        }
    }

    /// The values it takes, in a few words.
    #[must_use]
    pub fn range_text(&self) -> String {
        match self.kind {
            Kind::Integer { min, max, .. } => format!("{min} to {max}"),
            Kind::Choice { options, .. } => options.join(", "),
            Kind::Text { what } => what.to_owned(),
        }
    }

    /// The text in its usual spelling, or `None` when it is not acceptable.
    pub(crate) fn accept(&self, text: &str) -> Option<String> {
        let text = text.trim();
        match self.kind {
            Kind::Integer { min, max, .. } => {
                let number: u64 = text.parse().ok()?;
                (min..=max).contains(&number).then(|| number.to_string())
            }
            Kind::Text { .. } => Some(text.to_owned()),
            Kind::Choice { options, .. } => {
                options.iter().find(|option| option.eq_ignore_ascii_case(text)).map(ToString::to_string)
            }
        }
    }
}
