//! The .NET versions that targets run on.

use std::fmt;
use std::str::FromStr;

use crate::error::TestbedError;

/// A .NET version that the testbed can start programs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Runtime {
    /// .NET Core 3.1, the oldest target.
    Net31,
    /// .NET 8. Fetched, it is a single-file program that loads the patients by a start-up hook.
    Net8,
    /// .NET 9 with ASP.NET Core, the main target.
    Net9,
    /// .NET 10, without ASP.NET Core. Beside it there is [`crate::Testbed::stranger`], a program of others on .NET 10.
    Net10,
}

impl Runtime {
    /// Every runtime, oldest first.
    pub const ALL: [Runtime; 4] = [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10];

    /// The short name that people type and that patient headers use.
    pub fn label(self) -> &'static str {
        match self {
            Runtime::Net31 => "3.1",
            Runtime::Net8 => "8",
            Runtime::Net9 => "9",
            Runtime::Net10 => "10",
        }
    }

    /// Major and minor version as folder names of an installed `dotnet` begin with.
    pub(crate) fn major_minor(self) -> (u32, u32) {
        match self {
            Runtime::Net31 => (3, 1),
            Runtime::Net8 => (8, 0),
            Runtime::Net9 => (9, 0),
            Runtime::Net10 => (10, 0),
        }
    }

    /// The target framework moniker in a `runtimeconfig.json`.
    pub(crate) fn target_framework(self) -> &'static str {
        match self {
            Runtime::Net31 => "netcoreapp3.1",
            Runtime::Net8 => "net8.0",
            Runtime::Net9 => "net9.0",
            Runtime::Net10 => "net10.0",
        }
    }
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for Runtime {
    type Err = TestbedError;

    fn from_str(text: &str) -> Result<Runtime, TestbedError> {
        Runtime::ALL
            .into_iter()
            .find(|runtime| runtime.label() == text)
            .ok_or_else(|| TestbedError::UnknownRuntime { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_parse_back() {
        for runtime in Runtime::ALL {
            assert_eq!(runtime.label().parse::<Runtime>().unwrap(), runtime);
        }
        assert!("7".parse::<Runtime>().unwrap_err().to_string().contains("3.1, 8, 9, 10"));
    }
}
