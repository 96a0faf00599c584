//! Exit codes: one per cause, so that a script can tell them apart. They never change their meaning.

use std::process::ExitCode;

/// Why the tool ended. 0 is success, and 2 is clap's for a command line it cannot read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Something that should not happen.
    Unexpected = 1,
    /// No process has this pid.
    NoSuchProcess = 3,
    /// It is no .NET process.
    NotDotnet = 4,
    /// This user may not reach it.
    Forbidden = 5,
    /// Its diagnostics are off.
    DiagnosticsOff = 6,
    /// It does not answer.
    NoAnswer = 7,
    /// It ended in the middle.
    TargetEnded = 8,
    /// A file could not be written: full, read-only or forbidden.
    Disk = 9,
    /// No such profiler or format.
    UnknownProfiler = 10,
    /// No such parameter, or not a value for it.
    BadParameter = 11,
    /// Not a duration.
    BadDuration = 12,
    /// Several processes have this name.
    AmbiguousName = 13,
    /// No process has this name.
    NoSuchName = 14,
    /// A session folder is damaged.
    CorruptSession = 15,
    /// No such session, or it has no report.
    NoSuchSession = 16,
    /// The runtime, or where it runs, does not allow this profiler.
    Unsupported = 17,
    /// The program after `--` could not be started, or has no runtime.
    LaunchFailed = 18,
    /// The demo's programs could not be prepared.
    DemoFailed = 19,
    /// What is to be recorded cannot be understood: providers, profile, condition, amount.
    BadTraceRequest = 20,
    /// A recording could not be written to its end; what is in the file is complete up to there.
    RecordingCut = 21,
    /// The runtime refused the session.
    SessionRefused = 22,
    /// A trace file is not there or cannot be read.
    NoTraceFile = 25,
    /// A file is no trace.
    NotATrace = 26,
    /// A trace has no event of what was asked for.
    NoSuchEvents = 27,
    /// The list of counters cannot be read.
    BadCounters = 28,
    /// No value of any counter came.
    NoCounters = 29,
    /// The runtime gave no meters: another tool has them, or they failed.
    MetersRefused = 30,
    /// The heap came with holes, or not at all.
    HeapIncomplete = 31,
    /// A `.gcdump` file cannot be read.
    BadHeapFile = 32,
    /// The process could not write its core dump.
    DumpFailed = 33,
    /// The process cannot write where its core dump should go.
    DumpPlace = 34,
    /// The kernel does not let this user sample.
    SamplingRefused = 40,
    /// A profile cannot be read, or there is none.
    BadProfile = 35,
    /// The file to be written is there already.
    FileExists = 36,
    /// No symbols came: no server could be reached.
    NoSymbolServer = 37,
    /// No symbols came: no server has them.
    NoSymbols = 38,
    /// No symbols came: what servers sent could not be used.
    BadSymbols = 39,
    /// What was asked for cannot be had without the target's data.
    CannotRedact = 49,
    /// No agent could be brought into the process.
    AgentRefused = 43,
    /// The agent was in the process, but did not answer.
    AgentFailed = 44,
    /// A checkup found something of severity warning or critical.
    Findings = 48,
    /// A checkup found nothing wrong, but a runtime could not be asked, or a process not be examined.
    SomeUnexamined = 50,
    /// The process would stand still longer than may be without a word of the user's.
    PauseNotAllowed = 41,
    /// The process is too near its memory limit to be asked.
    NoRoom = 46,
    /// The user stopped it before there was anything to keep.
    Cancelled = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}
