//! Threads and processes that come and go.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::ProcessId;
use perf_sampler::{Children, Collect, Options, PlacementWish, Sampler, Scope, prefer_this_thread};
use testbed::{Runtime, shared};

use crate::{LONG, Story, may_watch_all, options, sample};

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

/// Tells a copy of this program to be a target.
const TARGET: &str = "DRDOTNET_TEST_TARGET";

/// Not a test of its own: what [`Family::copy`] runs, until it is killed.
#[test]
fn a_program_to_be_sampled() {
    let burn = |time: Duration| {
        let until = Instant::now() + time;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    match std::env::var(TARGET).as_deref() {
        // Two hundred threads at a time, each for a moment.
        Ok("swarm") => loop {
            std::thread::scope(|scope| {
                for _ in 0..200 {
                    scope.spawn(|| burn(Duration::from_millis(2)));
                }
            });
        },
        // Two hundred threads that run for as long as they can.
        Ok("crowd") => std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| burn(LONG));
            }
        }),
        _ => {}
    }
}

impl Family {
    /// This program, as a target of this kind.
    fn copy(kind: &str) -> Family {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "lives::a_program_to_be_sampled", "--quiet"]).env(TARGET, kind);
        Family(command.stdout(Stdio::null()).spawn().expect("it starts"))
    }
}

#[test]
fn two_hundred_busy_threads_fit_into_the_rings() {
    if !may_watch_all() {
        return;
    }
    let crowd = Family::copy("crowd");
    assert!(prefer_this_thread());
    let options = Options { rate_hz: 999, ..Options::new(Scope::process(crowd.process())) };
    let (story, summary) =
        sample(Sampler::start(&options).unwrap(), |story| story.sampled.len() >= 150 && story.samples >= 500);
    // None on a machine of one's own. Here the reader itself may have to wait for a CPU for longer than a ring holds.
    let counts = summary.counts;
    assert!(counts.lost * 20 <= story.samples, "{counts:?}");
}

#[test]
fn a_thousand_threads_that_come_and_go() {
    let swarm = Family::copy("swarm");
    for placement in [PlacementWish::PerThread, PlacementWish::Best] {
        let scope = Scope::process(swarm.process());
        let options = Options { collect: Collect::Both, rate_hz: 999, placement, ..Options::new(scope) };
        // Where others want the processors too, those that began may take their time to end.
        let enough = |story: &Story| story.began.len() >= 1000 && story.ended.len() >= 900;
        let (story, summary) = sample(Sampler::start(&options).unwrap(), enough);
        let time: Duration = story.sampled.values().sum();
        let used = summary.cpu_time[&swarm.process()];
        // Threads that were put an event into while they inherited one are not counted twice.
        assert!(time <= used * 115 / 100 + Duration::from_millis(60), "{time:?} of {used:?}");
        assert!(time * 2 >= used.saturating_sub(Duration::from_millis(100)), "{time:?} of {used:?}");
        assert!(story.ended.len() >= 900, "{}", story.ended.len());
    }
}
