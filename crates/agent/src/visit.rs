//! One visit: from the first word to the wish to be let go, on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use agent_wire::{Ask, Attach, Fault, FromAgent, FromHost, Hello, Inbox, Range, Reason, Stage, VERSION};
use clr_profiling::{EventMask, HResult, Info};

use crate::answers::{self, Answer, Refusal};
use crate::async_samples::{self, Census, Sample};
use crate::graph;
use crate::heap;
use crate::line::{Line, Silence};
use crate::locks::{self, Anchors, Locks};
use crate::memory;
use crate::owners::{self, Owners};

/// How long the first words may take.
const GREETING: Duration = Duration::from_secs(5);
/// How long the host may leave a message of ours unread.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_millis(100);
/// What the runtime is told that leaving takes, see [`leaving`].
const LEAVING: Duration = Duration::from_millis(300);
const LONGEST_LEAVING: Duration = Duration::from_secs(5);
/// Pause before asking again to be let go, and how often we ask.
const ASK_AGAIN: Duration = Duration::from_millis(10);
const ASKS: u32 = 500;

/// Visits with this image of the library.
static VISITS: AtomicU32 = AtomicU32::new(0);

/// An answer, ready to be told.
enum Made<'a> {
    Answer(Answer),
    Memory(&'a [Range]),
    Anchors(Anchors),
    Locks(Locks),
    Owners(Owners),
    AsyncSample(Sample),
    AsyncCensus(Census),
    Heap(heap::Answer),
    Graph(graph::Graph),
}

pub(crate) struct Visit {
    pub(crate) info: Info,
    pub(crate) fault: Option<Fault>,
    pub(crate) async_methods: async_samples::Memory,
    pub(crate) heap: heap::Memory,
    pub(crate) events: graph::Events,
    orders: Attach,
    until: Instant,
    line: OnceLock<Line>,
    /// The process ends: the runtime may not be asked any more.
    ended: AtomicBool,
    /// Whether there may be other profilers.
    one_of_many: bool,
    /// Whether the runtime called us when it called all profilers.
    seen: AtomicBool,
}

impl Visit {
    pub(crate) fn new(info: Info, orders: Attach, fault: Option<Fault>, one_of_many: bool) -> Self {
        let now = Instant::now();
        let until = now.checked_add(orders.stay).unwrap_or(now);
        Visit {
            info,
            fault,
            async_methods: async_samples::Memory::default(),
            heap: heap::Memory::default(),
            events: graph::Events::default(),
            orders,
            until,
            line: OnceLock::new(),
            ended: AtomicBool::new(false),
            one_of_many,
            seen: AtomicBool::new(false),
        }
    }

    /// The runtime has just called all profilers.
    pub(crate) fn is_seen(&self) {
        self.seen.store(true, Ordering::Release);
    }

    /// Whether the process ends, so that the runtime may not be asked any more.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Whether nobody waits for an answer any more: the process ends, our time is over, or the host is gone.
    pub(crate) fn is_unwanted(&self) -> bool {
        self.has_ended() || Instant::now() >= self.until || self.line.get().is_some_and(Line::is_broken)
    }

    /// Whether it has called us since we last asked ourselves.
    pub(crate) fn was_seen(&self) -> bool {
        self.seen.load(Ordering::Acquire)
    }

    /// The life of our thread.
    pub(crate) fn run(&self) {
        let reason = match catch_unwind(AssertUnwindSafe(|| self.stay())) {
            Ok(reason) => reason,
            Err(payload) => {
                std::mem::forget(payload);
                Reason::Panic
            }
        };
        let farewell = catch_unwind(AssertUnwindSafe(|| self.take_leave(reason)));
        if let Err(payload) = farewell {
            std::mem::forget(payload);
        }
        // Whatever became of the words, we go.
        self.detach();
    }

    fn take_leave(&self, reason: Reason) {
        assert!(self.fault != Some(Fault::Leaving), "a fault that was asked for");
        if let Some(line) = self.line.get() {
            let _ = line.say(&FromAgent::Leaving(reason), Instant::now() + FAREWELL);
        }
    }

    /// Asks the runtime to be let go. Nothing may be asked of it afterwards.
    ///
    /// A runtime (6 to 10) counts its notification profilers one too low after a main profiler was detached, and when it
    /// counts none it overlooks those that there are. To ask for a detach then ends the process: it looks for us among the
    /// profilers and does not expect to find nobody. So we make sure, and stay rather than do that: without a thread, without
    /// a connection, without a call from the runtime.
    pub(crate) fn detach(&self) {
        for _ in 0..ASKS {
            if self.has_ended() {
                return;
            }
            let expected = leaving();
            // Nothing between this and the wish: a main profiler may leave at any time.
            match self.can_be_seen() {
                Some(true) => {}
                Some(false) => break,
                None => continue,
            }
            match self.info.request_detach(expected) {
                Ok(()) | Err(HResult::E_PROFILER_DETACHING) => return,
                Err(_) => std::thread::sleep(ASK_AGAIN),
            }
        }
        if let Some(line) = self.line.get() {
            line.hang_up();
        }
    }

    /// Whether the runtime calls us when it calls all profilers, tried with the one call that we can bring about; `None` if
    /// that could not be done now.
    fn can_be_seen(&self) -> Option<bool> {
        if !self.one_of_many {
            return Some(true);
        }
        self.seen.store(false, Ordering::Release);
        let mask = EventMask::STACK_SNAPSHOT.and(EventMask::SUSPENSIONS);
        let tried = self.info.set_event_mask(mask).is_ok() && answers::suspend_once(self).is_ok();
        // The collector's own suspension is as good as ours.
        if self.was_seen() {
            return Some(true);
        }
        let _ = self.info.set_event_mask(EventMask::STACK_SNAPSHOT);
        tried.then_some(false)
    }

