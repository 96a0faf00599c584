//! Answers: taken from the runtime while it is suspended, told after it was resumed.
//!
//! What is kept meanwhile is bounded: [`MOST_THREADS`] threads, [`MOST_FRAMES`] frames, [`MOST_METHODS`] methods,
//! [`LONGEST_NAMES`] bytes of modules' names: 7 MB in all.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use agent_wire::{DEEPEST_STACK, Fault, FromAgent, Method, Pause, Stack, Stage, ThreadEntry};
use clr_profiling::{
    ClassId, Frame, FunctionId, FunctionInfo, HResult, Info, Metadata, ModuleId, ModuleInfo, Suspended,
    ThreadId, Token, Walk,
};

use crate::line::Silence;
use crate::visit::Visit;

/// Most threads that are looked at.
const MOST_THREADS: usize = 16 * 1024;
/// Most frames of all stacks together.
const MOST_FRAMES: usize = 256 * 1024;
/// Most methods that are named.
const MOST_METHODS: usize = 16 * 1024;
/// Most bytes of the names of all modules together.
const LONGEST_NAMES: usize = 512 * 1024;
/// How long we try to suspend a runtime that is collecting. One that collects all the time, on a machine where we seldom
/// get to run, was seen to need more than two seconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long at a time, before we look whether it is still wanted.
const LOOK: Duration = Duration::from_millis(20);
/// Places to remember a method that was seen; a power of two.
pub(crate) const SEEN: usize = 4096;
/// How deep types are nested in each other, at most.
const DEEPEST_NESTING: usize = 16;

/// One suspension at a time, whoever visits: .NET 8 and older do not bear two.
static TURN: Mutex<()> = Mutex::new(());

/// Why there is no answer.
pub(crate) struct Refusal {
    pub(crate) stage: Stage,
    pub(crate) code: HResult,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct Answer {
    threads: Vec<Seen>,
    frames: Vec<Frame>,
    methods: Vec<(FunctionId, FunctionInfo)>,
    modules: Vec<(ModuleId, ModuleInfo)>,
    pub(crate) with_stacks: bool,
    left_out: usize,
    pause: Pause,
}

struct Seen {
    entry: ThreadEntry,
    code: HResult,
    cut: bool,
    /// Its part of the frames.
    frames: std::ops::Range<usize>,
}

pub(crate) fn threads(visit: &Visit) -> Result<Answer, Refusal> {
    suspended(visit, |_, _, _| ())
}

/// Stops the runtime and lets it go on, unless the collector does so meanwhile and we are told of that.
pub(crate) fn suspend_once(visit: &Visit) -> Result<(), Refusal> {
    let _turn = take_turn(|| visit.has_ended())?;
    match suspend(visit, || visit.was_seen()) {
        Err(_) if visit.was_seen() => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Suspends the runtime, trying while the collector is at work until it takes too long or is not wanted any more.
pub(crate) fn suspend(visit: &Visit, is_unwanted: impl Fn() -> bool) -> Result<Suspended<'_>, Refusal> {
    let began = Instant::now();
    loop {
        match visit.info.suspend(LOOK) {
            Ok(suspended) => return Ok(suspended),
            Err(HResult::E_SUSPENSION_IN_PROGRESS) if began.elapsed() < PATIENCE && !is_unwanted() => {}
            Err(code) => return Err(Refusal { stage: Stage::Suspend, code }),
        }
    }
}

pub(crate) fn stacks(visit: &Visit) -> Result<Answer, Refusal> {
    let mut seen = vec![FunctionId(0); SEEN];
    let fault = visit.fault;
    let mut answer = suspended(visit, |suspended, ids, answer| {
        assert!(fault != Some(Fault::Suspended), "a fault that was asked for");
        for (index, &id) in ids.iter().enumerate() {
            answer.walk(suspended, index, id, &mut seen, fault);
        }
        answer.look_up(&visit.info);
    })?;
    answer.with_stacks = true;
    Ok(answer)
}

/// Suspends, lists the threads, looks, resumes.
pub(crate) fn suspended(
    visit: &Visit,
    look: impl FnOnce(&Suspended<'_>, &[ThreadId], &mut Answer),
) -> Result<Answer, Refusal> {
    // Room is made before: while the runtime stands still, every microsecond counts.
    let mut ids = vec![ThreadId(0); MOST_THREADS];
    let mut answer = Answer {
        threads: Vec::with_capacity(MOST_THREADS),
        frames: Vec::with_capacity(MOST_FRAMES),
        methods: Vec::with_capacity(MOST_METHODS),
        ..Answer::default()
    };
    let turn = take_turn(|| visit.is_unwanted())?;
    let began = Instant::now();
    let suspended = suspend(visit, || visit.is_unwanted())?;
    answer.pause.suspending = began.elapsed();
    let count = suspended.threads(&mut ids).map_err(|code| Refusal { stage: Stage::Threads, code })?;
    answer.left_out = usize::from(count == MOST_THREADS);
    let ids = ids.get(..count).unwrap_or_default();
    for &id in ids {
        let os = suspended.os_thread(id).map_or(0, |os| os.0);
        let entry = ThreadEntry { id: id.0 as u64, os };
        answer.threads.push(Seen { entry, code: HResult::S_OK, cut: false, frames: 0..0 });
    }
    look(&suspended, ids, &mut answer);
    answer.pause.suspended = suspended.elapsed();
    drop(suspended);
    drop(turn);
    Ok(answer)
}

/// Waits until no other visit has the runtime suspended, unless that takes too long or is not wanted any more.
pub(crate) fn take_turn(is_unwanted: impl Fn() -> bool) -> Result<MutexGuard<'static, ()>, Refusal> {
    let began = Instant::now();
    loop {
        match TURN.try_lock() {
            Ok(turn) => return Ok(turn),
            Err(TryLockError::Poisoned(turn)) => return Ok(turn.into_inner()),
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE && !is_unwanted() => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Refusal { stage: Stage::Turn, code: HResult::E_SUSPENSION_IN_PROGRESS });
            }
        }
    }
}

