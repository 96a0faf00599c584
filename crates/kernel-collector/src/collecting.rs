//! From the start to the profiles.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use discovery::DotnetProcess;
use kernel_profile::{Intake, Names, Profiles, Unknown};
use model::{ProcessId, ThreadId};
use native_symbols::{Backing, KernelNames, MemoryMap};
use perf_sampler::{
    Counts, Granted, KernelFrames, Preferred, Sampler, SamplerError, Summary, Timestamp, Wake,
};
use process_view::Process;
use runtime_memory::RuntimeMemory;

use crate::looks::Looks;
use crate::names::{NameSource, Naming, SharedCode};
use crate::request::{NamesFirst, Request, Target};
use crate::threads::{self, Roster, ThreadClock};
use crate::{behalf, children};

/// How long names are waited for before sampling begins without them; they may still come later.
const PATIENCE_AT_START: Duration = Duration::from_secs(2);
/// How often threads that serve us are looked at while names come.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long is waited for the last names.
const PATIENCE_AT_END: Duration = Duration::from_secs(3);

/// A process with more compiled code than this, in bytes, is not asked to tell of all of it: some twenty thousand methods.
const LARGE: u64 = 16 << 20;
/// How often names are read from memory, in case the process ends.
const READ_MEMORY_EVERY: Duration = Duration::from_secs(1);

/// A recording that goes on.
pub struct Collecting {
    sampler: Sampler,
    intake: Intake,
    names: BTreeMap<ProcessId, NameSource>,
    request: Request,
    started_at: SystemTime,
    behalf: BTreeMap<ProcessId, behalf::Clocks>,
    rosters: BTreeMap<ProcessId, Roster>,
    looked_for_children: Instant,
    looks: Option<Looks>,
    children: BTreeMap<ProcessId, DotnetProcess>,
    read_memory: Instant,
    /// Until when a live view has been told.
    live_until: Option<Timestamp>,
    kernel: KernelLater,
    /// Sampling cannot wait; what comes after it can.
    preferred: Option<Preferred>,
}

/// What was recorded.
pub struct Recorded {
    /// The processes that were seen, those that were asked for first.
    pub processes: Vec<RecordedProcess>,
    /// What the sampler was granted, and what is missing from the picture.
    pub granted: Granted,
    /// Counts, begin and end, CPU time.
    pub summary: Summary,
    /// When it began.
    pub started_at: SystemTime,
    /// Our own time for looking at threads while they waited.
    pub looking: Duration,
}

/// One process of a recording.
pub struct RecordedProcess {
    /// Its pid.
    pub pid: ProcessId,
    /// Where its time went, and how good that is.
    pub profiles: Profiles,
    /// How its names were got.
    pub naming: Naming,
    /// CPU time it used while it was recorded, by the scheduler's own count; `None` if it was not told.
    pub cpu_time: Option<Duration>,
    /// CPU time of its threads that served our sessions.
    pub on_our_behalf: Duration,
    /// What is known of a child that turned out to be a .NET program. Of those that were asked for, the caller knows.
    pub child: Option<DotnetProcess>,
    /// Its threads by the scheduler's own count; without those that came and went.
    pub threads: BTreeMap<ThreadId, ThreadClock>,
}

