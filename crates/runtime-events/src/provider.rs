//! Names of providers.

/// Events of the runtime itself.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// Everything that is loaded when a session ends.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// Stacks of all managed threads, at an interval.
pub const SAMPLE_PROFILER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// The class library: with keyword 2, work of the thread pool.
pub const FRAMEWORK: &str = "System.Diagnostics.Eventing.FrameworkEventSource";
/// The event stream itself.
pub const EVENT_PIPE: &str = "Microsoft-DotNETCore-EventPipe";
/// Values of meters.
pub const METRICS: &str = "System.Diagnostics.Metrics";
/// The event that carries a counter, whoever its provider is.
pub const EVENT_COUNTERS: &str = "EventCounters";
