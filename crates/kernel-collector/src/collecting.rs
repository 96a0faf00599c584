//! From the start to the profiles.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use kernel_profile::{Intake, Names, Profiles};
use model::ProcessId;
use native_symbols::KernelNames;
use perf_sampler::{Counts, Granted, Sampler, SamplerError, Summary, Timestamp, Wake};
use process_view::Process;

use crate::names::{NameSource, Naming, SharedCode};
use crate::request::{Request, Target};
use crate::{behalf, children};

/// How long names are waited for before sampling begins without them; they may still come later.
const PATIENCE_AT_START: Duration = Duration::from_secs(2);
/// How often threads that serve us are looked at while names come.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long is waited for the last names.
const PATIENCE_AT_END: Duration = Duration::from_secs(3);

/// A recording that goes on.
pub struct Collecting {
    sampler: Sampler,
    intake: Intake,
    names: BTreeMap<ProcessId, NameSource>,
    request: Request,
    started_at: SystemTime,
    behalf: BTreeMap<ProcessId, behalf::Clocks>,
    looked_for_children: Instant,
    /// Until when a live view has been told.
    live_until: Option<Timestamp>,
    /// Read when first needed; the inner one is none where the kernel shows no names.
    kernel: Option<Option<KernelNames>>,
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
}

impl Collecting {
    /// Gets names, then begins to sample.
    pub fn start(request: Request) -> Result<Collecting, SamplerError> {
        // What is refused is refused before anybody is asked for anything.
        perf_sampler::preflight(&request.sampling)?;
        let mut behalf: BTreeMap<ProcessId, behalf::Clocks> =
            request.targets.iter().map(|target| (target.pid, behalf::Clocks::of(target.pid))).collect();
        let mut names: BTreeMap<ProcessId, NameSource> = request
            .targets
            .iter()
            .map(|target| (target.pid, NameSource::begin(target.client.clone())))
            .collect();
        let until = Instant::now() + PATIENCE_AT_START;
        while Instant::now() < until {
            behalf.values_mut().for_each(behalf::Clocks::look);
            // All are asked at once; each look waits a moment for the first that is not ready.
            if names.values_mut().all(|source| source.ready(LOOK_EVERY)) {
                break;
            }
        }
        let sampler = Sampler::start(&request.sampling)?;
        let mut intake = Intake::new(sampler.granted().max_frames);
        request.targets.iter().for_each(|target| intake.follow(target.pid));
        let (started_at, looked_for_children) = (SystemTime::now(), Instant::now());
        Ok(Collecting {
            sampler,
            intake,
            names,
            request,
            started_at,
            behalf,
            looked_for_children,
            live_until: None,
            kernel: None,
        })
    }

    /// What it can show, and what not.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        self.sampler.granted()
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.sampler.counts()
    }

    /// Waits, at most this long, and takes in what came.
    pub fn wait(&mut self, time: Duration) -> Result<Wake, SamplerError> {
        let wake = self.sampler.wait(time)?;
        let intake = &mut self.intake;
        self.sampler.read(&mut |record| intake.take(record));
        if self.request.follows_children() && self.looked_for_children.elapsed() > children::LOOK_EVERY {
            self.looked_for_children = Instant::now();
            self.name_children();
        }
        Ok(wake)
    }

    /// What a process did since this was last called, or since the start; for a live view. What was told is forgotten.
    pub fn live(&mut self, pid: ProcessId) -> Option<Profiles> {
        let until = Timestamp::now();
        let since = self.live_until.replace(until).unwrap_or_else(|| self.sampler.started());
        let kernel = self.kernel.get_or_insert_with(|| KernelNames::of_this_machine().ok()).as_ref();
        let source = self.names.entry(pid).or_insert_with(|| NameSource::begin(None));
        source.ready(Duration::ZERO);
        let mut code = source.code().lock().unwrap_or_else(PoisonError::into_inner);
        code.settle();
        let names = Names { code: &code, kernel, debug_cache: self.request.debug_cache.clone() };
        let profiles = self.intake.snapshot(pid, &names, since, until);
        self.intake.forget_before(until);
        profiles
    }

    /// Children that turn out to be .NET programs get names too.
    fn name_children(&mut self) {
        let unnamed: Vec<ProcessId> =
            self.intake.processes().filter(|pid| !self.names.contains_key(pid)).collect();
        for pid in unnamed {
            if let Some(target) = children::look_at(pid) {
                self.behalf.insert(pid, behalf::Clocks::of(pid));
                self.names.insert(pid, NameSource::begin(target.client));
            }
        }
    }

    /// Stops, names everything, and says what it was.
    #[must_use]
    pub fn finish(mut self) -> Recorded {
        let granted = self.sampler.granted().clone();
        let intake = &mut self.intake;
        let summary = self.sampler.finish(&mut |record| intake.take(record));
        self.behalf.values_mut().for_each(behalf::Clocks::look);
        self.names.values().for_each(NameSource::stop);
        let kernel = self.kernel.take().unwrap_or_else(|| KernelNames::of_this_machine().ok());
        let mut order: Vec<ProcessId> = self.request.targets.iter().map(|target| target.pid).collect();
        order.extend(self.intake.processes().filter(|pid| !self.names.contains_key(pid)));
        order.extend(self.names.keys().copied());
        let mut processes: Vec<RecordedProcess> = Vec::new();
        for pid in order {
            if processes.iter().any(|done| done.pid == pid) {
                continue;
            }
            let source = self.names.remove(&pid).unwrap_or_else(|| NameSource::begin(None));
            let cache = self.request.debug_cache.clone();
            let (code, naming) = named(&mut self.intake, pid, source, cache.clone());
            let code = code.lock().unwrap_or_else(PoisonError::into_inner);
            let names = Names { code: &code, kernel: kernel.as_ref(), debug_cache: cache };
            let on_our_behalf = self.behalf.get_mut(&pid).map_or(Duration::ZERO, behalf::Clocks::used);
            if let Some(profiles) = self.intake.finish(pid, &names, summary.started, summary.ended) {
                let cpu_time = summary.cpu_time.get(&pid).copied();
                processes.push(RecordedProcess { pid, profiles, naming, cpu_time, on_our_behalf });
            }
        }
        Recorded { processes, granted, summary, started_at: self.started_at }
    }
}

/// The names of a process. Code that was sampled and is still unknown is asked for once more.
fn named(
    intake: &mut Intake,
    pid: ProcessId,
    mut source: NameSource,
    debug_cache: Option<PathBuf>,
) -> (SharedCode, Naming) {
    source.ready(PATIENCE_AT_END);
    let unknown = {
        let mut code = source.code().lock().unwrap_or_else(PoisonError::into_inner);
        code.settle();
        intake.has_unknown_code(pid, &Names { code: &code, kernel: None, debug_cache })
    };
    if unknown && Process::new(pid).is_alive() {
        source.ask_again(PATIENCE_AT_END);
    }
    source.finish(PATIENCE_AT_END)
}

impl From<ProcessId> for Target {
    /// A process whose runtime is not asked.
    fn from(pid: ProcessId) -> Target {
        Target { pid, client: None }
    }
}
