//! Threads and processes that come and go.

use std::process::{Child, Command};
use std::time::Duration;

use model::ProcessId;
use perf_sampler::{Children, Collect, Options, PlacementWish, Sampler, Scope};
use testbed::{Runtime, shared};

use crate::{options, sample};

/// A shell whose children do the work, one after the other.
struct Family(Child);

impl Family {
    fn start() -> Family {
        let work = r#"while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"#;
        Family(Command::new("sh").args(["-c", work]).spawn().expect("a shell"))
    }

    fn process(&self) -> ProcessId {
        ProcessId(self.0.id())
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn children_are_followed_when_wanted() {
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let family = Family::start();
        let scope = Scope::process(family.process());
        let options =
            Options { rate_hz: 999, placement, children: Children::Followed, ..Options::new(scope) };
        let (story, summary) = sample(Sampler::start(&options).unwrap(), |story| {
            let children = story.processes.iter().filter(|process| **process != family.process()).count();
            children >= 3 && story.execs >= 3
        });
        assert!(!story.ended.is_empty());
        let libc = story.mapped.iter().find(|(path, _)| path.contains("libc"));
        assert!(libc.is_some_and(|(_, build_id)| *build_id), "{placement:?}: {:?}", story.mapped);
        let children: Duration =
            summary.cpu_time.iter().filter(|(id, _)| **id != family.process()).map(|(_, time)| *time).sum();
        assert!(children > Duration::ZERO);
    }
}

#[test]
fn children_are_left_out_when_not_wanted() {
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let family = Family::start();
        let options = Options { rate_hz: 999, placement, ..Options::new(Scope::process(family.process())) };
        let mut looks = 0;
        let (story, summary) = sample(Sampler::start(&options).unwrap(), |story| {
            looks += 1;
            // It starts a child every few milliseconds, which takes it some time.
            story.samples > 0 && looks > 20
        });
        assert_eq!(story.processes.into_iter().collect::<Vec<_>>(), [family.process()]);
        assert_eq!(summary.cpu_time.len(), 1);
    }
}

#[test]
fn threads_born_later_are_seen_and_need_no_descriptors() {
    let builder = shared().target("zombie-threads", Runtime::Net9);
    let target = builder.arg("rate=100").arg("cap=1000").start().unwrap();
    let options = Options {
        collect: Collect::Both,
        rate_hz: 999,
        placement: PlacementWish::PerThread,
        ..options(&target)
    };
    let sampler = Sampler::start(&options).unwrap();
    let descriptors = sampler.descriptors();
    let open = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    assert!(descriptors <= open());
    let (story, _) = sample(sampler, |story| story.began.len() >= 100);
    // They were born after we put events into the others, and then they wait.
    let waited = story.waits.iter().filter(|wait| story.began.contains(&wait.thread.id)).count();
    assert!(waited >= 90, "{waited} of {}", story.began.len());
}

/// Two hundred threads at a time, a thousand in all, each for a moment.
const SWARM: &str = r#"
import threading, time
def live():
    end = time.thread_time() + 0.002
    while time.thread_time() < end: pass
print("ready", flush=True)
while True:
    threads = [threading.Thread(target=live) for _ in range(200)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"#;

#[test]
fn a_thousand_threads_that_come_and_go() {
    let Ok(child) = Command::new("python3").args(["-c", SWARM]).spawn() else {
        panic!("needs python3");
    };
    let swarm = Family(child);
    for placement in [PlacementWish::PerThread, PlacementWish::Best] {
        let scope = Scope::process(swarm.process());
        let options = Options { collect: Collect::Both, rate_hz: 999, placement, ..Options::new(scope) };
        let (story, summary) = sample(Sampler::start(&options).unwrap(), |story| story.began.len() >= 1000);
        let time: Duration = story.sampled.values().sum();
        let used = summary.cpu_time[&swarm.process()];
        // Threads that were put an event into while they inherited one are not counted twice.
        assert!(time <= used * 115 / 100 + Duration::from_millis(60), "{time:?} of {used:?}");
        assert!(time * 2 >= used.saturating_sub(Duration::from_millis(100)), "{time:?} of {used:?}");
        assert!(story.ended.len() >= 900, "{}", story.ended.len());
    }
}
