//! Collecting: what every thread ran, on whose behalf, and how long it ran since it was last looked at.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use agent_host::{AgentError, AsyncCensus, AsyncSample, Attached, ChainEnd, Class, Method};
use model::WindowEnd;
use process_view::ProcessorTime;
use symbols::human_name;

use crate::inside::Guest;
use crate::profiler::Run;
use crate::ratio::nanos;
use crate::sampling::{Roster, plain, told_by};

/// The agent learns what there is between its first looks; they do not count.
const LEARNING: usize = 3;
/// Different logical stacks that are kept; the rest is added up.
const MOST_STACKS: usize = 20_000;
/// Innermost frames that can tell that a thread waits.
const WAIT_FRAMES: usize = 12;
/// How often methods that are not finished are counted at most. Each time the whole heap is walked.
const CENSUSES: u32 = 10;
/// Looks between two looks for new threads.
const ROSTER_LOOKS: usize = 10;

/// A stack as the program means it: the frames since the method was resumed, and who awaits it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct LogicalStack {
    /// Methods, innermost first, up to the one that resumed; of a thread that resumed none, all of them.
    pub(super) methods: Vec<u64>,
    /// Types: of the resumed method's object, then of what awaits it, one after the other.
    pub(super) links: Vec<u64>,
    /// Whether a method was resumed; if so, whether its callers are known to the end.
    pub(super) chain: Option<End>,
}

/// How far a chain of awaits is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum End {
    /// To its root.
    Root,
    /// To something that is no async method, or too long.
    Elsewhere,
    /// Not at all.
    Lost,
}

/// What was spent in one logical stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Processor time.
    pub(super) cpu_ns: u64,
    /// Time in which a thread was kept there without running.
    pub(super) blocked_ns: u64,
    /// Looks at which a thread ran it.
    pub(super) looks: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) stacks: HashMap<LogicalStack, Spent>,
    /// Of stacks that had no room.
    pub(super) others: Spent,
    pub(super) methods: HashMap<u64, Method>,
    pub(super) classes: HashMap<u64, Class>,
    /// Processor time of all threads of the process.
    pub(super) process_cpu_ns: u64,
    /// Of threads that were never seen running managed code.
    pub(super) unseen_cpu_ns: u64,
    pub(super) looks: usize,
    pub(super) waits: Waits,
}

/// Async methods that were not finished, by who awaits them.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Types: of the method's object, then of what awaits it, one after the other; and how many, of all counts together.
    pub(super) pending: HashMap<Vec<u64>, u64>,
    /// How often they were counted.
    pub(super) counts: u32,
    /// Why they were not counted, or not all.
    pub(super) shortcoming: Option<Shortcoming>,
}

/// What is wrong with the count of unfinished methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortcoming {
    /// The runtime cannot walk its heap: older than 9.
    NoWalk,
    /// The heap is too large to be walked in the time that is allowed.
    LargeHeap,
}

#[derive(Default)]
struct Thread {
    ran_ns: Option<u64>,
    /// Ran, but was not seen running since.
    owed_ns: u64,
}

/// Looks until the time is over.
pub(super) fn collect(guest: &mut Guest<'_>, run: &Run<'_>) -> Result<Collected, AgentError> {
    let mut collector = Collector::new(run);
    let period = Duration::from_secs(1) / u32::try_from(run.settings.integer("rate")).unwrap_or(1).max(1);
    // So many times as long as it stood still for a look it runs before the next.
    let patience = 1000 / u32::try_from(run.settings.integer("budget")).unwrap_or(1).max(1);
    let began = Instant::now();
    let mut counting = Counting::new(run.duration, patience);
    if run.settings.choice("waits") == "no" {
        counting.next = None;
    }
    loop {
        let sample =
            guest.ask(Attached::async_sample, |sample| (sample.stacks.pause, sample.stacks.left_out));
        let sample = match sample {
            Ok(sample) => sample,
            // What was seen before the target ended is an answer, too.
            Err(AgentError::Lost { .. }) if collector.collected.looks > 0 => break,
            Err(error) => return Err(error),
        };
        let pause = sample.stacks.pause.suspending + sample.stacks.pause.suspended;
        collector.take(sample);
        if collector.looks > LEARNING && counting.is_due(began.elapsed()) {
            counting.count(guest, &mut collector.collected)?;
        }
        let left = run.duration.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        let wait = period.max(pause * patience).min(left);
        let note = format!("{} looks", collector.collected.looks);
        if guest.wait_within(wait, began.elapsed(), run.duration, &note) != WindowEnd::Completed {
            break;
        }
    }
    Ok(collector.finish())
}

/// When methods that are not finished are counted.
struct Counting {
    period: Duration,
    next: Option<Duration>,
    /// So many times as long as it stood still for a count it runs before the next.
    patience: u32,
    /// The agent learns what there is at the first count, which does not count.
    has_learnt: bool,
}

impl Counting {
    fn new(duration: Duration, patience: u32) -> Counting {
        Counting { period: duration / CENSUSES, next: Some(Duration::ZERO), patience, has_learnt: false }
    }

    fn is_due(&self, elapsed: Duration) -> bool {
        self.next.is_some_and(|next| elapsed >= next)
    }

