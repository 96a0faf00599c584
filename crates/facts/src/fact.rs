//! What a finding is made of.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Doubt, Sign, Value};

/// One thing that was measured or seen, and that connects a finding with others or says of what kind it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fact", rename_all = "kebab-case")]
pub enum Fact {
    /// What was measured, by name, each with its unit.
    Measured {
        /// The numbers.
        values: BTreeMap<String, Value>,
    },
    /// Which threads it is about, by their ids in the system.
    Threads {
        /// The ids.
        ids: Vec<u32>,
    },
    /// Which methods, types and fields it is about beside its culprit.
    Names {
        /// Their full names.
        names: Vec<String>,
    },
    /// What the culprit calls for more than half of its time.
    MostlyCalls {
        /// The method.
        method: String,
        /// So much of its time, in per cent.
        percent: f64,
    },
    /// Who awaits the culprit, or an async method that it works for, the most frequent first.
    AwaitedBy {
        /// The method, if it is not the culprit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        method: Option<String>,
        /// Each with its share.
        callers: Vec<Caller>,
    },
    /// The longest stop of all threads.
    LongestPause {
        /// What they were stopped for.
        cause: PauseCause,
        /// How long, in nanoseconds.
        ns: u64,
    },
    /// Where calls go.
    CallsTo {
        /// Host and port, or a database; hidden where texts of the program's data are.
        place: String,
        /// How many began while it was looked.
        begun: u64,
    },
    /// What stays open was opened by the culprit.
    Opened {
        /// So many.
        count: u64,
        /// Of so many.
        of: u64,
    },
    /// What shows it to who has only the vital signs, or several looks together.
    Sign(Sign),
    /// What speaks against it.
    Doubt(Doubt),
    /// Another finding that is a part of what proves this one.
    Includes {
        /// Which.
        finding: Related,
    },
}

impl Fact {
    /// What was measured, by name in kebab case.
    #[must_use]
    pub fn measured(values: impl IntoIterator<Item = (&'static str, Value)>) -> Fact {
        let known = values.into_iter().filter(|(_, value)| value.is_known());
        Fact::Measured { values: known.map(|(name, value)| (name.to_owned(), value)).collect() }
    }

    /// The threads that it is about, by their ids in the system.
    #[must_use]
    pub fn threads(ids: impl IntoIterator<Item = u32>) -> Fact {
        Fact::Threads { ids: ids.into_iter().collect() }
    }

    /// The methods, types and fields that it is about beside its culprit.
    #[must_use]
    pub fn names<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Fact {
        Fact::Names { names: names.into_iter().map(Into::into).collect() }
    }

    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Fact::Measured { values } => values.is_empty(),
            Fact::Threads { ids } => ids.is_empty(),
            Fact::Names { names } => names.is_empty(),
            Fact::AwaitedBy { callers, .. } => callers.is_empty(),
            _ => false,
        }
    }
}

/// Who awaits something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Caller {
    /// The method; nothing where nobody awaits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Its share, in per cent.
    pub percent: f64,
}

/// What all threads are stopped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PauseCause {
    /// A collection.
    Collection {
        /// Its generation, when known.
        generation: Option<u32>,
        /// Whether the program stood still from its begin to its end.
        blocking: bool,
    },
    /// Anything else: a debugger, a profiler, changed code.
    Other,
}

impl PauseCause {
    /// Whether it is a full collection.
    #[must_use]
    pub fn is_full(self) -> bool {
        matches!(self, PauseCause::Collection { generation: Some(2), .. })
    }

    /// Whether it is a young collection. It may be neither: a debugger stops all threads, too.
    #[must_use]
    pub fn is_young(self) -> bool {
        matches!(self, PauseCause::Collection { generation: Some(0 | 1), .. })
    }
}

/// Another finding, by what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Related {
    /// Its id.
    pub id: String,
    /// Whom it blames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_no_fact() {
        let measured = Fact::measured([("share", Value::Percent(f64::NAN)), ("waits", Value::Count(3))]);
        assert_eq!(measured, Fact::measured([("waits", Value::Count(3))]));
        assert!(Fact::measured([("share", Value::Percent(f64::INFINITY))]).is_empty());
    }

    #[test]
    fn a_pause_is_of_a_young_collection_of_a_full_one_or_of_neither() {
        let of = |generation| PauseCause::Collection { generation, blocking: true };
        assert!(of(Some(0)).is_young() && of(Some(1)).is_young() && !of(Some(1)).is_full());
        assert!(of(Some(2)).is_full() && !of(Some(2)).is_young());
        for neither in [of(None), PauseCause::Other] {
            assert!(!neither.is_full() && !neither.is_young());
        }
    }
}
