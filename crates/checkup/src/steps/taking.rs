//! How closer looks are taken: side by side where they may, one after the other where they must, and all within the time.
//!
//! Each lane has threads of its own that nobody has to wait for: a target that hangs holds up a look, but not the report.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use judgement::signs::Counting;
use judgement::{Signs, WhyUntaken};
use model::{Finding, WindowEnd};
use profilers::{Answered, Control, Engine, ProfilerError, Run, Settings, SharedCode, Sharing, Spec, Stop};

use super::{ALLOW_PAUSE, COUNTERS, Called, Lane, Leave, Looks, STEPS, Step, Taken};
use crate::clock::{Clock, DEEPER, Reins};
use crate::signs::{FAULT, SHARE_NAMESPACE, Unseen, Vitals};
use crate::words::counted;

/// The least that a look is given; it is not begun with less.
const SHORTEST_LOOK: Duration = Duration::from_millis(1000);
/// How many looks at the heap there usually are.
const USUAL_HEAP_LOOKS: usize = 2;
/// Beside its own time, for bringing in an agent, naming and analysing, before a look is asked to come to its end.
const OVERHEAD: Duration = Duration::from_millis(2000);
/// What of that a look usually needs.
const USUAL_OVERHEAD: Duration = Duration::from_millis(600);
/// A look that began in time is not ended in its last moment.
const GRACE: Duration = Duration::from_millis(700);
/// A heap is as good as a new one for so long after its look.
const FRESH: Duration = Duration::from_secs(1);
/// A look that has all code listed has it by then.
const CODE_COMES: Duration = Duration::from_millis(1500);
/// Methods compiled a second, at most, by who is not listened to for new code: what comes nevertheless is asked for later.
const HARDLY_COMPILES: f64 = 2.0;
/// How often it is seen whether the user wants the report now.
const GLANCE: Duration = Duration::from_millis(50);

/// Why a look may not have seen everything.
const CUT_SHORT: &str = "it was ended early, no time was left";
const EARLY: (WhyUntaken, &str) = (WhyUntaken::EndedEarly, "you ended the checkup early");

/// What came of one look.
struct Outcome {
    step: &'static Step,
    spec: &'static Spec,
    why: String,
    /// The error of the outer one says why it was not begun.
    result: Result<Result<Answered, ProfilerError>, (WhyUntaken, String)>,
    took: Duration,
    /// Whether it was asked to end before it was done.
    cut_short: bool,
}

/// What every look needs.
#[derive(Clone)]
struct Visitor {
    process: Arc<DotnetProcess>,
    leave: Leave,
    clock: Clock,
    handed_on: Arc<Mutex<HandedOn>>,
    /// Whether it compiles, or may.
    compiles: bool,
    /// Whether its runtime counts; one that does not is not made to.
    counts: bool,
}

/// What one look hands on to others.
#[derive(Default)]
struct HandedOn {
    heap: Option<(Instant, heap_collector::Taken)>,
    code: Option<SharedCode>,
    /// Until when a look that has all code listed is waited for.
    code_comes: Option<Instant>,
}

/// The control of a look: it is held to its time, and what others can use is handed on.
struct Handing<'a> {
    reins: &'a Reins,
    handed_on: &'a Mutex<HandedOn>,
    compiles: bool,
}

impl Handing<'_> {
    fn lock(&self) -> MutexGuard<'_, HandedOn> {
        self.handed_on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for Handing<'_> {
    fn wait(&self, time: Duration) -> Stop {
        self.reins.wait(time)
    }

    fn progress(&self, _: Duration, _: Duration, _: &str) {}
}

impl Sharing for Handing<'_> {
    fn hand_on_heap(&self, taken: heap_collector::Taken) {
        self.lock().heap = Some((Instant::now(), taken));
    }

    fn handed_on_heap(&self) -> Option<heap_collector::Taken> {
        self.lock().heap.take().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, taken)| taken)
    }

    fn hand_on_code(&self, code: SharedCode) {
        self.lock().code = Some(code);
    }

    fn handed_on_code(&self) -> Option<SharedCode> {
        loop {
            let handed_on = self.lock();
            let comes = handed_on.code_comes.is_some_and(|until| Instant::now() < until);
            if handed_on.code.is_some() || !comes {
                return handed_on.code.clone();
            }
            drop(handed_on);
            if self.wait(GLANCE) == Stop::Cancelled {
                return None;
            }
        }
    }

    fn expects_code(&self) -> bool {
        self.compiles
    }
}

