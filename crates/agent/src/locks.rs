//! Who waits for which lock: read from the runtime's memory while it is suspended, at places that the host has found out.
//!
//! Kept meanwhile: at most [`MOST_WAITS`] waits, half a MB, besides the stacks (see `answers.rs`).

use agent_wire::{Blocked, Class, FromAgent, LockLayout, WaitKind, WaitList};
use clr_profiling::{ClassId, ClassInfo, FunctionId, Info, ModuleId, Suspended, ThreadId};

use crate::answers::{self, Answer, Refusal, SEEN, full_name};
use crate::line::Silence;
use crate::memory::{word, words};
use crate::sys::{AT_ONCE, read_words};
use crate::visit::Visit;

/// Most waits that are told.
const MOST_WAITS: usize = 4 * 1024;
/// Most waits of one thread: they are nested, and seldom more than two.
const DEEPEST_WAIT: usize = 4;
/// Most types of lock objects.
const MOST_CLASSES: usize = 1024;
/// Of the number of a monitor in its table: the bits that are the number.
const INDEX: u64 = 0x03FF_FFFF;
/// Of an object's header: it has a monitor in the table, and not a hash code.
const HAS_MONITOR: u32 = 0x0800_0000;
const IS_HASH: u32 = 0x0400_0000;
/// Of the first word of an object: the collector's bits.
const MARKS: u64 = 7;
/// A thread's local data points back to it here.
const BACK: u64 = 0x18;

/// What was seen.
pub(crate) struct Locks {
    stacks: Answer,
    waits: Waits,
}

/// What threads wait for, and the types of what they wait for.
#[derive(Default)]
pub(crate) struct Waits {
    pub(crate) blocked: Vec<Blocked>,
    /// Where on the stacks of their threads the waits are noted.
    pub(crate) noted: Vec<u64>,
    pub(crate) classes: Vec<(ClassId, ClassInfo)>,
    /// The modules of the types, with their files, and whether they stay.
    modules: Vec<(ModuleId, String, bool)>,
    left_out: u32,
}

/// Threads, and the domain that all of them are in.
pub(crate) struct Anchors {
    threads: Answer,
    domain: u64,
}

pub(crate) fn anchors(visit: &Visit) -> Result<Anchors, Refusal> {
    let mut domain = 0;
    let threads = answers::suspended(visit, |suspended, ids, _| {
        domain = ids.iter().find_map(|&id| suspended.app_domain(id).ok()).map_or(0, |domain| domain.0 as u64);
    })?;
    Ok(Anchors { threads, domain })
}

pub(crate) fn locks(visit: &Visit, layout: &LockLayout) -> Result<Locks, Refusal> {
    let mut seen = vec![FunctionId(0); SEEN];
    let mut waits = Waits::with_room();
    let mut stacks = answers::suspended(visit, |suspended, ids, answer| {
        for (index, &id) in ids.iter().enumerate() {
            answer.walk(suspended, index, id, &mut seen, visit.fault);
        }
        answer.look_up(&visit.info);
        let mut running: Vec<ClassId> = answer.classes().map(|(class, _)| class).collect();
        running.sort_unstable();
        waits.look(suspended, &visit.info, ids, layout, &running);
    })?;
    stacks.with_stacks = true;
    Ok(Locks { stacks, waits })
}

impl Waits {
    /// Room is made before the runtime stands still.
    pub(crate) fn with_room() -> Self {
        Waits {
            blocked: Vec::with_capacity(MOST_WAITS),
            noted: Vec::with_capacity(MOST_WAITS),
            ..Waits::default()
        }
    }

    /// Walks the lists of all threads. `running` are types that have a method on a stack, in order.
    pub(crate) fn look(
        &mut self,
        suspended: &Suspended<'_>,
        info: &Info,
        ids: &[ThreadId],
        layout: &LockLayout,
        running: &[ClassId],
    ) {
        let table = if layout.table == 0 { None } else { word(layout.table) };
        for some in ids.chunks(AT_ONCE) {
            let heads = heads(some, layout.list);
            for (id, head) in some.iter().zip(heads).filter(|(_, head)| *head != 0) {
                self.follow(id.0 as u64, head, layout, table);
            }
        }
        for blocked in &mut self.blocked {
            let class = ClassId(usize::try_from(blocked.class).unwrap_or(0));
            // The runtime is asked about real types only. A monitor's object is proven by its header; a Lock's type is one
            // whose method the thread is in.
            if blocked.kind == WaitKind::Lock && running.binary_search(&class).is_err() {
                blocked.class = 0;
            }
            if blocked.class != 0
                && self.classes.len() < MOST_CLASSES
                && self.classes.iter().all(|(known, _)| *known != class)
            {
                self.classes.push((class, suspended.class(class).unwrap_or_default()));
            }
        }
        for index in 0..self.classes.len() {
            let module = self.classes.get(index).map_or(ModuleId(0), |(_, class)| class.module);
            self.add_module(info, module);
        }
    }

    /// Remembers a module of a type.
    pub(crate) fn add_module(&mut self, info: &Info, module: ModuleId) {
        if module != ModuleId(0) && self.modules.iter().all(|(known, _, _)| *known != module) {
            let described = info.module(module).unwrap_or_default();
            self.modules.push((module, described.name, !described.collectible));
        }
    }

    /// Whether names of a module can be read while the program runs.
    pub(crate) fn stays(&self, module: ModuleId) -> bool {
        self.modules.iter().any(|(known, _, stays)| *known == module && *stays)
    }

