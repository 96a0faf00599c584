//! What surrounds the process: limits of its control group, and its network.

use serde::{Deserialize, Serialize};

/// Limits of a control group at one moment. All of it is unknown where there is no such group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Container {
    /// Whether its group could be looked at.
    pub is_known: bool,
    /// Memory that it may use, in bytes; the tightest of it and the groups around it.
    pub memory_limit: Option<u64>,
    /// Memory in use, in bytes, without the file cache that can be given up at once.
    pub memory_used: Option<u64>,
    /// Processors it may use, when that is limited.
    pub processors: Option<f64>,
    /// Periods in which processors were given out.
    pub periods: u64,
    /// Periods in which it was stopped because it had used up its share.
    pub throttled: u64,
    /// Processes of the group that the kernel has killed for lack of memory.
    pub killed: u64,
}

impl Container {
    /// Of the periods since an earlier look, those in which it was stopped, in per cent.
    #[must_use]
    pub fn throttled_percent_since(&self, before: &Container) -> Option<f64> {
        let periods = self.periods.checked_sub(before.periods).filter(|periods| *periods > 0)?;
        Some(self.throttled.saturating_sub(before.throttled) as f64 / periods as f64 * 100.0)
    }
}

/// TCP connections at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// Sockets of the process whose other side has closed, while it has not.
    pub half_closed: u64,
    /// Connections that wait out their end, of all processes that share its network.
    pub lingering: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throttling_is_a_share_of_the_periods_since() {
        let before = Container { periods: 100, throttled: 10, ..Container::default() };
        let after = Container { periods: 140, throttled: 20, ..Container::default() };
        assert_eq!(after.throttled_percent_since(&before), Some(25.0));
        assert_eq!(before.throttled_percent_since(&before), None);
    }
}
