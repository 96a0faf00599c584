//! The name of a runtime's socket: `dotnet-diagnostic-<pid>-<start time>-socket`.

use std::fmt;
use std::str::FromStr;

/// What the name of a runtime's socket says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SocketName {
    /// Pid in the namespace of the process.
    pub pid: u32,
    /// Start time: on Linux, clock ticks since boot.
    pub key: u64,
}

impl fmt::Display for SocketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dotnet-diagnostic-{}-{}-socket", self.pid, self.key)
    }
}

impl FromStr for SocketName {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let middle = name.strip_prefix("dotnet-diagnostic-").and_then(|rest| rest.strip_suffix("-socket"));
        let (pid, key) = middle.and_then(|middle| middle.split_once('-')).ok_or(())?;
        Ok(SocketName { pid: pid.parse().map_err(|_| ())?, key: key.parse().map_err(|_| ())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_and_read() {
        let name = SocketName { pid: 42, key: 998877 };
        assert_eq!(name.to_string(), "dotnet-diagnostic-42-998877-socket");
        assert_eq!(name.to_string().parse(), Ok(name));
        for other in ["dotnet-diagnostic-dsrouter-1-2-socket", "dotnet-diagnostic-42-socket", "x", ""] {
            assert_eq!(other.parse::<SocketName>(), Err(()), "{other}");
        }
    }
}
