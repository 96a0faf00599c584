//! What the runtime's bytes say of a lock: who holds it.

use std::collections::{BTreeMap, HashMap};

use agent_host::{Blocked, Locks, WaitKind};
use lock_graph::{Holder, LockId, Wait, WaitFor};
use model::ThreadId;

/// The profiling interface of .NET 8, whose monitors are the first that know the owner's number in the system.
const NET8: u16 = 14;
/// Of the state of a lock: somebody holds it.
const HELD: u64 = 1;
const LOW: u64 = u32::MAX as u64;

/// How locks of this runtime are to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Runtime {
    /// Version of its profiling interface.
    pub(super) interface: u16,
    /// Its major version, as that interface says it.
    pub(super) major: u16,
}

/// A lock that a thread waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LockSeen {
    /// Its type; none if it could not be found out.
    pub(super) class: Option<String>,
    /// The fields that refer to it, the most telling one first.
    pub(super) fields: Vec<String>,
    /// How often its holder has entered it, when it did so more than once.
    pub(super) entered: u32,
}

/// The innermost wait of each thread, and what is known of the lock.
pub(super) fn waits(locks: &Locks, runtime: Runtime) -> BTreeMap<ThreadId, (Wait, LockSeen)> {
    let threads: HashMap<u64, u32> =
        locks.stacks.stacks.iter().map(|stack| (stack.thread.id, stack.thread.os)).collect();
    let mut waits = BTreeMap::new();
    for blocked in &locks.blocked {
        let Some(&thread) = threads.get(&blocked.thread) else { continue };
        let wait = Wait {
            lock: LockId(blocked.lock),
            what: match blocked.kind {
                WaitKind::Enter => WaitFor::Monitor,
                WaitKind::Pulse => WaitFor::Pulse,
                WaitKind::Lock => WaitFor::LockObject,
            },
            has_end: blocked.timeout != -1,
            holder: holder(blocked, &threads, runtime),
        };
        let class = locks.classes.get(&blocked.class).map(|class| class.name.as_str());
        let class = class.filter(|name| !name.is_empty());
        let class = class.map(symbols::readable_type);
        let seen = LockSeen { class, fields: Vec::new(), entered: entered(blocked) };
        waits.entry(ThreadId(thread)).or_insert((wait, seen));
    }
    waits
}

/// How often the holder has entered it: a monitor counts from 1, a lock object the times beyond the first.
fn entered(blocked: &Blocked) -> u32 {
    let [first, _, _, last] = blocked.words;
    let count = match blocked.kind {
        WaitKind::Lock => (last & LOW) + 1,
        _ => first >> 32,
    };
    u32::try_from(count).ok().filter(|count| *count < 1 << 16).unwrap_or(0)
}

fn holder(blocked: &Blocked, threads: &HashMap<u64, u32>, runtime: Runtime) -> Holder {
    let [first, second, third, _] = blocked.words;
    let lives = |os: u32| threads.values().any(|known| *known == os);
    let by_number = |number: u64| match u32::try_from(number) {
        Ok(os) if lives(os) => Holder::Thread(ThreadId(os)),
        Ok(os) => Holder::Gone(ThreadId(os)),
        // What the runtime writes for an owner that it does not find any more.
        Err(_) => Holder::Gone(ThreadId(0)),
    };
    if blocked.kind == WaitKind::Lock {
        // Fields of System.Threading.Lock on 9 and 10: the owner, the state. Its type is proven.
        let (owner, state) = (third & LOW, third >> 32);
        let is_sound = blocked.class != 0 && state & HELD != 0 && owner != 0;
        return if is_sound { by_number(owner) } else { Holder::Unknown };
    }
    if first & HELD == 0 {
        return Holder::Unknown;
    }
    if runtime.interface < NET8 {
        // The owner is an address of a thread, nothing else.
        return match threads.get(&second) {
            Some(os) => Holder::Thread(ThreadId(*os)),
            None if second == 0 => Holder::Unknown,
            None => Holder::Gone(ThreadId(0)),
        };
    }
    // 10 has the runtime's number of the owner where 8 and 9 have its address.
    let knows_address = runtime.major < 10;
    if third == 0 {
        // What the runtime writes for an owner that had ended before anybody waited.
        let owner = if knows_address { second } else { second & LOW };
        return match threads.get(&owner) {
            Some(os) if knows_address => Holder::Thread(ThreadId(*os)),
            _ if owner == 0 => Holder::Unknown,
            _ => Holder::Gone(ThreadId(0)),
        };
    }
    // A number may have been given to a new thread; the address tells them apart.
    let is_another = knows_address && threads.get(&second).is_none_or(|os| u64::from(*os) != third);
    match by_number(third) {
        Holder::Thread(os) if is_another => Holder::Gone(os),
        holder => holder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NINE: Runtime = Runtime { interface: 15, major: 9 };
    const TEN: Runtime = Runtime { interface: 15, major: 10 };
    const OLD: Runtime = Runtime { interface: 11, major: 4 };

    fn monitor(words: [u64; 4]) -> Blocked {
        Blocked { thread: 0x100, kind: WaitKind::Enter, timeout: -1, lock: 1, words, object: 8, class: 9 }
    }

    fn holds(blocked: &Blocked, runtime: Runtime) -> Holder {
        holder(blocked, &HashMap::from([(0x100, 11), (0x200, 22)]), runtime)
    }

    #[test]
    fn the_owner_of_a_monitor_is_read_by_version() {
        assert_eq!(holds(&monitor([1, 0x200, 22, 0]), NINE), Holder::Thread(ThreadId(22)));
        assert_eq!(holds(&monitor([1, 0x200, 0, 0]), OLD), Holder::Thread(ThreadId(22)));
        assert_eq!(holds(&monitor([1, 0xdead_0007, 22, 0]), TEN), Holder::Thread(ThreadId(22)));
        assert_eq!(holds(&monitor([0, 0x200, 22, 0]), NINE), Holder::Unknown, "it is free");
    }

    #[test]
    fn an_owner_that_is_no_more_is_told() {
        assert_eq!(holds(&monitor([1, 0x300, 33, 0]), NINE), Holder::Gone(ThreadId(33)));
        assert_eq!(holds(&monitor([1, u64::MAX, u64::MAX, 0]), NINE), Holder::Gone(ThreadId(0)));
        assert_eq!(
            holds(&monitor([1, 0x300, 22, 0]), NINE),
            Holder::Gone(ThreadId(22)),
            "a new thread has its number"
        );
        assert_eq!(holds(&monitor([1, 0x300, 0, 0]), OLD), Holder::Gone(ThreadId(0)));
        assert_eq!(holds(&monitor([1, 0x300, 0, 0]), NINE), Holder::Gone(ThreadId(0)));
        assert_eq!(holds(&monitor([1, 0, 0, 0]), NINE), Holder::Unknown);
        assert_eq!(holds(&monitor([1, 0xbad_0000_0007, 0, 0]), TEN), Holder::Gone(ThreadId(0)));
        assert_eq!(holds(&monitor([1, 0, 0, 0]), OLD), Holder::Unknown);
    }

    #[test]
    fn the_owner_of_a_lock_object_is_believed_only_with_its_type() {
        let object = Blocked { kind: WaitKind::Lock, ..monitor([9, 0, 0x41 << 32 | 22, 2]) };
        assert_eq!(holds(&object, NINE), Holder::Thread(ThreadId(22)));
        assert_eq!(entered(&object), 3);
        assert_eq!(holds(&Blocked { class: 0, ..object }, NINE), Holder::Unknown);
    }
}