impl Answer {
    pub(crate) fn walk(
        &mut self,
        suspended: &Suspended<'_>,
        index: usize,
        id: ThreadId,
        seen: &mut [FunctionId],
        fault: Option<Fault>,
    ) {
        let start = self.frames.len();
        let mut cut = false;
        let outcome = suspended.walk(id, |frame| {
            assert!(fault != Some(Fault::Frame), "a fault that was asked for");
            if self.frames.len() - start >= DEEPEST_STACK || self.frames.len() >= MOST_FRAMES {
                cut = true;
                return Walk::Enough;
            }
            self.frames.push(frame);
            if frame.function == FunctionId(0) {
                return Walk::On;
            }
            let place = (frame.function.0 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
            if let Some(last) = seen.get_mut(place)
                && *last != frame.function
            {
                *last = frame.function;
                if self.methods.len() < MOST_METHODS {
                    self.methods.push((frame.function, FunctionInfo::default()));
                } else {
                    self.left_out += 1;
                }
            }
            Walk::On
        });
        let end = self.frames.len();
        if let Some(thread) = self.threads.get_mut(index) {
            (thread.code, thread.cut, thread.frames) = (HResult::of(outcome), cut, start..end);
        }
    }

    /// Where the methods come from. While the runtime stands still none can be unloaded, so every id is good.
    pub(crate) fn look_up(&mut self, info: &Info) {
        // A method stands here as often as another took its place in `seen`.
        self.methods.sort_unstable_by_key(|(id, _)| *id);
        self.methods.dedup_by_key(|(id, _)| *id);
        for (id, found) in &mut self.methods {
            *found = info.function(*id).unwrap_or_default();
        }
        // Methods of one module stand together from here on.
        self.methods.sort_unstable_by_key(|(_, found)| found.module);
        let mut room = LONGEST_NAMES;
        for same in self.methods.chunk_by(|(_, one), (_, other)| one.module == other.module) {
            let Some((_, FunctionInfo { module, .. })) = same.first() else { continue };
            if *module == ModuleId(0) {
                continue;
            }
            let found = info.module(*module).unwrap_or_default();
            match room.checked_sub(found.name.len()) {
                Some(left) => room = left,
                None => {
                    self.left_out += same.len();
                    continue;
                }
            }
            self.modules.push((*module, found));
        }
    }

    /// Sends it, in parts.
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        self.tell_parts(info, &mut say)?;
        let (left_out, pause) = self.end();
        say(FromAgent::Answered { left_out, pause })
    }

    /// What did not fit, and how long the target stood still.
    pub(crate) fn end(&self) -> (u32, Pause) {
        (u32::try_from(self.left_out).unwrap_or(u32::MAX), self.pause)
    }

    /// Sends all but its end.
    pub(crate) fn tell_parts(
        &self,
        info: &Info,
        say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        for thread in &self.threads {
            if !self.with_stacks {
                say(FromAgent::Thread(thread.entry))?;
                continue;
            }
            let frames = self.frames.get(thread.frames.clone()).unwrap_or_default();
            say(FromAgent::Stack(Stack {
                thread: thread.entry,
                code: thread.code.0,
                cut: thread.cut,
                frames: frames
                    .iter()
                    .map(|frame| (frame.function.0 as u64, frame.address.0 as u64))
                    .collect(),
            }))?;
        }
        for methods in self.methods.chunk_by(|(_, one), (_, other)| one.module == other.module) {
            let module = methods.first().map_or(ModuleId(0), |(_, method)| method.module);
            let known = self.modules.binary_search_by_key(&module, |(id, _)| *id);
            let Some((_, described)) = known.ok().and_then(|at| self.modules.get(at)) else { continue };
            // Names are read after the runtime runs again, since reading them takes locks. A module that can be unloaded
            // may be gone by now; its names are left to whoever has its file.
            let metadata = if described.collectible { None } else { info.metadata(module).ok() };
            for (id, method) in methods {
                let (class, name) =
                    metadata.as_ref().and_then(|metadata| named(metadata, method.token)).unwrap_or_default();
                let module = described.name.clone();
                say(FromAgent::Method(Method {
                    id: id.0 as u64,
                    token: method.token.0,
                    module,
                    class,
                    name,
                }))?;
            }
        }
        Ok(())
    }

    /// The types of the methods that were seen, in modules that stay.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (ClassId, ModuleId)> {
        let stays = |module: ModuleId| {
            self.modules.iter().any(|(known, described)| *known == module && !described.collectible)
        };
        let methods = self.methods.iter().map(|(_, method)| (method.class, method.module));
        methods.filter(move |(class, module)| *class != ClassId(0) && stays(*module))
    }
}

/// The names of a method's type and of the method.
fn named(metadata: &Metadata, method: Token) -> Option<(String, String)> {
    let (class, name) = metadata.method(method).ok()?;
    Some((full_name(metadata, class)?, name))
}

/// The name of a type, with those that it lies in.
pub(crate) fn full_name(metadata: &Metadata, mut class: Token) -> Option<String> {
    let mut full = metadata.type_definition(class).ok()?.name;
    for _ in 0..DEEPEST_NESTING {
        let Ok(outer) = metadata.enclosing(class) else { break };
        let Ok(described) = metadata.type_definition(outer) else { break };
        full = format!("{}+{full}", described.name);
        class = outer;
    }
    Some(full)
}