impl Collecting {
    /// Gets names, then begins to sample.
    pub fn start(request: Request) -> Result<Collecting, SamplerError> {
        // What is refused is refused before anybody is asked for anything.
        perf_sampler::preflight(&request.sampling)?;
        let mut behalf: BTreeMap<ProcessId, behalf::Clocks> =
            request.targets.iter().map(|target| (target.pid, behalf::Clocks::of(target.pid))).collect();
        let mut names: BTreeMap<ProcessId, NameSource> =
            request.targets.iter().map(|target| (target.pid, name_source(target, request.names))).collect();
        let until = Instant::now() + PATIENCE_AT_START;
        while Instant::now() < until {
            behalf.values_mut().for_each(behalf::Clocks::look);
            // All are asked at once; each look waits a moment for the first that is not ready.
            if names.values_mut().all(|source| source.ready(LOOK_EVERY)) {
                break;
            }
        }
        names.values().for_each(|source| source.listens(PATIENCE_AT_START));
        let preferred = Preferred::ask();
        let sampler = Sampler::start(&request.sampling)?;
        let mut intake = Intake::new(sampler.granted().max_frames);
        request.targets.iter().for_each(|target| intake.follow(target.pid));
        let looks =
            Looks::for_what_is_granted(sampler.granted(), request.sampling.kernel_frames, &mut intake);
        let rosters = request.targets.iter().map(|target| (target.pid, Roster::of(target.pid))).collect();
        let kernel = match request.sampling.kernel_frames {
            KernelFrames::Wanted => KernelLater::begin(),
            KernelFrames::Unwanted => KernelLater::Read(None),
        };
        let mut collecting = Collecting {
            sampler,
            intake,
            names,
            request,
            started_at: SystemTime::now(),
            behalf,
            rosters,
            looked_for_children: Instant::now(),
            looks,
            children: BTreeMap::new(),
            read_memory: Instant::now(),
            live_until: None,
            kernel,
            preferred,
        };
        collecting.learn_places();
        // Threads that are parked now may stay so to the end, without a word from the kernel.
        collecting.look();
        Ok(collecting)
    }

