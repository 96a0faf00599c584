//! Every command of the protocol, and the small types their requests are made of.

use std::fmt;
use std::time::Duration;

use crate::wire::Writer;

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = ($set:literal, $id:literal);)*) => {
        /// A command of the protocol.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Command { $($(#[$doc])* $name,)* }

        impl Command {
            /// All commands.
            pub const ALL: &[Command] = &[$(Command::$name,)*];

            /// Its set and its number in the set.
            #[must_use]
            pub fn code(self) -> (u8, u8) {
                match self { $(Command::$name => ($set, $id),)* }
            }
        }
    };
}

commands! {
    /// Writes a core dump (3.0).
    GenerateCoreDump = (0x01, 0x01);
    /// The same with flags (6).
    GenerateCoreDump2 = (0x01, 0x02);
    /// The same with an error text (7).
    GenerateCoreDump3 = (0x01, 0x03);
    /// Ends a tracing session (3.0).
    StopTracing = (0x02, 0x01);
    /// Starts a tracing session (3.0).
    CollectTracing = (0x02, 0x02);
    /// The same, rundown can be switched off (3.0).
    CollectTracing2 = (0x02, 0x03);
    /// The same, stacks can be switched off (9).
    CollectTracing3 = (0x02, 0x04);
    /// The same, rundown chosen by keyword (9).
    CollectTracing4 = (0x02, 0x05);
    /// The same, with event filters, or into the kernel's user events (10).
    CollectTracing5 = (0x02, 0x06);
    /// The same, may block instead of dropping events (11).
    CollectTracing6 = (0x02, 0x07);
    /// Loads a profiler into the running process (3.0).
    AttachProfiler = (0x03, 0x01);
    /// Names a profiler for a process that is suspended at its start (6).
    StartupProfiler = (0x03, 0x02);
    /// What the process is (5).
    ProcessInfo = (0x04, 0x00);
    /// Lets a process go on that is suspended at its start (5).
    ResumeRuntime = (0x04, 0x01);
    /// The environment of the process (6).
    ProcessEnvironment = (0x04, 0x02);
    /// Sets a variable in the environment (6).
    SetEnvironmentVariable = (0x04, 0x03);
    /// What the process is, with assembly and version (6).
    ProcessInfo2 = (0x04, 0x04);
    /// Starts writing a perf map (8).
    EnablePerfMap = (0x04, 0x05);
    /// Stops writing the perf map (8).
    DisablePerfMap = (0x04, 0x06);
    /// Runs a start-up hook (8).
    ApplyStartupHook = (0x04, 0x07);
    /// What the process is, with its runtime identifier (8).
    ProcessInfo3 = (0x04, 0x08);
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A globally unique id, in .NET's byte order on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(pub u128);

impl Guid {
    pub(crate) fn from_wire(bytes: [u8; 16]) -> Self {
        let mut ordered = bytes;
        ordered[0..4].reverse();
        ordered[4..6].reverse();
        ordered[6..8].reverse();
        Guid(u128::from_be_bytes(ordered))
    }

    pub(crate) fn to_wire(self) -> [u8; 16] {
        let mut bytes = self.0.to_be_bytes();
        bytes[0..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        bytes
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How much a core dump holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpKind {
    /// Stacks and modules.
    Mini = 1,
    /// The same with the managed heap.
    Heap = 2,
    /// Like mini, without private data.
    Triage = 3,
    /// All memory.
    Full = 4,
}

/// A core dump to be written by the target itself.
#[derive(Clone, Debug)]
pub struct DumpOptions {
    /// Where, in the *target's* file system, as the target's user.
    pub path: String,
    /// How much.
    pub kind: DumpKind,
    /// Let the dumper log to the target's console.
    pub log: bool,
    /// Also write a crash report beside it; runtimes before 6 cannot.
    pub crash_report: bool,
}

impl DumpOptions {
    pub(crate) fn payload(&self, command: Command) -> Vec<u8> {
        let flags = if command == Command::GenerateCoreDump {
            u32::from(self.log)
        } else {
            u32::from(self.log) | if self.crash_report { 4 } else { 0 }
        };
        let mut writer = Writer::default();
        writer.string(&self.path).u32(self.kind as u32).u32(flags);
        writer.bytes
    }
}

/// A profiler library to be loaded into the running process.
#[derive(Clone, Debug)]
pub struct AttachRequest {
    /// How long the runtime may wait for a concurrent collection to end before it loads.
    pub timeout: Duration,
    /// Class id the library's factory knows.
    pub class: Guid,
    /// Path of the library in the target's file system.
    pub path: String,
    /// Bytes handed to the profiler.
    pub data: Vec<u8>,
}

impl AttachRequest {
    pub(crate) fn payload(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        // Milliseconds, whatever some clients send: the runtime passes the number to its own wait.
        let millis = u32::try_from(self.timeout.as_millis()).unwrap_or(u32::MAX);
        writer.u32(millis).guid(self.class).string(&self.path).blob(&self.data);
        writer.bytes
    }
}

/// Which files a perf map consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfMapKind {
    /// Both.
    All = 1,
    /// A jitdump.
    JitDump = 2,
    /// A map of addresses to names.
    PerfMap = 3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_codes_are_unique() {
        let codes: std::collections::HashSet<_> = Command::ALL.iter().map(|command| command.code()).collect();
        assert_eq!(codes.len(), Command::ALL.len());
    }

    #[test]
    fn a_guid_has_dotnets_byte_order() {
        let guid = Guid(0xe13c_0d23_ccbc_4e12_931b_d9cc_2eee_27e4);
        assert_eq!(guid.to_string(), "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4");
        assert_eq!(guid.to_wire()[..8], [0x23, 0x0d, 0x3c, 0xe1, 0xbc, 0xcc, 0x12, 0x4e]);
        assert_eq!(Guid::from_wire(guid.to_wire()), guid);
    }

    #[test]
    fn an_attach_timeout_is_sent_in_milliseconds() {
        let request = AttachRequest {
            timeout: Duration::from_secs(3),
            class: Guid(0),
            path: String::new(),
            data: vec![9],
        };
        assert_eq!(request.payload()[..4], 3000u32.to_le_bytes());
    }

    #[test]
    fn a_dump_request_has_flags_only_from_version_two() {
        let options = DumpOptions { path: "a".into(), kind: DumpKind::Full, log: true, crash_report: true };
        assert_eq!(
            options.payload(Command::GenerateCoreDump).last_chunk::<8>(),
            Some(&[4, 0, 0, 0, 1, 0, 0, 0])
        );
        assert_eq!(
            options.payload(Command::GenerateCoreDump3).last_chunk::<8>(),
            Some(&[4, 0, 0, 0, 5, 0, 0, 0])
        );
    }
}
