//! Result codes of the runtime.

use std::fmt;

/// A result code: any number at all, of which some have names. Negative ones are failures.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[must_use]
pub struct HResult(pub i32);

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        impl HResult {
            $($(#[$doc])* pub const $name: HResult = HResult(($value as u32).cast_signed());)*

            /// Its name in the runtime's headers (without `CORPROF_`), when we know it.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(HResult::$name => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// Success.
    S_OK = 0x0000_0000;
    /// Success, and the answer is no.
    S_FALSE = 0x0000_0001;
    /// Success, but what was written did not fit whole.
    S_TRUNCATION = 0x0013_1106;
    /// Not implemented, or not on this operating system.
    E_NOTIMPL = 0x8000_4001;
    /// The object does not have this interface.
    E_NOINTERFACE = 0x8000_4002;
    /// A pointer that must not be null is null.
    E_POINTER = 0x8000_4003;
    /// Unspecified failure.
    E_FAIL = 0x8000_4005;
    /// Something that cannot happen did.
    E_UNEXPECTED = 0x8000_FFFF;
    /// The library has no such class.
    CLASS_E_CLASSNOTAVAILABLE = 0x8004_0111;
    /// Objects of this class cannot be parts of others.
    CLASS_E_NOAGGREGATION = 0x8004_0110;
    /// Out of memory.
    E_OUTOFMEMORY = 0x8007_000E;
    /// A value is not acceptable, or not at this time.
    E_INVALIDARG = 0x8007_0057;
    /// No such row in the metadata.
    E_RECORD_NOTFOUND = 0x8013_1130;
    /// Not compiled yet.
    E_FUNCTION_NOT_COMPILED = 0x8013_1350;
    /// The thing is not fully loaded yet.
    E_DATAINCOMPLETE = 0x8013_1351;
    /// The calling thread has never run managed code.
    E_NOT_MANAGED_THREAD = 0x8013_1355;
    /// May be called while the profiler initialises only.
    E_CALL_ONLY_FROM_INIT = 0x8013_1356;
    /// Not known yet.
    E_NOT_YET_AVAILABLE = 0x8013_135B;
    /// The thread cannot be walked.
    E_STACKSNAPSHOT_INVALID_TGT_THREAD = 0x8013_135E;
    /// The walk could not start in unmanaged code.
    E_STACKSNAPSHOT_UNMANAGED_CTX = 0x8013_135F;
    /// The walk is not safe now.
    E_STACKSNAPSHOT_UNSAFE = 0x8013_1360;
    /// The walk was ended by its callback.
    E_STACKSNAPSHOT_ABORTED = 0x8013_1361;
    /// Not allowed from this thread at this time.
    E_UNSUPPORTED_CALL_SEQUENCE = 0x8013_1363;
    /// Not safe on a thread that may have been stopped anywhere.
    E_ASYNCHRONOUS_UNSAFE = 0x8013_1364;
    /// The class is an array.
    E_CLASSID_IS_ARRAY = 0x8013_1365;
    /// The class is no class of metadata.
    E_CLASSID_IS_COMPOSITE = 0x8013_1366;
    /// The profiler is leaving.
    E_PROFILER_DETACHING = 0x8013_1367;
    /// The profiler cannot be attached.
    E_PROFILER_NOT_ATTACHABLE = 0x8013_1368;
    /// The place for a profiler is taken.
    E_PROFILER_ALREADY_ACTIVE = 0x8013_136A;
    /// An attached profiler may not ask for this.
    E_UNSUPPORTED_FOR_ATTACHING_PROFILER = 0x8013_136F;
    /// Code was changed for good; the profiler cannot leave.
    E_IRREVERSIBLE_INSTRUMENTATION_PRESENT = 0x8013_1370;
    /// The runtime is not up, or is shutting down.
    E_RUNTIME_UNINITIALIZED = 0x8013_1371;
    /// Something was asked for that lasts; the profiler cannot leave.
    E_IMMUTABLE_FLAGS_SET = 0x8013_1372;
    /// The profiler is still initialising.
    E_PROFILER_NOT_YET_INITIALIZED = 0x8013_1373;
    /// The event mask does not allow the call.
    E_INCONSISTENT_WITH_FLAGS = 0x8013_1374;
    /// The profiler does not want to be loaded.
    E_PROFILER_CANCEL_ACTIVATION = 0x8013_1375;
    /// The module has no file.
    E_MODULE_IS_DYNAMIC = 0x8013_137A;
    /// The runtime must be suspended for this.
    E_RUNTIME_SUSPEND_REQUIRED = 0x8013_1381;
    /// Somebody else, mostly the collector, is suspending the runtime.
    E_SUSPENSION_IN_PROGRESS = 0x8013_1388;
}

impl HResult {
    /// Whether it says success, of which there are several kinds.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 >= 0
    }

    /// The failure as an error.
    pub fn ok(self) -> Result<(), HResult> {
        if self.is_success() { Ok(()) } else { Err(self) }
    }

    /// The code of an outcome.
    pub fn of(outcome: Result<(), HResult>) -> HResult {
        outcome.err().unwrap_or(HResult::S_OK)
    }
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} (0x{:08X})", self.0),
            None => write!(f, "0x{:08X}", self.0),
        }
    }
}

impl fmt::Debug for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HResult({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_a_code() {
        assert_eq!(HResult::E_SUSPENSION_IN_PROGRESS.to_string(), "E_SUSPENSION_IN_PROGRESS (0x80131388)");
        assert_eq!(HResult(-2).to_string(), "0xFFFFFFFE");
        assert_eq!(HResult::S_FALSE.ok(), Ok(()));
        assert_eq!(HResult(-2).ok(), Err(HResult(-2)));
        assert_eq!(size_of::<HResult>(), 4);
    }
}
