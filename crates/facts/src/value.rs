//! Numbers with their units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// So many things.
    Count(u64),
    /// Bytes.
    Bytes(u64),
    /// Nanoseconds.
    Nanoseconds(u64),
    /// Per cent.
    Percent(f64),
    /// So many things a second.
    PerSecond(f64),
    /// Bytes a second.
    BytesPerSecond(f64),
    /// So many things on average.
    Mean(f64),
}

impl Value {
    /// A number of things.
    #[must_use]
    pub fn count(count: usize) -> Value {
        Value::Count(count as u64)
    }

    /// A length of time.
    #[must_use]
    pub fn time(time: std::time::Duration) -> Value {
        Value::Nanoseconds(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Whether it can be written down: a share of nothing is no number.
    #[must_use]
    pub fn is_known(self) -> bool {
        match self {
            Value::Percent(number)
            | Value::PerSecond(number)
            | Value::BytesPerSecond(number)
            | Value::Mean(number) => number.is_finite(),
            Value::Count(_) | Value::Bytes(_) | Value::Nanoseconds(_) => true,
        }
    }
}
