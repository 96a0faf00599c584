//! The report as users see it, from fixed observations.

use std::collections::HashMap;
use std::time::Duration;

use model::{Cost, Pauses, WindowEnd};
use stacks::StackKey;

use super::SPEC;
use super::answer::answer;
use super::collect::{Collected, ThreadSeen};
use crate::Settings;
use crate::sampling::examples::calls;
use crate::sampling::{Calls, Kinds, Mode};
use crate::specimen::{check, ids, report};

const LIB: &str = "System.Private.CoreLib!System.Threading";
const MS: u64 = 1_000_000;

fn stacks() -> (Calls, Vec<StackKey>) {
    let dispatch = format!("{LIB}.ThreadPoolWorkQueue.Dispatch");
    let start = format!("{LIB}.PortableThreadPool.WorkerThread.WorkerThreadStart");
    let wait = format!("{LIB}.ManualResetEventSlim.Wait");
    let task = format!("{LIB}.Tasks.Task.Wait");
    let semaphore = format!("{LIB}.LowLevelLifoSemaphore.Wait");
    let sleep = format!("{LIB}.Thread.Sleep");
    calls(&[
        &["Shop.Checkout.Burn", "Shop.Server.Serve", &dispatch, &start],
        &[&wait, &task, "Shop.Checkout.Wait", "Shop.Server.Serve", &dispatch, &start],
        &[&semaphore, &start],
        &[&sleep, "Shop.Program.Main"],
    ])
}

fn thread(id: u64, name: &str, spent: &[(StackKey, Mode, u64)]) -> ThreadSeen {
    let spent: HashMap<_, _> =
        spent.iter().map(|(stack, mode, ms)| ((Some(*stack), *mode), ms * MS)).collect();
    ThreadSeen { id, name: Some(name.to_owned()), samples: 3300, spent }
}

fn collected(calls: Calls, threads: Vec<ThreadSeen>) -> Collected {
    Collected {
        calls,
        kinds: Kinds::Tell,
        threads,
        unseen_ns: 40 * MS,
        rounds: 2_400,
        rounds_due: 5_000,
        measured: Duration::from_secs(5),
        end: WindowEnd::Completed,
        cost: Cost {
            method: "samples".to_owned(),
            pauses: Pauses { count: 2_400, total_ns: 350 * MS, longest_ns: 2 * MS },
            bytes: 1_200_000,
            events: 40_000,
            ..Cost::default()
        },
        notes: Vec::new(),
    }
}

fn shop() -> Collected {
    let (calls, keys) = stacks();
    let worker = |id| {
        let times =
            [(keys[0], Mode::Managed, 2_400), (keys[1], Mode::Outside, 2_450), (keys[2], Mode::Outside, 150)];
        thread(id, ".NET TP Worker", &times)
    };
    let threads = vec![
        thread(4242, "Shop.Api", &[(keys[3], Mode::Outside, 5_000)]),
        worker(4250),
        worker(4251),
        thread(4252, ".NET TP Worker", &[(keys[2], Mode::Outside, 5_000)]),
    ];
    collected(calls, threads)
}

fn settings(typed: &[&str]) -> Settings {
    Settings::new(&SPEC, typed.iter().copied()).expect("settings")
}

#[test]
fn the_report_looks_as_accepted() {
    let report = report(&SPEC, answer(&shop(), &settings(&[])));
    assert_eq!(ids(&report), ["sync-over-async"]);
    check(&report);
}

#[test]
fn idle_threads_count_when_they_are_asked_for() {
    let summary = |typed: &[&str]| answer(&shop(), &settings(typed)).summary;
    assert!(summary(&[]).starts_with("Most time: Shop.Checkout.Wait (51 %"), "{}", summary(&[]));
    assert!(
        summary(&["idle=show"]).starts_with("Most time: System.Threading.LowLevel"),
        "{}",
        summary(&["idle=show"])
    );
}

#[test]
fn a_process_that_only_waits_says_so() {
    let (calls, keys) = stacks();
    let waiting = collected(calls, vec![thread(1, "a", &[(keys[3], Mode::Outside, 5_000)])]);
    let answer = answer(&waiting, &settings(&[]));
    assert_eq!(answer.summary, "All 1 threads only waited during 5 s.");
    assert!(answer.findings.is_empty());
}

#[test]
fn stacks_without_names_are_not_taken_for_waiting() {
    let (calls, keys) = calls(&[&["System.Private.CoreLib!?"]]);
    let killed = collected(calls, vec![thread(1, "a", &[(keys[0], Mode::Outside, 5_000)])]);
    let answer = answer(&killed, &settings(&[]));
    assert!(answer.summary.contains("names of their methods did not come"), "{}", answer.summary);
    assert!(answer.sections.is_empty());
}