    /// What it can show, and what not.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        self.sampler.granted()
    }

    /// The code of a process, while it is told of: all that there is, and what comes until the end.
    #[must_use]
    pub fn code(&self, pid: ProcessId) -> Option<SharedCode> {
        let source = self.names.get(&pid).filter(|source| source.knows_all())?;
        Some(SharedCode::clone(source.code()))
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.sampler.counts()
    }

    /// Stacks of waits so far: those that the kernel copied, and those that were read while the thread waited.
    #[must_use]
    pub fn wait_stacks(&self) -> u64 {
        self.sampler.counts().wait_stacks + self.looks.as_ref().map_or(0, Looks::stacks)
    }

    /// Waits, at most this long, and takes in what came.
    pub fn wait(&mut self, time: Duration) -> Result<Wake, SamplerError> {
        let until = Instant::now() + time;
        let wake = loop {
            let left = until.saturating_duration_since(Instant::now());
            let wake = self.sampler.wait(self.looks.as_ref().map_or(left, |looks| looks.next().min(left)))?;
            self.learn_places();
            let intake = &mut self.intake;
            self.sampler.read(&mut |record| intake.take(record));
            self.look();
            if wake != Wake::Time || Instant::now() >= until {
                break wake;
            }
        };
        if self.request.follows_children() && self.looked_for_children.elapsed() > children::LOOK_EVERY {
            self.looked_for_children = Instant::now();
            self.name_children();
        }
        if self.read_memory.elapsed() > READ_MEMORY_EVERY {
            self.read_memory = Instant::now();
            self.read_names();
        }
        Ok(wake)
    }

    /// Reads names from memory while the process is there to be read.
    fn read_names(&mut self) {
        for (pid, source) in self.names.iter_mut().filter(|(_, source)| source.reads_memory()) {
            let unknown = unknown_code(&mut self.intake, *pid, source, &self.request);
            source.read_memory(*pid, &unknown);
        }
    }

    /// What a process did since this was last called, or since the start; for a live view. What was told is forgotten.
    pub fn live(&mut self, pid: ProcessId) -> Option<Profiles> {
        let until = Timestamp::now();
        let since = self.live_until.replace(until).unwrap_or_else(|| self.sampler.started());
        let source = self.names.entry(pid).or_insert_with(|| NameSource::begin(None, NamesFirst::Later));
        source.ready(Duration::ZERO);
        if source.has_failed() {
            let unknown = unknown_code(&mut self.intake, pid, source, &self.request);
            source.read_memory(pid, &unknown);
        }
        let kernel = self.kernel.get();
        let mut code = source.code().lock().unwrap_or_else(PoisonError::into_inner);
        code.settle();
        let names = Names { code: &code, kernel, debug_cache: self.request.debug_cache.clone() };
        let profiles = self.intake.snapshot(pid, &names, since, until);
        self.intake.forget_before(until);
        profiles
    }

    /// Where methods begin, for the walks to come.
    fn learn_places(&mut self) {
        for (pid, source) in &self.names {
            for (start, bytes) in source.take_places() {
                self.intake.method(*pid, start, bytes);
            }
        }
    }

    /// Looks at threads that wait, when it is time.
    fn look(&mut self) {
        if let Some(looks) = &mut self.looks {
            looks.round(&self.sampler, &mut self.intake);
        }
    }

    /// Children that turn out to be .NET programs get names too.
    fn name_children(&mut self) {
        let unnamed: Vec<ProcessId> =
            self.intake.processes().filter(|pid| !self.names.contains_key(pid)).collect();
        for pid in unnamed {
            if let Some(process) = children::look_at(pid) {
                self.behalf.insert(pid, behalf::Clocks::of(pid));
                self.rosters.insert(pid, Roster::of(pid));
                self.names.insert(pid, NameSource::begin(process.client(), NamesFirst::Awaited));
                self.children.insert(pid, process);
            }
        }
    }

    /// Stops, names everything, and says what it was.
    #[must_use]
    pub fn finish(mut self) -> Recorded {
        let granted = self.sampler.granted().clone();
        self.learn_places();
        let intake = &mut self.intake;
        let summary = self.sampler.finish(&mut |record| intake.take(record));
        drop(self.preferred.take());
        self.behalf.values_mut().for_each(behalf::Clocks::look);
        self.names.values().for_each(NameSource::stop);
        let rosters = std::mem::take(&mut self.rosters);
        let mut clocks: BTreeMap<ProcessId, _> =
            rosters.into_iter().map(|(pid, roster)| (pid, roster.finish())).collect();
        let kernel = std::mem::replace(&mut self.kernel, KernelLater::Read(None)).into_names();
        let mut order: Vec<ProcessId> = self.request.targets.iter().map(|target| target.pid).collect();
        order.extend(self.intake.processes().filter(|pid| !self.names.contains_key(pid)));
        order.extend(self.names.keys().copied());
        let mut processes: Vec<RecordedProcess> = Vec::new();
        for pid in order {
            if processes.iter().any(|done| done.pid == pid) {
                continue;
            }
            let source =
                self.names.remove(&pid).unwrap_or_else(|| NameSource::begin(None, NamesFirst::Later));
            let (code, naming) = named(&mut self.intake, pid, source, &self.request);
            let code = code.lock().unwrap_or_else(PoisonError::into_inner);
            let names =
                Names { code: &code, kernel: kernel.as_ref(), debug_cache: self.request.debug_cache.clone() };
            let on_our_behalf = self.behalf.get_mut(&pid).map_or(Duration::ZERO, behalf::Clocks::used);
            if let Some(mut profiles) = self.intake.finish(pid, &names, summary.started, summary.ended) {
                let cpu_time = summary.cpu_time.get(&pid).copied();
                let child = self.children.remove(&pid);
                let threads = clocks.remove(&pid).unwrap_or_else(|| Roster::of(pid).finish());
                for profile in [&mut profiles.on_cpu, &mut profiles.off_cpu, &mut profiles.ready] {
                    threads::name(profile, &threads);
                }
                processes.push(RecordedProcess {
                    pid,
                    profiles,
                    naming,
                    cpu_time,
                    on_our_behalf,
                    threads,
                    child,
                });
            }
        }
        let looking = self.looks.as_ref().map_or(Duration::ZERO, Looks::took);
        Recorded { processes, granted, summary, started_at: self.started_at, looking }
    }
}

