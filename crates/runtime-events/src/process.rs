//! What a stream says of its process.

use nettrace::{Guid, Utf16};

use crate::ClrInstance;

codes! {
    /// Which runtime.
    RuntimeSku: u16 {
        /// The .NET Framework.
        1 => Desktop,
        /// .NET.
        2 => Core,
        /// Mono.
        4 => Mono,
    }
}

events! {
    /// Event 1 of the event stream itself: the process.
    ProcessInfo<'a> {
        /// Its command line, words separated by spaces.
        command_line: Utf16<'a>,
        /// Its operating system (.NET 5).
        operating_system: Utf16<'a> [since 1],
        /// Its processor (.NET 5).
        architecture: Utf16<'a> [since 1],
    }

    /// Event 187, of the runtime and of the rundown: the runtime.
    RuntimeInfo<'a> {
        /// Which runtime in the process.
        clr: ClrInstance,
        /// Which kind of runtime.
        sku: RuntimeSku,
        /// The version of its class library: major.
        library_major: u16,
        /// Minor.
        library_minor: u16,
        /// Build.
        library_build: u16,
        /// Revision.
        library_revision: u16,
        /// The version of the runtime: major.
        major: u16,
        /// Minor.
        minor: u16,
        /// Build.
        build: u16,
        /// Revision.
        revision: u16,
        /// How it was started: 1 concurrent collector, 0x1000 server collector, others.
        startup_flags: u32,
        /// What started it: 1 a program, 2 a host, others.
        startup_mode: u8,
        /// Its command line.
        command_line: Utf16<'a>,
        /// The id of the object it was started for.
        com_object: Guid,
        /// The path of the runtime.
        path: Utf16<'a>,
    }
}
