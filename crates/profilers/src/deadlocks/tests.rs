//! The report as users see it, from fixed observations.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use lock_graph::{Holder, LockId, Look, Seen, Wait, WaitFor};
use model::{Confidence, Pauses, ThreadId, WindowEnd};
use process_view::TaskState::Sleeping;

use super::SPEC;
use super::answer::answer;
use super::judge::judge;
use super::locks::LockSeen;
use super::watch::{OwnersSought, Watched};
use crate::Settings;
use crate::about::About;
use crate::inside::specimen::{sight, thread};
use crate::profiler::Answer;
use crate::specimen::{agent_cost, check, report};

const LIB: &str = "System.Private.CoreLib!System.Threading";

/// A thread that waits: its number, name, frames, and what for.
type Waiting<'a> = (u32, &'a str, Vec<String>, Option<Wait>);

fn enter(lock: u64, holder: u32) -> Option<Wait> {
    let holder = Holder::Thread(ThreadId(holder));
    Some(Wait { lock: LockId(lock), what: WaitFor::Monitor, has_end: false, holder })
}

fn own(method: &str, file: &str, line: u32) -> String {
    format!("{method}@{file}:{line}")
}

fn framework(method: &str) -> String {
    format!("{LIB}.{method}")
}

fn watched(threads: &[Waiting<'_>]) -> Watched {
    let mut look = Look::default();
    let mut named = Vec::new();
    let mut locks = BTreeMap::new();
    for (number, name, frames, wait) in threads {
        let id = ThreadId(*number);
        look.threads.insert(id, Seen { frames: vec![(1, u64::from(*number))], rests: Some(7) });
        if let Some(wait) = wait {
            look.waits.insert(id, *wait);
            let class = Some("Bank.Account".to_owned());
            locks.insert(id, LockSeen { class, fields: Vec::new(), entered: 1 });
        }
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        named.push(thread(*number, name, Sleeping, &frames));
    }
    Watched {
        before: look.clone(),
        after: look,
        sight: sight(named),
        locks,
        still: HashMap::new(),
        apart: Duration::from_secs(3),
        misses_lock_objects: false,
        owners: OwnersSought::Heap,
    }
}

fn about() -> About {
    About {
        cost: agent_cost(Pauses { count: 4, total_ns: 1_900_000, longest_ns: 900_000 }, 38_000, 4),
        notes: Vec::new(),
        measured: Duration::from_secs(3),
        end: WindowEnd::Completed,
    }
}

fn asked(watched: &Watched) -> Answer {
    let settings = Settings::new(&SPEC, []).expect("settings");
    answer(watched, &judge(watched), about(), &settings)
}

fn found(watched: &Watched) -> Vec<(String, Confidence)> {
    asked(watched).findings.into_iter().map(|finding| (finding.id, finding.confidence)).collect()
}

fn ring() -> Watched {
    let transfer = || {
        let start = framework("Thread.StartCallback");
        vec![framework("Monitor.Enter"), own("Bank.Ledger.Transfer", "Ledger.cs", 64), start]
    };
    let balance = vec![framework("Monitor.Enter"), own("Bank.Ledger.Balance", "Ledger.cs", 80)];
    let mut watched = watched(&[
        (4251, "standing-order", transfer(), enter(20, 4252)),
        (4252, "teller", transfer(), enter(10, 4251)),
        (4260, "statements", balance, enter(10, 4251)),
    ]);
    watched.still.insert(ThreadId(4251), Duration::from_secs(372));
    watched.still.insert(ThreadId(4252), Duration::from_secs(371));
    let fields = ["Bank.Branch.s_salary", "Bank.Branch.s_savings"];
    for (thread, field) in [(4252, fields[0]), (4260, fields[0]), (4251, fields[1])] {
        if let Some(lock) = watched.locks.get_mut(&ThreadId(thread)) {
            lock.fields = vec![field.to_owned()];
        }
    }
    watched
}

#[test]
fn the_report_is_as_users_know_it() {
    let report = report(&SPEC, asked(&ring()));
    assert_eq!(report.findings.len(), 1);
    check(&report);
}

#[test]
fn a_ring_that_moves_is_no_deadlock() {
    let mut moved = ring();
    if let Some(seen) = moved.before.threads.get_mut(&ThreadId(4252)) {
        seen.rests = Some(6);
    }
    assert!(asked(&moved).findings.is_empty(), "it ran meanwhile");
    let mut other = ring();
    other.before.waits.remove(&ThreadId(4252));
    assert!(asked(&other).findings.is_empty(), "it did not wait before");
    let mut another = ring();
    if let Some(wait) = another.before.waits.get_mut(&ThreadId(4251)) {
        wait.lock = LockId(99);
    }
    assert!(asked(&another).findings.is_empty(), "it waited for another lock");
}

#[test]
fn confidence_is_what_the_facts_allow() {
    assert_eq!(found(&ring()), [("deadlock".to_owned(), Confidence::High)]);
    let mut limited = ring();
    for look in [&mut limited.before, &mut limited.after] {
        if let Some(wait) = look.waits.get_mut(&ThreadId(4251)) {
            wait.has_end = true;
        }
    }
    assert_eq!(found(&limited), [("deadlock".to_owned(), Confidence::Medium)]);
    let mut untold = ring();
    for look in [&mut untold.before, &mut untold.after] {
        look.threads.values_mut().for_each(|seen| seen.rests = None);
    }
    assert_eq!(found(&untold), [("deadlock".to_owned(), Confidence::Medium)]);
}

fn held(frame: &str, wait: Option<Wait>) -> Watched {
    let own = own("Shop.Print", "Print.cs", 3);
    watched(&[
        (1, "print", vec![framework(frame), own.clone()], wait),
        (2, "desk", vec![framework("Monitor.Enter"), own], enter(10, 1)),
    ])
}

#[test]
fn a_holder_in_a_wait_is_told_by_what_it_waits_in() {
    let pulse =
        |has_end| Some(Wait { lock: LockId(5), what: WaitFor::Pulse, has_end, holder: Holder::Unknown });
    let id = || "lock-held-in-wait".to_owned();
    assert_eq!(found(&held("ManualResetEventSlim.Wait", pulse(false))), [(id(), Confidence::Medium)]);
    assert_eq!(found(&held("WaitHandle.WaitOne", None)), [(id(), Confidence::Low)]);
    assert_eq!(found(&held("ManualResetEventSlim.Wait", pulse(true))), [], "it has a time limit");
    assert_eq!(found(&held("Thread.Sleep", None)), [], "it wakes up");
    assert_eq!(found(&held("Foo.Compute", None)), [], "nobody knows what it does");
    let mut short = held("WaitHandle.WaitOne", None);
    short.apart = Duration::from_millis(300);
    assert_eq!(found(&short), [], "too short to tell");
}

#[test]
fn a_lock_of_a_thread_that_is_gone_is_an_orphan() {
    let gone = Wait { holder: Holder::Gone(ThreadId(77)), ..enter(10, 0).expect("a wait") };
    let frames = || vec![framework("Monitor.Enter"), own("Shop.Reload", "Reload.cs", 9)];
    let mut orphan = watched(&[(1, "a", frames(), Some(gone)), (2, "b", frames(), enter(20, 1))]);
    assert_eq!(found(&orphan), [("orphaned-lock".to_owned(), Confidence::High)]);
    orphan.before.waits.clear();
    assert_eq!(found(&orphan), []);
}

fn pool(names: [&str; 3], last: &[&str]) -> Watched {
    let dispatch = framework("ThreadPoolWorkQueue.Dispatch");
    let blocked = || {
        vec![
            framework("Monitor.Wait"),
            framework("Tasks.Task.SpinThenBlockingWait"),
            own("Shop.Price.Get", "Price.cs", 12),
            dispatch.clone(),
        ]
    };
    let last = last.iter().map(|frame| framework(frame)).collect();
    watched(&[(1, names[0], blocked(), None), (2, names[1], blocked(), None), (3, names[2], last, None)])
}

#[test]
fn a_pool_is_blocked_only_if_no_thread_of_it_is_free() {
    const WORKER: &str = ".NET TP Worker";
    let start = "PortableThreadPool.WorkerThread.WorkerThreadStart";
    let gate = "PortableThreadPool.GateThread.GateThreadStart";
    let id = || "sync-over-async".to_owned();
    let free = pool([WORKER; 3], &["LowLevelLifoSemaphore.Wait", start]);
    assert_eq!(found(&free), [], "a thread is free");
    let none = pool([WORKER, WORKER, ".NET TP Gate"], &["AutoResetEvent.WaitOne", gate]);
    assert_eq!(found(&none), [(id(), Confidence::Medium)]);
    let unnamed = pool(["dotnet"; 3], &["Thread.Sleep"]);
    assert_eq!(found(&unnamed), [(id(), Confidence::Low)], "who is free is not told");
    let mut moving = pool([WORKER, WORKER, ".NET TP Gate"], &[gate]);
    if let Some(seen) = moving.before.threads.get_mut(&ThreadId(1)) {
        seen.rests = Some(1);
    }
    assert_eq!(found(&moving), [], "they come and go");
}

#[test]
fn a_healthy_program_is_told_so() {
    let busy =
        watched(&[(1, "a", vec![own("Shop.Compute", "C.cs", 1)], None), (2, "b", Vec::new(), enter(10, 1))]);
    let answer = asked(&busy);
    assert!(answer.findings.is_empty() && answer.sections.is_empty());
    assert!(answer.summary.contains("1 waits for a lock, and its owner is at work"), "{}", answer.summary);
}
