//! Result codes of the runtime, with the names people search for.

use std::fmt;

/// A result code of the runtime. Negative values are failures.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct HResult(pub i32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal, $text:literal;)*) => {
        impl HResult {
            $($(#[$doc])* pub const $name: HResult = HResult(u32::cast_signed($value));)*

            /// Its symbolic name and its meaning, when we know it.
            #[must_use]
            pub fn meaning(self) -> Option<(&'static str, &'static str)> {
                match self {
                    $(HResult::$name => Some((stringify!($name), $text)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Success.
    S_OK = 0x0000_0000, "success";
    /// The request could not be read.
    BAD_ENCODING = 0x8013_1384, "the runtime could not read the request";
    /// The runtime is older than the command.
    UNKNOWN_COMMAND = 0x8013_1385, "the runtime does not know this command";
    /// Not the diagnostics protocol.
    UNKNOWN_MAGIC = 0x8013_1386, "the runtime does not speak this version of the protocol";
    /// Unspecified failure in the diagnostics server.
    UNKNOWN_ERROR = 0x8013_1387, "the runtime's diagnostics server failed";
    /// Not supported by this kind of runtime.
    NOT_SUPPORTED = 0x8013_1515, "this kind of runtime does not support it";
    /// Unspecified failure.
    E_FAIL = 0x8000_4005, "unspecified failure";
    /// The runtime has not started yet.
    NOT_YET_AVAILABLE = 0x8013_135B, "the runtime has not started yet";
    /// The runtime is not initialised.
    RUNTIME_UNINITIALIZED = 0x8013_1371, "the runtime is not initialised";
    /// The one place for a profiler is taken.
    PROFILER_ALREADY_ACTIVE = 0x8013_136A, "another profiler is attached already";
    /// A value in the request is not acceptable now.
    E_INVALIDARG = 0x8007_0057, "a value in the request is not acceptable, or not at this time";
    /// A buffer was too small.
    INSUFFICIENT_BUFFER = 0x8007_007A, "a buffer was too small";
    /// No such environment variable.
    ENVVAR_NOT_FOUND = 0x8000_00CB, "no such environment variable";
    /// A file was not found.
    FILE_NOT_FOUND = 0x8007_0002, "file not found";
    /// A library could not be loaded.
    MODULE_NOT_FOUND = 0x8007_007E, "the library could not be loaded";
    /// Access denied.
    E_ACCESSDENIED = 0x8007_0005, "access denied";
    /// Out of memory.
    E_OUTOFMEMORY = 0x8007_000E, "out of memory";
    /// Not implemented.
    E_NOTIMPL = 0x8000_4001, "not implemented";
}

impl HResult {
    /// Whether it says success.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 >= 0
    }
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0.cast_unsigned();
        match self.meaning() {
            Some((name, meaning)) => write!(f, "{meaning} ({name} 0x{number:08X})"),
            None => write!(f, "code 0x{number:08X}"),
        }
    }
}

impl fmt::Debug for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HResult(0x{:08X})", self.0.cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_print_their_name_and_number() {
        assert_eq!(
            HResult::UNKNOWN_COMMAND.to_string(),
            "the runtime does not know this command (UNKNOWN_COMMAND 0x80131385)"
        );
        assert_eq!(HResult(-2).to_string(), "code 0xFFFFFFFE");
        assert!(HResult::S_OK.is_success() && !HResult::E_FAIL.is_success());
    }
}