/// Names of the kernel's functions. To list them takes the kernel a tenth of a second, which nobody has to wait for at the
/// end of a recording.
enum KernelLater {
    Reading(JoinHandle<Option<KernelNames>>),
    /// None where the kernel shows no names, or nobody wants them.
    Read(Option<KernelNames>),
}

impl KernelLater {
    fn begin() -> KernelLater {
        let thread = std::thread::Builder::new().name("kernel-names".to_owned());
        let reading = thread.spawn(|| KernelNames::of_this_machine().ok());
        reading.map_or(KernelLater::Read(None), KernelLater::Reading)
    }

    fn into_names(self) -> Option<KernelNames> {
        match self {
            KernelLater::Reading(reading) => reading.join().ok().flatten(),
            KernelLater::Read(names) => names,
        }
    }

    fn get(&mut self) -> Option<&KernelNames> {
        let names = std::mem::replace(self, KernelLater::Read(None)).into_names();
        *self = KernelLater::Read(names);
        match self {
            KernelLater::Read(names) => names.as_ref(),
            KernelLater::Reading(_) => None,
        }
    }
}

/// Where the names of a process come from.
fn name_source(target: &Target, first: NamesFirst) -> NameSource {
    let is_large = first != NamesFirst::Later && code_bytes(target.pid) > LARGE;
    let is_read = is_large || first == NamesFirst::Once;
    match is_read.then(|| RuntimeMemory::open(target.pid)) {
        // To tell of all of it would take its toll.
        Some(Ok(memory)) if is_large => {
            NameSource::begin_with(memory, target.client.clone(), NamesFirst::Later)
        }
        Some(Ok(memory)) => NameSource::begin_with(memory, target.client.clone(), first),
        _ => NameSource::begin(target.client.clone(), first),
    }
}

/// Bytes of code that a runtime has made in a process.
fn code_bytes(pid: ProcessId) -> u64 {
    let map = MemoryMap::of_process(pid).unwrap_or_default();
    let made = map.iter().filter(|mapping| mapping.executable && mapping.backing == Backing::Anonymous);
    made.map(|mapping| mapping.end.saturating_sub(mapping.start)).sum()
}

fn unknown_code(intake: &mut Intake, pid: ProcessId, source: &NameSource, request: &Request) -> Unknown {
    let mut code = source.code().lock().unwrap_or_else(PoisonError::into_inner);
    code.settle();
    intake.unknown_code(pid, &Names { code: &code, kernel: None, debug_cache: request.debug_cache.clone() })
}

/// The names of a process. Code that was sampled and is still unknown is asked for once more.
fn named(
    intake: &mut Intake,
    pid: ProcessId,
    mut source: NameSource,
    request: &Request,
) -> (SharedCode, Naming) {
    // One that has not told its names by now hangs; it is not waited for twice.
    let mut answers = source.ready(PATIENCE_AT_END);
    let unknown = unknown_code(intake, pid, &source, request);
    if source.reads_memory() || source.has_failed() || !answers {
        source.read_memory(pid, &unknown);
        if answers && source.has_missed() && Process::new(pid).is_alive() {
            answers = source.ask_again(PATIENCE_AT_END);
        }
    } else if !unknown.in_assemblies.is_empty() && Process::new(pid).is_alive() {
        // A few addresses are read sooner than all code is told again, and what has no name in memory has none: images
        // have glue of their own.
        source.read_memory(pid, &unknown);
        if !source.reads_memory() {
            answers = source.ask_again(PATIENCE_AT_END);
        }
    }
    source.finish(if answers { PATIENCE_AT_END } else { Duration::ZERO })
}

impl From<ProcessId> for Target {
    /// A process whose runtime is not asked.
    fn from(pid: ProcessId) -> Target {
        Target { pid, client: None }
    }
}