impl Looks {
    /// Takes the looks that the signs call for.
    pub fn take(
        process: &DotnetProcess,
        vitals: &Vitals,
        leave: Leave,
        clock: &Clock,
        control: &dyn Control,
    ) -> Looks {
        let mut looks = Looks::default();
        let visitor = Visitor {
            process: Arc::new(process.clone()),
            leave,
            clock: clock.clone(),
            handed_on: Arc::default(),
            counts: vitals.signs.runtime.as_ref().is_none_or(|runtime| runtime.counting == Counting::Asked),
            compiles: leave.deep
                || vitals
                    .signs
                    .runtime
                    .as_ref()
                    .is_none_or(|runtime| runtime.compiled_rate() > HARDLY_COMPILES),
        };
        let called = looks.choose(process, vitals, leave, &[Lane::Beside, Lane::Agent]);
        if called.iter().any(|called| called.step.lists_code) {
            let mut handed_on = visitor.handed_on.lock().unwrap_or_else(PoisonError::into_inner);
            handed_on.code_comes = Some(Instant::now() + CODE_COMES);
        }
        let (beside, agent): (Vec<Called>, Vec<Called>) =
            called.into_iter().partition(|called| called.step.lane == Lane::Beside);
        let lanes = beside.into_iter().map(|called| (vec![called], 0));
        // Looks at the heap want their share of the time, too.
        let lanes = lanes.chain([(agent, USUAL_HEAP_LOOKS)]).collect();
        let begin = Instant::now();
        let ended = looks.gather(&visitor, lanes, control, ("closer look", "closer looks"));
        looks.spent.0 = begin.elapsed();
        if !ended || clock.is_ended_early() {
            looks.leave_out(
                &vitals.signs,
                if ended { EARLY } else { (WhyUntaken::NoTime, "no time was left") },
            );
        } else {
            let heap = looks.choose(process, vitals, leave, &[Lane::Heap]);
            looks.gather(&visitor, vec![(heap, 0)], control, ("look at the heap", "looks at the heap"));
            looks.spent.1 = begin.elapsed().saturating_sub(looks.spent.0);
        }
        looks.cancelled = clock.is_ended_early();
        looks
    }

    /// Names the looks at the heap that will not be taken.
    fn leave_out(&mut self, signs: &Signs, (why, words): (WhyUntaken, &str)) {
        let heap = STEPS.iter().filter(|step| step.lane == Lane::Heap);
        let called: Vec<&Step> = heap.filter(|step| (step.called)(signs, &self.seen).is_some()).collect();
        called.into_iter().for_each(|step| self.not_taken(step, why, no_time(step, words)));
    }

