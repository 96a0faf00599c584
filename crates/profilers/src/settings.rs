//! The values a profiler runs with: what was typed, checked, with defaults for the rest.

use std::collections::BTreeMap;

use model::Redaction;
use thiserror::Error;

use crate::profiler::Spec;
use crate::suggest::closest;

/// How a report and a session say that texts of the target's data are hidden in them. No profiler has such a parameter.
pub const REDACT: &str = "redact";

/// Why a `--set` is not acceptable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingError {
    /// Not of the form `name=value`.
    #[error("'{text}' is not of the form name=value")]
    NoValue {
        /// What was typed.
        text: String,
    },
    /// The profiler has no such parameter.
    #[error("the profiler '{profiler}' has no parameter '{name}'")]
    Unknown {
        /// Which profiler.
        profiler: &'static str,
        /// What was typed.
        name: String,
        /// The nearest one that it has.
        suggestion: Option<&'static str>,
        /// Those it has.
        known: Vec<&'static str>,
    },
    /// The value is not acceptable.
    #[error("'{value}' is not a value for '{name}'")]
    BadValue {
        /// Which parameter.
        name: &'static str,
        /// What was typed.
        value: String,
        /// What it takes.
        takes: String,
    },
}

/// The values a profiler runs with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, String>,
    redaction: Redaction,
}

impl Settings {
    /// Checks `name=value` texts against a profiler's parameters. The last one of a name counts.
    pub fn new<'a>(
        spec: &'static Spec,
        typed: impl IntoIterator<Item = &'a str>,
    ) -> Result<Settings, SettingError> {
        let mut values: BTreeMap<&'static str, String> =
            spec.parameters.iter().map(|parameter| (parameter.name, parameter.default_text())).collect();
        for text in typed {
            let (name, value) =
                text.split_once('=').ok_or_else(|| SettingError::NoValue { text: text.to_owned() })?;
            let names = || spec.parameters.iter().map(|parameter| parameter.name);
            let parameter =
                spec.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| {
                    SettingError::Unknown {
                        profiler: spec.id,
                        name: name.to_owned(),
                        suggestion: closest(name, names()),
                        known: names().collect(),
                    }
                })?;
            let accepted = parameter.accept(value).ok_or_else(|| SettingError::BadValue {
                name: parameter.name,
                value: value.to_owned(),
                takes: parameter.range_text(),
            })?;
            values.insert(parameter.name, accepted);
        }
        Ok(Settings { values, redaction: Redaction::Off })
    }

    /// The same, with texts of the target's data shown or hidden.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Settings {
        Settings { redaction, ..self }
    }

    /// Whether texts of the target's data are hidden.
    #[must_use]
    pub fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// All values by name.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        let redact = (self.redaction == Redaction::On).then(|| (REDACT.to_owned(), "yes".to_owned()));
        self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).chain(redact).collect()
    }

    /// A whole number. Names that the profiler does not have give 0; the table test walks them all.
    #[must_use]
    pub fn integer(&self, name: &str) -> u64 {
        self.values.get(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// A word, or a text; empty when there is none.
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_id;

    fn spec() -> &'static Spec {
        by_id("threads").unwrap().spec()
    }

    #[test]
    fn defaults_fill_what_is_not_typed() {
        let settings = Settings::new(spec(), ["top=7"]).unwrap();
        assert_eq!(settings.integer("top"), 7);
        assert_eq!(settings.choice("sort"), "cpu");
        assert_eq!(settings.all().len(), spec().parameters.len());
    }

    #[test]
    fn mistakes_are_named_with_a_way_out() {
        let error = Settings::new(spec(), ["tpo=7"]).unwrap_err();
        assert!(matches!(error, SettingError::Unknown { suggestion: Some("top"), .. }), "{error:?}");
        assert!(matches!(Settings::new(spec(), ["top"]), Err(SettingError::NoValue { .. })));
        for bad in ["top=0", "top=many", "sort=colour"] {
            assert!(matches!(Settings::new(spec(), [bad]), Err(SettingError::BadValue { .. })), "{bad}");
        }
    }
}
