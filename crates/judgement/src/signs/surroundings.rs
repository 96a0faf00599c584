//! How the process was started, and who else looks at it.

use serde::{Deserialize, Serialize};

/// How the process was started, and who else looks at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// The process that traces it: a debugger, `strace` and the like, with its name.
    pub tracer: Option<(u32, String)>,
    /// A profiler that its environment asks the runtime to load: the library or the class id.
    pub profiler: Option<String>,
    /// Whether the library of that profiler is loaded, when that is known.
    pub profiler_is_loaded: Option<bool>,
    /// Threads of the server collector: one for each heap, in the foreground.
    pub collector_threads: usize,
    /// Settings of the runtime in its environment, by their name without prefix, in lower case.
    pub settings: Vec<(String, String)>,
    /// Processors of the machine that it may run on.
    pub processors: Option<u32>,
    /// Whether the kernel refuses this user samples of it.
    pub no_samples: bool,
    /// Whether this user could read its environment.
    pub has_environment: bool,
}

impl Surroundings {
    /// A setting of the runtime in the environment.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }
}

/// Whether a setting is switched on; the runtime reads numbers as hexadecimal.
#[must_use]
pub fn is_on(value: &str) -> bool {
    hexadecimal(value).is_some_and(|number| number != 0) || value.eq_ignore_ascii_case("true")
}

/// A number as the runtime reads it from the environment.
#[must_use]
pub fn hexadecimal(value: &str) -> Option<u64> {
    u64::from_str_radix(value.trim_start_matches("0x"), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_the_runtime_does() {
        assert!(is_on("1") && is_on("0x1") && is_on("True") && !is_on("0") && !is_on(""));
        assert_eq!(hexadecimal("0x20"), Some(32));
    }
}
