//! All events, and how they are told apart.

use nettrace::EventVersion;

use crate::counters::EventCounter;
use crate::decode::{Provider, known};
use crate::layout::{Fields, Layout};
use crate::{
    DecodeError, allocation, contention, exception, gc, gc_history, handle, heap, jit, loader, metrics,
    process, sample, thread, thread_pool, types,
};

/// Lists every event once: its name, what it holds, its provider, its ids, and the oldest version that is known.
macro_rules! runtime_events {
    ($($(#[$doc:meta])* $name:ident($type:ty) = $provider:ident [$($id:pat_param)|+] from $oldest:literal;)*) => {
        /// An event.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum RuntimeEvent<'a> {
            $($(#[$doc])* $name($type),)*
            /// A counter of any provider.
            EventCounter(EventCounter<'a>),
        }

        impl RuntimeEvent<'_> {
            /// What the event is called here.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(RuntimeEvent::$name(_) => stringify!($name),)*
                    RuntimeEvent::EventCounter(_) => "EventCounter",
                }
            }
        }

        /// Decodes an event of a provider with fixed layouts; none if it is not known.
        pub(crate) fn decode_fixed<'a>(
            provider: Provider,
            id: u32,
            version: EventVersion,
            fields: &mut Fields<'a>,
        ) -> Result<Option<RuntimeEvent<'a>>, DecodeError> {
            match (provider, id) {
                $(
                    (Provider::$provider, $($id)|+) => {
                        known(stringify!($name), version, EventVersion($oldest))?;
                        let event = <$type>::decode(fields);
                        let event = event.map_err(|error| error.within(stringify!($name), version))?;
                        Ok(Some(RuntimeEvent::$name(event)))
                    }
                )*
                _ => Ok(None),
            }
        }
    };
}