    /// Takes the looks of some lanes, each with the number of looks that come after them, and says whether all have ended.
    fn gather(
        &mut self,
        visitor: &Visitor,
        lanes: Vec<(Vec<Called>, usize)>,
        control: &dyn Control,
        (what, many): (&str, &str),
    ) -> bool {
        let clock = &visitor.clock;
        let mut pending: Vec<&'static Step> =
            lanes.iter().flat_map(|(called, _)| called).map(|called| called.step).collect();
        let (sender, outcomes) = channel();
        let threads: Vec<JoinHandle<()>> = lanes
            .into_iter()
            .map(|(called, after)| {
                let (visitor, sender) = (visitor.clone(), sender.clone());
                std::thread::spawn(move || visitor.walk(&called, after, &sender))
            })
            .collect();
        drop(sender);
        loop {
            let left = pending.len();
            control.progress(clock.elapsed(), clock.budget(), &counted(left, what, many));
            match outcomes.recv_timeout(GLANCE) {
                Ok(outcome) => {
                    pending.retain(|step| !std::ptr::eq(*step, outcome.step));
                    self.keep(outcome);
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if control.wait(Duration::ZERO) == Stop::Cancelled {
                clock.end_early();
            }
            if clock.is_over() {
                self.drain(&outcomes, &mut pending);
                break;
            }
        }
        let (failed, running): (Vec<_>, Vec<_>) =
            threads.into_iter().partition(|thread| thread.is_finished() || pending.is_empty());
        let failed = failed.into_iter().filter_map(|thread| thread.join().err()).count();
        let (why, words) = match running.is_empty() && failed > 0 {
            true => (WhyUntaken::Failed, FAULT.to_owned()),
            false => {
                let words = format!("it had not ended after {:.0} s", clock.elapsed().as_secs_f64());
                (WhyUntaken::NoTime, words)
            }
        };
        pending.iter().for_each(|step| self.not_taken(step, why, no_time(step, &words)));
        running.into_iter().for_each(|thread| self.stragglers.add(thread));
        pending.is_empty()
    }

    fn drain(&mut self, outcomes: &Receiver<Outcome>, pending: &mut Vec<&'static Step>) {
        for outcome in outcomes.try_iter() {
            pending.retain(|step| !std::ptr::eq(*step, outcome.step));
            self.keep(outcome);
        }
    }

    fn keep(&mut self, outcome: Outcome) {
        let Outcome { step, spec, why, result, took, cut_short } = outcome;
        match result {
            Ok(Ok(Answered { report, facts })) => {
                let is_cancelled = report.window.end == WindowEnd::Cancelled;
                if cut_short || is_cancelled {
                    let (why, words) = if cut_short { (WhyUntaken::NoTime, CUT_SHORT) } else { EARLY };
                    self.not_taken(step, why, no_time(step, words));
                }
                let cut_short = cut_short || is_cancelled;
                let found = report.findings.iter().map(Finding::observed).collect();
                self.seen.push(judgement::Look { id: spec.id.to_owned(), found, facts, cut_short });
                self.taken.push(Taken { id: spec.id, why, report, took });
            }
            Ok(Err(_)) if cut_short => self.not_taken(step, WhyUntaken::NoTime, no_time(step, CUT_SHORT)),
            Ok(Err(error)) => self.not_taken(step, WhyUntaken::Failed, failed(step, spec, &error)),
            Err((why, words)) => self.not_taken(step, why, no_time(step, &words)),
        }
    }
}

impl Visitor {
    /// One look after the other.
    fn walk(&self, called: &[Called], after: usize, outcomes: &Sender<Outcome>) {
        for (number, one) in called.iter().enumerate() {
            let outcome = self.visit(one, called.len() - number + after);
            if outcomes.send(outcome).is_err() {
                return;
            }
        }
    }

    /// Why a look is not begun, if so.
    fn refused(&self, called: &Called, left: Duration) -> Option<(WhyUntaken, String)> {
        if self.clock.is_ended_early() {
            let (why, words) = EARLY;
            return Some((why, words.to_owned()));
        }
        if self.leave.deep {
            return None;
        }
        if left < SHORTEST_LOOK {
            return Some((WhyUntaken::NoTime, "no time was left".to_owned()));
        }
        let walk = called.walk.as_secs_f64();
        (called.walk > self.clock.until_over()).then(|| {
            (WhyUntaken::NoTime, format!("no time was left for it: its heap takes about {walk:.1} s"))
        })
    }

    /// Takes a look; as many looks share the time that is left.
    fn visit(&self, called: &Called, sharing: usize) -> Outcome {
        let begin = Instant::now();
        let (step, spec, why) = (called.step, called.profiler.spec(), called.why.clone());
        let left = self.clock.left();
        if let Some(reason) = self.refused(called, left) {
            return Outcome { step, spec, why, result: Err(reason), took: Duration::ZERO, cut_short: false };
        }
        let others = u32::try_from(sharing).unwrap_or(1).saturating_sub(1);
        let wanted = Duration::from_secs_f64(called.seconds * if self.leave.deep { DEEPER } else { 1.0 });
        let share = left / (others + 1);
        let time = match self.leave.deep {
            true => wanted,
            false => wanted
                .min(share.saturating_sub(USUAL_OVERHEAD.max(called.walk)))
                .max(SHORTEST_LOOK.min(wanted)),
        };
        // What the others can do without is for whoever needs longer than it says. A deep checkup has patience.
        let spare = left.saturating_sub((SHORTEST_LOOK + OVERHEAD) * others);
        let most =
            if self.leave.deep { self.clock.budget() } else { spare.max(time + OVERHEAD).min(left + GRACE) };
        let reins = self.clock.reins(most);
        let handing = Handing { reins: &reins, handed_on: &self.handed_on, compiles: self.compiles };
        let result = Ok(self.look(called, time, &handing));
        Outcome { step, spec, why, result, took: begin.elapsed(), cut_short: reins.were_pulled() }
    }

    fn look(
        &self,
        called: &Called,
        duration: Duration,
        handing: &Handing<'_>,
    ) -> Result<Answered, ProfilerError> {
        let spec = called.profiler.spec();
        let has = |name: &str| spec.parameters.iter().any(|parameter| parameter.name == name);
        let pause = (self.leave.long_pauses && has(ALLOW_PAUSE)).then_some("allow-pause=yes");
        let counters = (!self.counts && has(COUNTERS)).then_some("counters=no");
        let set = called.step.set.iter().copied().chain(pause).chain(counters);
        let settings = Settings::new(spec, set).unwrap_or_default().with_redaction(self.leave.redaction);
        let run = Run::new(&self.process, &settings, duration, handing).sharing(handing);
        profilers::ask(called.profiler, &run)
    }
}

fn failed(step: &Step, spec: &Spec, error: &ProfilerError) -> Unseen {
    let how = match spec.engine {
        _ if matches!(error, ProfilerError::NotVisible { .. }) => SHARE_NAMESPACE.to_owned(),
        Engine::Kernel => "drdotnet info -p PID".to_owned(),
        _ => match profilers::by_id(spec.id) {
            Ok(_) => format!("drdotnet run {} -p PID", spec.id),
            Err(_) => "drdotnet checkup -p PID --deep".to_owned(),
        },
    };
    Unseen { what: step.tells.to_owned(), why: error.to_string(), how }
}

fn no_time(step: &Step, why: &str) -> Unseen {
    let how = "drdotnet checkup -p PID --deep".to_owned();
    Unseen { what: step.tells.to_owned(), why: why.to_owned(), how }
}