    /// The waits of one thread.
    fn follow(&mut self, thread: u64, head: u64, layout: &LockLayout, table: Option<u64>) {
        let mut at = head;
        for _ in 0..DEEPEST_WAIT {
            let Some((lock, kind, timeout, next)) = entry(at, layout.list) else { break };
            let Some(blocked) = blocked(thread, lock, kind, timeout, layout, table) else { break };
            if self.blocked.len() < MOST_WAITS {
                self.blocked.push(blocked);
                self.noted.push(at);
            } else {
                self.left_out += 1;
            }
            at = next;
        }
    }

    /// Sends them.
    pub(crate) fn tell(
        &self,
        info: &Info,
        say: &mut impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        for blocked in &self.blocked {
            say(FromAgent::Blocked(*blocked))?;
        }
        for (id, class) in &self.classes {
            let module = self.modules.iter().find(|(known, _, _)| *known == class.module);
            let stays = module.filter(|(_, _, stays)| *stays);
            let name = stays
                .and_then(|_| info.metadata(class.module).ok())
                .and_then(|metadata| full_name(&metadata, class.token));
            say(FromAgent::Class(Class {
                id: id.0 as u64,
                token: class.token.0,
                module: module.map(|(_, name, _)| name.clone()).unwrap_or_default(),
                name: name.unwrap_or_default(),
            }))?;
        }
        Ok(())
    }
}

/// Where the lists of threads begin; 0 for those that wait for nothing.
fn heads(ids: &[ThreadId], list: WaitList) -> [u64; AT_ONCE] {
    let mut threads = [0; AT_ONCE];
    for (place, id) in threads.iter_mut().zip(ids) {
        *place = id.0 as u64;
    }
    // Of places beyond the last thread nothing is asked.
    let read = |from: &[u64; AT_ONCE], offset: u64| {
        let mut found = [0; AT_ONCE];
        let addresses = from.map(|address| address.wrapping_add(offset));
        read_words(addresses.get(..ids.len()).unwrap_or_default(), &mut found);
        found
    };
    match list {
        WaitList::Thread { head } => read(&threads, head.into()),
        WaitList::Local { data, head } => {
            let data = read(&threads, data.into());
            let (back, mut heads) = (read(&data, BACK), read(&data, head.into()));
            for ((head, back), thread) in heads.iter_mut().zip(back).zip(threads) {
                *head = if back == thread { *head } else { 0 };
            }
            heads
        }
    }
}

/// One entry of a list: the lock, how it is waited for, how long, and the next entry.
fn entry(at: u64, list: WaitList) -> Option<(u64, WaitKind, i32, u64)> {
    if at == 0 {
        return None;
    }
    let (lock, numbers, next) = match list {
        WaitList::Thread { .. } => {
            let [lock, _domain, numbers, next] = words(at)?;
            (lock, numbers, next)
        }
        WaitList::Local { .. } => {
            let [lock, numbers, next] = words(at)?;
            (lock, numbers, next)
        }
    };
    let [kind, timeout] = halves(numbers);
    Some((lock, WaitKind::of(kind)?, timeout.cast_signed(), next))
}

fn halves(word: u64) -> [u32; 2] {
    let low = u32::try_from(word & u64::from(u32::MAX)).unwrap_or(0);
    [low, u32::try_from(word >> 32).unwrap_or(0)]
}

fn blocked(
    thread: u64,
    lock: u64,
    kind: WaitKind,
    timeout: i32,
    layout: &LockLayout,
    table: Option<u64>,
) -> Option<Blocked> {
    if kind == WaitKind::Lock {
        // The list points to a variable, which is kept right when the object moves.
        let object = word(lock)?;
        let words: [u64; 4] = words(object)?;
        let [class, ..] = words;
        return Some(Blocked { thread, kind, timeout, lock: object, words, object, class: class & !MARKS });
    }
    let words = words(lock)?;
    let (object, class) = table.and_then(|table| object_of(lock, layout, table)).unwrap_or((0, 0));
    Some(Blocked { thread, kind, timeout, lock, words, object, class })
}

/// The object of a monitor and its type. Both ways must agree: the table names the object, and its header the place in the
/// table.
fn object_of(monitor: u64, layout: &LockLayout, table: u64) -> Option<(u64, u64)> {
    let place = monitor.wrapping_add(layout.index.into());
    // The number is half a word; the place may be either half.
    let number = word(place).map(|word| word & u64::from(u32::MAX))? & INDEX;
    let [back, object] = words(table.wrapping_add(number.wrapping_mul(16)))?;
    if back != monitor || object == 0 || object & MARKS != 0 {
        return None;
    }
    let [_, header] = halves(word(object.wrapping_sub(8))?);
    let is_monitor = header & (HAS_MONITOR | IS_HASH) == HAS_MONITOR;
    if !is_monitor || u64::from(header) & INDEX != number {
        return None;
    }
    Some((object, word(object)? & !MARKS))
}

impl Locks {
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        self.stacks.tell_parts(info, &mut say)?;
        self.waits.tell(info, &mut say)?;
        let (left_out, pause) = self.stacks.end();
        say(FromAgent::Answered { left_out: left_out.saturating_add(self.waits.left_out), pause })
    }
}

impl Anchors {
    pub(crate) fn tell(
        &self,
        info: &Info,
        mut say: impl FnMut(FromAgent) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        say(FromAgent::Domain(self.domain))?;
        self.threads.tell(info, say)
    }
}