runtime_events! {
    /// A collection begins.
    GcStart(gc::GcStart) = Runtime [1] from 1;
    /// A collection has ended.
    GcEnd(gc::GcEnd) = Runtime [2] from 1;
    /// All threads run again: a pause has ended.
    RestartEnd(gc::Mark) = Runtime [3] from 1;
    /// The heap after a collection.
    HeapStats(gc::HeapStats) = Runtime [4] from 1;
    /// The heap grows.
    CreateSegment(gc::CreateSegment) = Runtime [5] from 1;
    /// The heap shrinks.
    FreeSegment(gc::FreeSegment) = Runtime [6] from 1;
    /// Threads may go on.
    RestartBegin(gc::Mark) = Runtime [7] from 1;
    /// All threads have stopped.
    SuspendEnd(gc::Mark) = Runtime [8] from 1;
    /// Threads are asked to stop: a pause begins.
    SuspendBegin(gc::SuspendBegin) = Runtime [9] from 1;
    /// About 100 kB were allocated.
    AllocationTick(allocation::AllocationTick<'a>) = Runtime [10] from 1;
    /// Finalizers have run.
    FinalizersEnd(gc::FinalizersEnd) = Runtime [13] from 1;
    /// Finalizers begin to run.
    FinalizersBegin(gc::Mark) = Runtime [14] from 1;
    /// Types.
    Types(types::Types<'a>) = Runtime [15] from 0;
    /// What keeps objects alive.
    Roots(heap::Roots<'a>) = Runtime [16] from 0;
    /// Objects that live as long as others.
    DependentRoots(heap::DependentRoots<'a>) = Runtime [17] from 0;
    /// Objects.
    Nodes(heap::Nodes<'a>) = Runtime [18] from 0;
    /// References.
    Edges(heap::Edges<'a>) = Runtime [19] from 0;
    /// A part of the heap.
    GenerationRange(heap::GenerationRange) = Runtime [23] from 0;
    /// A finalizer runs.
    FinalizeObject(gc::FinalizeObject) = Runtime [29] from 0;
    /// A handle is made.
    HandleCreated(handle::HandleCreated) = Runtime [30] from 0;
    /// A handle is freed.
    HandleDestroyed(handle::HandleDestroyed) = Runtime [31] from 0;
    /// An object must not move.
    PinObject(gc::PinObject<'a>) = Runtime [33] from 0;
    /// A collection is wanted.
    GcTriggered(gc::GcTriggered) = Runtime [35] from 0;
    /// Static fields.
    StaticRoots(heap::StaticRoots<'a>) = Runtime [38] from 0;
    /// Something about a collection.
    GcDynamic(gc::GcDynamic<'a>) = Runtime [39] from 0;
    /// A thread for input and output is created.
    IoThreadCreate(thread_pool::IoThreads) = Runtime [44] from 0;
    /// A thread for input and output ends.
    IoThreadTerminate(thread_pool::IoThreads) = Runtime [45] from 0;
    /// A thread for input and output retires.
    IoThreadRetire(thread_pool::IoThreads) = Runtime [46] from 0;
    /// A thread for input and output returns.
    IoThreadUnretire(thread_pool::IoThreads) = Runtime [47] from 0;
    /// A worker starts.
    WorkerStart(thread_pool::WorkerThreads) = Runtime [50] from 0;
    /// A worker stops.
    WorkerStop(thread_pool::WorkerThreads) = Runtime [51] from 0;
    /// A worker retires.
    WorkerRetire(thread_pool::WorkerThreads) = Runtime [52] from 0;
    /// A worker returns.
    WorkerUnretire(thread_pool::WorkerThreads) = Runtime [53] from 0;
    /// The pool measured its work.
    AdjustmentSample(thread_pool::AdjustmentSample) = Runtime [54] from 0;
    /// The pool wants another number of threads.
    Adjustment(thread_pool::Adjustment) = Runtime [55] from 0;
    /// What the pool's decisions are based on.
    AdjustmentStats(thread_pool::AdjustmentStats) = Runtime [56] from 0;
    /// A worker waits for work.
    WorkerWait(thread_pool::WorkerThreads) = Runtime [57] from 0;
    /// The limits of the pool.
    MinMaxThreads(thread_pool::MinMaxThreads) = Runtime [59] from 0;
    /// Workers that are at work.
    WorkingThreads(thread_pool::WorkingThreads) = Runtime [60] from 0;
    /// Work is queued.
    WorkEnqueue(thread_pool::Work) = Runtime [61] from 0;
    /// Work is taken.
    WorkDequeue(thread_pool::Work) = Runtime [62] from 0;
    /// Input or output begins.
    IoEnqueue(thread_pool::IoEnqueue) = Runtime [63] from 0;
    /// Input or output has ended.
    IoDequeue(thread_pool::IoWork) = Runtime [64] from 0;
    /// Input or output is prepared.
    IoPack(thread_pool::IoWork) = Runtime [65] from 0;
    /// A thread starts another one.
    ThreadCreating(thread::ThreadStarting) = Runtime [70] from 0;
    /// A thread that was started runs.
    ThreadRunning(thread::ThreadStarting) = Runtime [71] from 0;
    /// An exception is thrown.
    ExceptionThrown(exception::ExceptionThrown<'a>) = Runtime [80] from 1;
    /// A thread begins to wait for a lock.
    ContentionStart(contention::ContentionStart) = Runtime [81] from 0;
    /// A managed thread is there.
    ThreadCreated(thread::ThreadCreated) = Runtime [85] from 0;
    /// A managed thread has ended.
    ThreadTerminated(thread::ThreadTerminated) = Runtime [86] from 0;
    /// An object gets a lock of its own.
    LockCreated(contention::LockCreated) = Runtime [90] from 0;
    /// A thread has the lock it waited for.
    ContentionStop(contention::ContentionStop) = Runtime [91] from 0;
    /// A method has code.
    MethodLoad(jit::Method<'a>) = Runtime [143] from 0;
    /// The code of a method is gone.
    MethodUnload(jit::Method<'a>) = Runtime [144] from 0;
    /// A method is being compiled.
    JittingStarted(jit::JittingStarted<'a>) = Runtime [145] from 0;
    /// How much memory the code of a method took.
    JitMemory(jit::JitMemory) = Runtime [146] from 0;
    /// A module is loaded into an application domain.
    DomainModuleLoad(loader::DomainModule<'a>) = Runtime [151] from 0;
    /// A module is loaded.
    ModuleLoad(loader::Module<'a>) = Runtime [152] from 0;
    /// A module is unloaded.
    ModuleUnload(loader::Module<'a>) = Runtime [153] from 0;
    /// An assembly is loaded.
    AssemblyLoad(loader::Assembly<'a>) = Runtime [154] from 1;
    /// An assembly is unloaded.
    AssemblyUnload(loader::Assembly<'a>) = Runtime [155] from 1;
    /// An application domain is there.
    AppDomainLoad(loader::AppDomain<'a>) = Runtime [156] from 0;
    /// An application domain is gone.
    AppDomainUnload(loader::AppDomain<'a>) = Runtime [157] from 0;
    /// Code from a file is called for the first time.
    ReadyToRunEntryPoint(jit::ReadyToRunEntryPoint<'a>) = Runtime [159] from 0;
    /// Code from a file is looked for.
    ReadyToRunLookup(jit::ReadyToRunLookup) = Runtime [160] from 0;
    /// The runtime has started.
    RuntimeStart(process::RuntimeInfo<'a>) = Runtime [187] from 0;
    /// Which instruction stands for which IL.
    IlToNativeMap(jit::IlToNativeMap<'a>) = Runtime [190] from 0;
    /// An object holds more memory than the collector sees.
    IncreaseMemoryPressure(allocation::MemoryPressure) = Runtime [200] from 0;
    /// An object holds less memory than before.
    DecreaseMemoryPressure(allocation::MemoryPressure) = Runtime [201] from 0;
    /// What a collection did to one heap.
    PerHeapHistory(gc_history::PerHeapHistory<'a>) = Runtime [204] from 3;
    /// How a collection was decided on.
    GlobalHeapHistory(gc_history::GlobalHeapHistory<'a>) = Runtime [205] from 1;
    /// A catch block begins to run.
    CatchStart(exception::HandlerStart<'a>) = Runtime [250] from 0;
    /// A catch block is done.
    CatchStop(exception::HandlerStop) = Runtime [251] from 0;
    /// A finally block begins to run.
    FinallyStart(exception::HandlerStart<'a>) = Runtime [252] from 0;
    /// A finally block is done.
    FinallyStop(exception::HandlerStop) = Runtime [253] from 0;
    /// A filter begins to run.
    FilterStart(exception::HandlerStart<'a>) = Runtime [254] from 0;
    /// A filter is done.
    FilterStop(exception::HandlerStop) = Runtime [255] from 0;
    /// An exception is handled.
    ExceptionStop(exception::HandlerStop) = Runtime [256] from 0;
    /// A thread begins to wait for something other than a lock.
    WaitStart(contention::WaitStart) = Runtime [301] from 0;
    /// The wait is over.
    WaitStop(contention::WaitStop) = Runtime [302] from 0;
    /// An allocation was picked at random.
    AllocationSampled(allocation::AllocationSampled<'a>) = Runtime [303] from 0;
    /// A method has code, when a session begins or ends.
    MethodRundown(jit::Method<'a>) = Rundown [143 | 144] from 0;
    /// Which instruction stands for which IL, when a session begins or ends.
    IlToNativeMapRundown(jit::IlToNativeMap<'a>) = Rundown [149 | 150] from 0;
    /// A module is loaded into an application domain, when a session begins or ends.
    DomainModuleRundown(loader::DomainModule<'a>) = Rundown [151 | 152] from 0;
    /// A module is loaded, when a session begins or ends.
    ModuleRundown(loader::Module<'a>) = Rundown [153 | 154] from 0;
    /// An assembly is loaded, when a session begins or ends.
    AssemblyRundown(loader::Assembly<'a>) = Rundown [155 | 156] from 1;
    /// An application domain is there, when a session begins or ends.
    AppDomainRundown(loader::AppDomain<'a>) = Rundown [157 | 158] from 0;
    /// A managed thread is there, when a session ends.
    ThreadRundown(thread::ThreadCreated) = Rundown [159] from 0;
    /// The runtime, when a session ends.
    RuntimeRundown(process::RuntimeInfo<'a>) = Rundown [187] from 0;
    /// Managed work is queued.
    ManagedWorkEnqueue(thread_pool::ManagedWork) = Framework [30] from 0;
    /// Managed work is taken.
    ManagedWorkDequeue(thread_pool::ManagedWork) = Framework [31] from 0;
    /// The stack of a thread.
    Sample(sample::Sample) = Sampler [0] from 0;
    /// The process.
    ProcessInfo(process::ProcessInfo<'a>) = EventPipe [1] from 0;
    /// Words of the meters' event source.
    MetricsMessage(metrics::Message<'a>) = Metrics [1] from 0;
    /// Values of an interval follow.
    CollectionStart(metrics::Collection<'a>) = Metrics [2] from 0;
    /// The values of an interval have come.
    CollectionStop(metrics::Collection<'a>) = Metrics [3] from 0;
    /// A counter of a meter.
    CounterValue(metrics::CounterValue<'a>) = Metrics [4] from 0;
    /// A gauge of a meter.
    GaugeValue(metrics::GaugeValue<'a>) = Metrics [5] from 0;
    /// A histogram of a meter.
    HistogramValue(metrics::HistogramValue<'a>) = Metrics [6] from 0;
    /// An instrument is reported from now on.
    InstrumentBegin(metrics::Instrument<'a>) = Metrics [7] from 0;
    /// An instrument is not reported any more.
    InstrumentEnd(metrics::Instrument<'a>) = Metrics [8] from 0;
    /// The session failed.
    MetricsError(metrics::SessionError<'a>) = Metrics [9] from 0;
    /// All instruments that exist have been told of.
    InstrumentsComplete(metrics::SessionNote<'a>) = Metrics [10] from 0;
    /// An instrument exists.
    InstrumentPublished(metrics::Instrument<'a>) = Metrics [11] from 0;
    /// There are more series than the session allows.
    SeriesLimitReached(metrics::SessionNote<'a>) = Metrics [12] from 0;
    /// There are more histograms than the session allows.
    HistogramLimitReached(metrics::SessionNote<'a>) = Metrics [13] from 0;
    /// An instrument could not be asked for its value.
    InstrumentCallbackError(metrics::SessionError<'a>) = Metrics [14] from 0;
    /// Another session is running.
    MultipleSessions(metrics::SessionNote<'a>) = Metrics [15] from 0;
    /// A counter of a meter that can go down.
    UpDownCounterValue(metrics::CounterValue<'a>) = Metrics [16] from 0;
    /// A shared session is running with other settings.
    SharedSessionConflict(metrics::SharedSessionConflict<'a>) = Metrics [17] from 0;
}
