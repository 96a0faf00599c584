//! What a session has to ask for.
//!
//! The rundown at the end of a session tells of all code that is there then, whatever the session's own keywords are.
//! The runtime's default rundown, besides none the only one that 3.1 and 8 know, has all of [`RUNDOWN_FOR_LINES`].
//! From 9 on a session can choose; `docs/names.md` has what each costs.

use runtime_events::keyword;

/// Keywords of a rundown that is enough for names: methods, compiled here or before, and modules.
pub const RUNDOWN_FOR_NAMES: u64 = keyword::LOADER | keyword::JIT | keyword::NGEN;

/// Keywords of a rundown that is enough for exact lines: names, and IL maps of what was compiled in the process.
pub const RUNDOWN_FOR_LINES: u64 = RUNDOWN_FOR_NAMES | keyword::IL_TO_NATIVE_MAP;

/// Keywords of the runtime's own provider, at level verbose, with which code that goes away before the rundown has a
/// name too, and code of a target that dies. Each method that is compiled is then an event; it is worth it for
/// programs that make code while they run.
pub const LIVE_FOR_NAMES: u64 = keyword::LOADER | keyword::JIT;

/// The same with IL maps.
pub const LIVE_FOR_LINES: u64 = LIVE_FOR_NAMES | keyword::IL_TO_NATIVE_MAP;
