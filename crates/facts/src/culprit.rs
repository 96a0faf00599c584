//! Who is to blame.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Frame;

/// What kind of thing is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CulpritKind {
    /// A method of the program or of a library.
    Method,
    /// A type, for example one whose objects pile up.
    Type,
    /// A thread.
    Thread,
    /// A static or instance field that holds something.
    Field,
    /// A setting of the process or of its container.
    Setting,
}

/// Who or what causes a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Culprit {
    /// What kind of thing it is.
    pub kind: CulpritKind,
    /// Its full name.
    pub name: String,
    /// Source file, when debug information was at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Culprit {
    /// A culprit without a place in the source.
    #[must_use]
    pub fn new(kind: CulpritKind, name: impl Into<String>) -> Self {
        Culprit { kind, name: name.into(), file: None, line: None }
    }

    /// The method of a frame.
    #[must_use]
    pub fn of(frame: &Frame) -> Self {
        Culprit {
            file: frame.file.clone(),
            line: frame.line,
            ..Culprit::new(CulpritKind::Method, &frame.name)
        }
    }
}