    /// Ends the visit from outside.
    pub(crate) fn end(&self, reason: Reason) {
        self.ended.store(true, Ordering::Release);
        if let Some(line) = self.line.get() {
            line.mention(&FromAgent::Leaving(reason));
            line.hang_up();
        }
    }

    /// The last word. The end of the stream follows when the runtime has given us back.
    pub(crate) fn say_detached(&self) {
        if let Some(line) = self.line.get() {
            line.mention(&FromAgent::Detached);
        }
    }

    fn stay(&self) -> Reason {
        assert!(self.fault != Some(Fault::Thread), "a fault that was asked for");
        match self.serve() {
            Ok(reason) => reason,
            Err(Silence::Timeout) if Instant::now() >= self.until => Reason::Deadline,
            // It does not greet, or does not read.
            Err(Silence::Timeout) => Reason::Lost,
            Err(Silence::Lost) => Reason::Lost,
            Err(Silence::Nonsense) => Reason::Nonsense,
        }
    }

    fn serve(&self) -> Result<Reason, Silence> {
        let greeted = self.until.min(Instant::now() + GREETING);
        let line = Line::connect(&self.orders.socket, greeted)?;
        let line = self.line.get_or_init(|| line);
        let mut inbox = Inbox::default();
        line.say(&FromAgent::Hello(self.hello()), greeted)?;
        if line.hear(&mut inbox, greeted)? != FromHost::Welcome(self.orders.token.host) {
            return Ok(Reason::Nonsense);
        }
        loop {
            match line.hear(&mut inbox, self.until)? {
                FromHost::Ask(ask) => self.answer(line, &ask)?,
                FromHost::Plan(part) => self.heap.plan(part),
                FromHost::Leave => return Ok(Reason::Told),
                FromHost::Welcome(_) => return Ok(Reason::Nonsense),
            }
        }
    }

    fn hello(&self) -> Hello {
        let runtime = self.info.runtime().unwrap_or_default();
        Hello {
            version: VERSION,
            proof: self.orders.token.agent,
            process: std::process::id(),
            runtime: [runtime.major, runtime.minor, runtime.build, runtime.revision],
            interface: u16::try_from(self.info.version()).unwrap_or(0),
            attached: VISITS.fetch_add(1, Ordering::Relaxed).wrapping_add(1),
        }
    }

    /// Answers one question. Our own panic costs the answer, not the visit.
    fn answer(&self, line: &Line, ask: &Ask) -> Result<(), Silence> {
        let say = |message: FromAgent| line.say(&message, self.until.min(Instant::now() + PATIENCE));
        let made = catch_unwind(AssertUnwindSafe(|| {
            assert!(self.fault != Some(Fault::Answer), "a fault that was asked for");
            Ok(match ask {
                Ask::Threads => Made::Answer(answers::threads(self)?),
                Ask::Stacks => Made::Answer(answers::stacks(self)?),
                Ask::Read(ranges) => Made::Memory(ranges),
                Ask::Anchors => Made::Anchors(locks::anchors(self)?),
                Ask::Locks(layout) => Made::Locks(locks::locks(self, layout)?),
                Ask::Owners(layout) => Made::Owners(owners::owners(self, layout)?),
                Ask::HeapTypes => Made::Heap(heap::types(self)?),
                Ask::Layouts(types) => Made::Heap(heap::layouts(self, types)),
                Ask::Objects => Made::Heap(heap::objects(self)?),
                Ask::AsyncSample => Made::AsyncSample(async_samples::sample(self)?),
                Ask::AsyncCensus => Made::AsyncCensus(async_samples::census(self)?),
                Ask::HeapGraph(ask) => Made::Graph(graph::graph(self, line, *ask)?),
            })
        }));
        let refused = |stage: Stage, code: HResult| say(FromAgent::Refused { stage, code: code.0 });
        match made {
            Ok(Ok(Made::Answer(answer))) => answer.tell(&self.info, say),
            Ok(Ok(Made::Memory(ranges))) => memory::tell(ranges, say),
            Ok(Ok(Made::Anchors(anchors))) => anchors.tell(&self.info, say),
            Ok(Ok(Made::Locks(locks))) => locks.tell(&self.info, say),
            Ok(Ok(Made::Owners(owners))) => owners.tell(&self.info, say),
            Ok(Ok(Made::Heap(answer))) => answer.tell(&self.info, say),
            Ok(Ok(Made::AsyncSample(sample))) => sample.tell(&self.info, say),
            Ok(Ok(Made::AsyncCensus(census))) => census.tell(&self.info, say),
            Ok(Ok(Made::Graph(graph))) => graph.tell(&self.info, say),
            Ok(Err(Refusal { stage, code })) => refused(stage, code),
            Err(payload) => {
                std::mem::forget(payload);
                refused(Stage::Panic, HResult::E_UNEXPECTED)
            }
        }
    }
}

/// What the runtime is told that leaving takes. It looks whether we are gone when that time is over, once more when it is
/// over twice, and then after ten minutes: if its thread comes too late for both, those ten minutes are what it waits. So a
/// machine on which threads run late gets more, by how late we are ourselves. Less than 300 ms is never waited.
fn leaving() -> Duration {
    let nap = Duration::from_millis(1);
    let began = Instant::now();
    std::thread::sleep(nap);
    let late = began.elapsed().saturating_sub(nap);
    (late * 20).clamp(LEAVING, LONGEST_LEAVING)
}