    fn count(&mut self, guest: &mut Guest<'_>, collected: &mut Collected) -> Result<(), AgentError> {
        let began = Instant::now();
        let due = self.next.take().unwrap_or_default();
        let census = guest.ask(Attached::async_census, |census: &AsyncCensus| (census.pause, 0));
        let waits = &mut collected.waits;
        let census = match census {
            Ok(census) => census,
            Err(AgentError::Refused { .. }) => {
                waits.shortcoming = Some(Shortcoming::NoWalk);
                return Ok(());
            }
            // The next look tells what happened.
            Err(AgentError::Lost { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        collected.classes.extend(census.classes);
        if census.cut {
            // Part of a count is no count.
            waits.shortcoming = Some(Shortcoming::LargeHeap);
            return Ok(());
        }
        let pause = census.pause.suspending + census.pause.suspended;
        let wait = if self.has_learnt { self.period } else { Duration::ZERO };
        self.next = Some(due + began.elapsed() + wait.max(pause * self.patience));
        if !std::mem::replace(&mut self.has_learnt, true) {
            return Ok(());
        }
        waits.counts += 1;
        for pending in census.pending {
            if waits.pending.len() < MOST_STACKS || waits.pending.contains_key(&pending.links) {
                *waits.pending.entry(pending.links).or_default() += u64::from(pending.count);
            }
        }
        Ok(())
    }
}

struct Collector {
    collected: Collected,
    roster: Option<Roster>,
    threads: HashMap<u64, Thread>,
    /// Whether a method of the framework waits.
    waits: HashMap<u64, bool>,
    looks: usize,
    last: Instant,
}

impl Collector {
    fn new(run: &Run<'_>) -> Collector {
        Collector {
            collected: Collected::default(),
            roster: Roster::new(run.process),
            threads: HashMap::new(),
            waits: HashMap::new(),
            looks: 0,
            last: Instant::now(),
        }
    }

    /// The processor time of every thread.
    fn clocks(&mut self) -> HashMap<u64, u64> {
        let Some(roster) = &mut self.roster else { return HashMap::new() };
        if self.looks.is_multiple_of(ROSTER_LOOKS) {
            roster.refresh();
        }
        let time = |time: ProcessorTime| time.ran_ns;
        roster.members().filter_map(|(id, member)| Some((id, time(member.task.processor_time()?)))).collect()
    }

    fn take(&mut self, sample: AsyncSample) {
        // The agent's threads have just been let go: what they ran since is little.
        let clocks = self.clocks();
        self.looks += 1;
        let AsyncSample { stacks, mut chains, classes } = sample;
        self.collected.methods.extend(stacks.methods);
        self.collected.classes.extend(classes);
        let passed = nanos(self.last.elapsed());
        self.last = Instant::now();
        if self.looks <= LEARNING {
            for (id, ran_ns) in &clocks {
                self.threads.insert(*id, Thread { ran_ns: Some(*ran_ns), owed_ns: 0 });
            }
            return;
        }
        self.collected.looks += 1;
        for (id, ran_ns) in &clocks {
            let thread = self.threads.entry(*id).or_default();
            // One that has begun since ran all its time since.
            let ran = ran_ns.saturating_sub(thread.ran_ns.unwrap_or(0));
            thread.ran_ns = Some(*ran_ns);
            thread.owed_ns += ran;
            self.collected.process_cpu_ns += ran;
        }
        for stack in stacks.stacks {
            let id = u64::from(stack.thread.os);
            let is_waiting = self.is_waiting(&stack.frames);
            let thread = self.threads.entry(id).or_default();
            let methods = stack.frames.iter().map(|(method, _)| *method).filter(|method| *method != 0);
            let logical = match chains.remove(&stack.thread.id) {
                Some(chain) => LogicalStack {
                    methods: stack
                        .frames
                        .iter()
                        .take(usize::try_from(chain.resumed_by).unwrap_or(0))
                        .map(|(method, _)| *method)
                        .filter(|method| *method != 0)
                        .collect(),
                    chain: Some(match chain.end {
                        ChainEnd::Nobody => End::Root,
                        ChainEnd::Lost => End::Lost,
                        ChainEnd::Unknown | ChainEnd::Cut => End::Elsewhere,
                    }),
                    links: chain.links,
                },
                None => LogicalStack { methods: methods.collect(), ..LogicalStack::default() },
            };
            let stacks = &mut self.collected.stacks;
            let spent = if stacks.len() < MOST_STACKS || stacks.contains_key(&logical) {
                stacks.entry(logical).or_default()
            } else {
                &mut self.collected.others
            };
            if is_waiting || thread.owed_ns == 0 {
                spent.blocked_ns += passed;
            } else {
                spent.cpu_ns += std::mem::take(&mut thread.owed_ns);
                spent.looks += 1;
            }
        }
    }

    /// Whether the innermost methods are the framework's way to wait.
    fn is_waiting(&mut self, frames: &[(u64, u64)]) -> bool {
        let methods = &self.collected.methods;
        let waits = |(id, _): &(u64, u64)| {
            *self.waits.entry(*id).or_insert_with(|| {
                let Some(method) = methods.get(id) else { return false };
                let name = plain(&human_name(&method.class, &method.name, ""));
                // Code of files and of the network computes as often as it waits.
                name.starts_with("System.Threading.") && told_by(&name).is_some()
            })
        };
        frames.iter().take(WAIT_FRAMES).any(waits)
    }

    fn finish(mut self) -> Collected {
        self.collected.unseen_cpu_ns = self.threads.values().map(|thread| thread.owed_ns).sum();
        self.collected
    }
}
