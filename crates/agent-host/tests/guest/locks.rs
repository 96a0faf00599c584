//! Who waits for which lock, read from real runtimes.

use agent_host::{Attached, FoundLayout, LockLayout, Locks, WaitKind, WaitList, find_lock_layout};
use testbed::Runtime;

use crate::support::{Guest, every_runtime};

fn look(guest: &Guest, attached: &mut Attached) -> (FoundLayout, Locks) {
    let found = find_lock_layout(guest.pid(), attached).expect("a layout, or none");
    let locks = match found.layout {
        Some(layout) => attached.locks(&layout).expect("locks"),
        None => Locks::default(),
    };
    (found, locks)
}

/// Numbers of the threads that want to enter, and the names of the types of what they want to enter.
fn wanted(locks: &Locks, kind: WaitKind) -> Vec<(u32, String)> {
    let number =
        |id| locks.stacks.stacks.iter().find(|stack| stack.thread.id == id).map(|stack| stack.thread.os);
    let blocked = locks.blocked.iter().filter(|blocked| blocked.kind == kind);
    let class = |id| locks.classes.get(&id).map(|class| class.name.clone()).unwrap_or_default();
    blocked.filter_map(|blocked| Some((number(blocked.thread)?, class(blocked.class)))).collect()
}

#[test]
fn a_ring_of_monitors_is_read_with_owners_and_types() {
    for runtime in Runtime::ALL {
        let guest = Guest::of("deadlock-ab-ba", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let (found, locks) = look(&guest, &mut attached);
        println!("{runtime}: {found:x?}, pause {:?}, {:x?}", locks.stacks.pause, locks.blocked);
        assert!(found.layout.is_some_and(|layout| layout.table != 0), "{runtime}: {found:?}");
        let has_lists = matches!(runtime, Runtime::Net9 | Runtime::Net10);
        assert_eq!(found.sees_lock_objects, has_lists, "{runtime}");
        let wanted = wanted(&locks, WaitKind::Enter);
        assert_eq!(wanted.len(), 2, "{runtime}: {locks:?}");
        for (thread, class) in &wanted {
            assert_eq!(class, "Bank.Account", "{runtime}: thread {thread}");
        }
        let owners = attached.lock_owners(&found.layout.expect("a layout")).expect("owners");
        println!("{runtime}: {:?} {:?} {:?}", owners.pause, owners.owners, owners.classes);
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
    }
}

#[test]
fn objects_of_the_type_lock_are_read_with_their_fields() {
    let guest = Guest::of("deadlock-lock-type", Runtime::Net9);
    let mut attached = guest.attach().expect("the agent comes");
    let (found, locks) = look(&guest, &mut attached);
    println!("{found:x?}, pause {:?}, {:x?}", locks.stacks.pause, locks.blocked);
    let wanted = wanted(&locks, WaitKind::Lock);
    assert_eq!(wanted.len(), 2, "{locks:?}");
    assert!(wanted.iter().all(|(_, class)| class == "System.Threading.Lock"), "{wanted:?}");
    let owners = attached.lock_owners(&found.layout.expect("a layout")).expect("owners");
    println!("{:?} {:?} {:?}", owners.pause, owners.owners, owners.classes);
    let fields: Vec<&str> = owners.owners.iter().map(|owner| owner.field.as_str()).collect();
    assert_eq!(fields, ["_gate", "_gate"]);
    assert!(attached.leave().expect("it leaves").confirmed);
}

#[test]
fn programs_without_a_deadlock_are_read_as_well() {
    every_runtime(|runtime| {
        let guest = Guest::quiet(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        for _ in 0..3 {
            let (found, locks) = look(&guest, &mut attached);
            println!("{runtime}: {found:x?} {:?}", wanted(&locks, WaitKind::Pulse));
            assert!(wanted(&locks, WaitKind::Enter).is_empty(), "{runtime}: {locks:?}");
            if matches!(runtime, Runtime::Net9 | Runtime::Net10) {
                assert!(found.sees_lock_objects, "{runtime}: {found:?}");
            }
        }
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
    });
}

#[test]
fn contention_is_read_while_it_changes() {
    for runtime in Runtime::ALL {
        let guest = Guest::of("lock-contention", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let mut seen = 0;
        // Now and then nobody waits.
        while seen == 0 {
            let (_, locks) = look(&guest, &mut attached);
            seen = wanted(&locks, WaitKind::Enter).len();
        }
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
    }
}

#[test]
fn a_lock_of_a_thread_that_has_ended_is_read() {
    for runtime in Runtime::ALL {
        let guest = Guest::of("orphaned-lock", runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let (_, locks) = look(&guest, &mut attached);
        let threads: Vec<u64> = locks.stacks.stacks.iter().map(|stack| stack.thread.id).collect();
        println!("{runtime}: {:x?}, threads {threads:x?}", locks.blocked);
        assert_eq!(wanted(&locks, WaitKind::Enter).len(), 2, "{runtime}");
        for blocked in &locks.blocked {
            let [state, owner, ..] = blocked.words;
            assert!(state & 1 == 1 && owner != 0, "{runtime}: somebody holds it");
            assert!(!threads.contains(&owner), "{runtime}: but no thread that lives");
        }
    }
}

#[test]
fn places_where_nothing_is_harm_nobody() {
    every_runtime(|runtime| {
        let guest = Guest::with_known_stack(runtime);
        let mut attached = guest.attach().expect("the agent comes");
        let right =
            find_lock_layout(guest.pid(), &mut attached).expect("a layout").layout.expect("somebody waits");
        let lists = (0..0x600).step_by(8).map(|head| WaitList::Thread { head });
        let local = [0, 0x28, right.index, u32::MAX].map(|head| WaitList::Local { data: 8, head });
        let tables = [0, 1, 8, right.table + 8, right.table - 4, 0x7FFF_FFFF_F000, u64::MAX];
        for (number, list) in lists.chain(local).chain([right.list]).enumerate() {
            let table = tables[number % tables.len()];
            let index = [right.index, 0, 4, u32::MAX][number % 4];
            let layout = LockLayout { list, index, table };
            attached.locks(&layout).unwrap_or_else(|error| panic!("{runtime}: {layout:x?}: {error}"));
            if number % 16 == 0 {
                attached
                    .lock_owners(&layout)
                    .unwrap_or_else(|error| panic!("{runtime}: {layout:x?}: {error}"));
            }
        }
        for table in tables {
            attached.lock_owners(&LockLayout { table, ..right }).expect("owners, or none");
        }
        assert!(attached.leave().expect("it leaves").confirmed);
        assert!(guest.target.is_alive(), "{runtime}: {}", guest.target.stderr_text());
        guest.can_be_visited();
    });
}
