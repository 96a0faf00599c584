//! What shows an illness to who has only the vital signs, or several looks together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What shows an illness, where no look alone does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "sign", rename_all = "kebab-case")]
pub enum Sign {
    /// Young collections take time, and their pauses are long.
    YoungCollections {
        /// Of the time, in per cent.
        percent: f64,
    },
    /// A finalizer waits for a lock that stands still.
    FinalizerWaits {
        /// The finalizer.
        method: String,
    },
    /// The process was stopped by a signal.
    Stopped,
    /// Descriptors become more, are near their limit, or stay open though the other side has closed them.
    Descriptors {
        /// What is open now.
        open: Descriptors,
        /// Of the limit, in per cent, where it is near.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near_limit: Option<f64>,
        /// Whether they only become more.
        leaks: bool,
        /// What most of them are.
        kind: DescriptorKind,
        /// How many more than at the start.
        growth: u64,
        /// Within so many seconds.
        seconds: f64,
        /// Sockets that the other side had closed at the start and that are still open.
        half_closed: u64,
        /// Connections that only the other side has closed.
        close_wait: u64,
        /// Connections on this network that wait out their end, where they are many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_wait: Option<u64>,
    },
    /// Exceptions are thrown.
    Exceptions {
        /// How many a second.
        per_second: f64,
    },
    /// Methods are compiled.
    Compiled {
        /// How many a second.
        per_second: f64,
    },
    /// Tiered compilation is switched off.
    TiersOff {
        /// The setting.
        value: String,
    },
    /// The processors are kept busy by regular expressions.
    Backtracking {
        /// The method of the framework that takes the time.
        method: String,
    },
    /// Threads wait for a lock under which the processors are busy.
    LockUnderWork {
        /// Waited by all threads together, in per cent of the time.
        percent: f64,
        /// What its owner works in.
        method: String,
    },
    /// The heap has holes between large objects.
    Holes {
        /// Of the heap, in per cent.
        percent: f64,
        /// Bytes of the large object heap.
        large_bytes: f64,
        /// Bytes of the heap.
        heap_bytes: f64,
    },
    /// Full collections stop the program for long, again and again.
    FullCollections {
        /// The longest pause among the vital signs, in nanoseconds.
        before_ns: u64,
        /// The longest of the look, in nanoseconds.
        now_ns: u64,
    },
    /// Memory grew, and nobody looked at the heap.
    MemoryGrew {
        /// By so many bytes.
        bytes: u64,
        /// Within so many seconds.
        seconds: f64,
        /// Resident bytes now.
        resident: u64,
    },
    /// The last collection met pinned objects.
    Pinned {
        /// How many.
        objects: u32,
        /// Handles of all kinds.
        handles: u32,
    },
    /// Calls to others are slow, or fail.
    Calls {
        /// Of which kind.
        kind: CallsKind,
        /// Whether they are slow; else too many fail.
        slow: bool,
        /// How long one takes, in seconds.
        seconds: f64,
        /// How many are under way at a time.
        at_once: f64,
        /// How many begin a second.
        begun: f64,
        /// How many fail a second.
        failed: f64,
    },
    /// The pool lacks threads.
    PoolLacksThreads {
        /// How often it added one because none took work.
        times: u64,
        /// Items that waited at every reading.
        queue: f64,
    },
    /// Timers are active.
    Timers {
        /// At the first reading.
        first: f64,
        /// At the last.
        last: f64,
    },
    /// The container is out of memory, or nearly.
    MemoryLimit {
        /// Bytes in use.
        used: u64,
        /// Bytes that it may use.
        limit: u64,
        /// Resident bytes of the process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resident: Option<u64>,
        /// Bytes of its heap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heap: Option<f64>,
        /// Processes of the container that the kernel killed for lack of memory meanwhile.
        killed: u64,
    },
    /// The container's limit of processor time stops it.
    ProcessorLimit {
        /// Processors that it may use.
        processors: f64,
        /// Of its periods, in per cent, in which it was stopped.
        stopped: f64,
        /// Used by the process, in per cent of one processor.
        used: f64,
    },
    /// The server collector does not fit the container.
    ServerCollector {
        /// Its heaps.
        heaps: u64,
        /// How their number is known.
        known_by: HeapsKnownBy,
        /// Processors that the process may use, when limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        processors: Option<f64>,
        /// Bytes that it may use, when limited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<u64>,
        /// Whether memory is what is missing; else it is processors.
        cramped: bool,
    },
    /// The heap's own limit lies above the container's.
    HeapHardLimit {
        /// The setting, as it stands in the environment.
        value: String,
        /// The same in bytes.
        bytes: u64,
        /// Bytes that the container may use.
        memory: u64,
    },
    /// A debugger or tracer is attached.
    Traced {
        /// Its process.
        pid: u32,
        /// Its name.
        name: String,
        /// Whether it has stopped the process.
        stopped: bool,
    },
    /// A profiler is to be loaded at the start.
    ProfilerAsked {
        /// Its library or class id.
        profiler: String,
        /// Whether it is loaded, when known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loaded: Option<bool>,
    },
    /// The program records its events since its start.
    RecordsItself {
        /// The settings that ask for it, with their names as they stand in the environment.
        settings: Vec<(String, String)>,
    },
    /// Other tools read its events.
    OtherListeners {
        /// Threads that send events to them.
        threads: usize,
    },
}

/// Open descriptors by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Descriptors {
    /// All of them.
    pub total: u64,
    /// Files of a file system.
    pub files: u64,
    /// Sockets.
    pub sockets: u64,
    /// Pipes.
    pub pipes: u64,
    /// Event descriptors, timers and the like.
    pub others: u64,
    /// The folder that most open files lie in, and how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_folder: Option<(String, u64)>,
    /// How many the process may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What most descriptors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DescriptorKind {
    /// Pipes, event descriptors and the like.
    Others,
    /// Sockets.
    Sockets,
    /// Files.
    Files,
}

/// What calls go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CallsKind {
    /// Outgoing HTTP calls.
    Http,
    /// Database commands.
    Database,
}

/// How the number of heaps is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeapsKnownBy {
    /// A collection reported it.
    Collection,
    /// The collector has as many threads.
    Threads,
    /// A setting asks for so many.
    Setting,
    /// The runtime makes one for each processor.
    Processors,
}

/// What speaks against an illness that was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum Doubt {
    /// The machine is crowded, so the program may only be behind with its work.
    Crowded,
    /// Most of the time goes into sending: it may only have much to answer.
    Sends,
    /// Processors are missing, not threads.
    NoProcessors {
        /// Threads that wait for a processor at any time.
        threads: f64,
    },
}
