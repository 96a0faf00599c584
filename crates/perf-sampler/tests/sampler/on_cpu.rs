//! Running threads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::{ProcessId, ThreadId};
use perf_sampler::{
    KernelFrames, KernelSide, Options, Part, Placement, PlacementWish, Sampler, SamplerError, Scope, Trigger,
    Wake, preflight,
};
use testbed::{Namespaces, Runtime, shared};

use crate::{LONG, OFTEN, Story, assert_close, may_watch_all, options, pid, ran, ran_in_all, sample, start};

/// What each thread used since an earlier look.
fn used_since(before: &BTreeMap<ThreadId, Duration>, process: ProcessId) -> BTreeMap<ThreadId, Duration> {
    let earlier = |id| before.get(id).copied().unwrap_or_default();
    ran(process).iter().map(|(id, now)| (*id, now.saturating_sub(earlier(id)))).collect()
}

/// The thread that used most.
fn hottest(used: &BTreeMap<ThreadId, Duration>) -> (ThreadId, Duration) {
    used.iter().max_by_key(|(_, time)| **time).map(|(id, time)| (*id, *time)).expect("it has threads")
}

/// Samples until the hot thread has used so much CPU time, and compares the two counts of it.
fn hot_thread_is_seen(options: &Options, process: ProcessId, time: Duration) -> Story {
    let sampler = Sampler::start(options).expect("it may sample");
    let before = ran(process);
    let (mut hot, mut used, mut all) = (ThreadId(0), Duration::ZERO, Duration::ZERO);
    let (story, summary) = sample(sampler, |_| {
        let threads = used_since(&before, process);
        (hot, used) = hottest(&threads);
        all = threads.values().sum();
        used >= time
    });
    // A busy guest merges ticks, so there are fewer samples than time; there are never many more.
    let slack = Duration::from_millis(60);
    assert_close("the hot thread", story.sampled[&hot], used, (65, 110), slack);
    let counted = summary.cpu_time[&process];
    assert_close("the process's own clock", counted, all, (95, 110), slack);
    assert_eq!(story.out_of_order, 0, "records come in the order of time");
    assert!(story.last.expect("records") <= summary.ended && summary.started < summary.ended);
    story
}

#[test]
fn samples_of_cpus_are_the_cpu_time_of_the_hot_thread() {
    if !may_watch_all() {
        return;
    }
    let target = start("hot-method");
    let options = Options { rate_hz: 999, ..options(&target) };
    let granted = preflight(&options).unwrap();
    assert_eq!((granted.on_cpu, granted.kernel), (Some(Placement::PerCpu), KernelSide::Seen));
    assert_eq!(granted.missing, []);
    let story = hot_thread_is_seen(&options, pid(&target), Duration::from_millis(500));
    assert_eq!(story.processes.into_iter().collect::<Vec<_>>(), [pid(&target)], "nobody else is told of");
    // Managed code keeps frame pointers: the copy of the stack holds the return address that the kernel found.
    assert!(story.with_memory * 10 > story.samples * 9, "{} of {}", story.with_memory, story.samples);
    assert!(story.caller_in_memory * 2 > story.samples, "{} of {}", story.caller_in_memory, story.samples);
}

#[test]
fn samples_of_threads_are_the_cpu_time_of_the_hot_thread() {
    let target = start("hot-method");
    let options = Options { rate_hz: 999, placement: PlacementWish::PerThread, ..options(&target) };
    let granted = preflight(&options).unwrap();
    assert_eq!(granted.on_cpu, Some(Placement::PerThread));
    hot_thread_is_seen(&options, pid(&target), Duration::from_millis(500));
}

#[test]
fn every_runtime_is_sampled() {
    for runtime in [Runtime::Net31, Runtime::Net8] {
        let target = shared().target("hot-method", runtime).start().unwrap();
        let sampler = Sampler::start(&Options { rate_hz: 999, ..options(&target) }).unwrap();
        let (story, _) = sample(sampler, |story| story.samples >= 50);
        assert!(story.caller_in_memory * 2 > story.samples, "{runtime}");
        assert!(target.is_alive());
    }
    let stranger = shared().stranger().start().unwrap();
    let sampler = Sampler::start(&options(&stranger)).unwrap();
    sampler.finish(&mut |_| {});
    assert!(stranger.is_alive());
}

#[test]
fn ten_thousand_a_second() {
    let target = start("hot-method");
    let options = Options { rate_hz: 10_000, ..options(&target) };
    assert_eq!(preflight(&options).unwrap().period, Duration::from_micros(100));
    let before = ran_in_all(pid(&target));
    let (story, summary) = sample(Sampler::start(&options).unwrap(), |_| {
        ran_in_all(pid(&target)) - before > Duration::from_millis(300)
    });
    // Each sample costs the target time too, so a rate this high is not reached by all machines.
    let told = story.samples + summary.counts.lost;
    assert!(told > 500, "{told} in {:?}", summary.cpu_time);
}

#[test]
fn one_a_second() {
    if !may_watch_all() {
        return;
    }
    // Of the whole machine: there is always somebody who runs when the clock strikes.
    let target = start("hot-method");
    let options = Options { rate_hz: 1, ..Options::new(Scope::Machine) };
    let sampler = Sampler::start(&options).unwrap();
    assert_eq!(sampler.granted().period, Duration::from_secs(1));
    let cpus = u32::try_from(sampler.granted().cpus).unwrap();
    let (story, summary) = sample(sampler, |story| story.samples >= 2);
    let sampled: Duration = story.sampled.values().sum();
    let time = summary.ended.since(summary.started);
    assert!(sampled <= (time + Duration::from_secs(1)) * cpus, "{sampled:?} in {time:?}");
    assert!(target.is_alive());
}

#[test]
fn a_rate_above_the_kernels_limit_is_lowered_and_told() {
    let target = start("healthy-idle-service");
    let options = Options { rate_hz: u32::MAX, ..options(&target) };
    let granted = preflight(&options).unwrap();
    assert!(granted.rate_hz < u32::MAX);
    let part = Part::Rate { wanted: u32::MAX, got: granted.rate_hz };
    assert!(granted.missing.iter().any(|missing| missing.part == part), "{granted:?}");
}

#[test]
fn an_idle_service_is_hardly_sampled_at_all() {
    let target = start("healthy-idle-service");
    let mut sampler = Sampler::start(&Options { rate_hz: 999, ..options(&target) }).unwrap();
    let mut story = Story::default();
    for _ in 0..20 {
        sampler.wait(OFTEN).unwrap();
        sampler.read(&mut |record| story.hear(record));
    }
    let summary = sampler.finish(&mut |record| story.hear(record));
    let sampled: Duration = story.sampled.values().sum();
    assert_close("idle", sampled, summary.cpu_time[&pid(&target)], (50, 150), Duration::from_millis(50));
}

#[test]
fn kernel_frames_are_told_only_when_they_are_wanted() {
    if !may_watch_all() {
        return;
    }
    // It waits and answers all the time, so much of its time is spent in system calls.
    let target = start("healthy-busy-web");
    for (wanted, placement) in [
        (KernelFrames::Wanted, PlacementWish::Best),
        (KernelFrames::Wanted, PlacementWish::PerThread),
        (KernelFrames::Unwanted, PlacementWish::Best),
        (KernelFrames::Unwanted, PlacementWish::PerThread),
    ] {
        let options = Options { rate_hz: 999, kernel_frames: wanted, placement, ..options(&target) };
        let enough = |story: &Story| match wanted {
            KernelFrames::Wanted => story.with_kernel >= 5,
            KernelFrames::Unwanted => story.samples >= 200,
        };
        let (story, _) = sample(Sampler::start(&options).unwrap(), enough);
        assert_eq!(story.with_kernel > 0, wanted == KernelFrames::Wanted, "{wanted:?} {placement:?}");
    }
}

#[test]
fn a_stopped_target_gives_no_samples_and_no_hang() {
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let target = start("hot-method");
        target.suspend().unwrap();
        let mut sampler = Sampler::start(&Options { rate_hz: 999, placement, ..options(&target) }).unwrap();
        let mut story = Story::default();
        for _ in 0..10 {
            assert_ne!(sampler.wait(OFTEN).unwrap(), Wake::TargetsEnded);
            sampler.read(&mut |record| story.hear(record));
        }
        assert_eq!(story.samples, 0);
        target.resume().unwrap();
        let (story, _) = sample(sampler, |story| story.samples >= 10);
        assert!(story.samples >= 10);
    }
}

#[test]
fn a_target_that_ends_is_noticed_and_what_was_seen_is_kept() {
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let target = start("hot-method");
        let process = pid(&target);
        let sampler = Sampler::start(&Options { rate_hz: 999, placement, ..options(&target) }).unwrap();
        let mut killed = false;
        // Only its end makes this return.
        let (story, summary) = sample(sampler, |story| {
            if story.samples >= 20 && !killed {
                target.kill().unwrap();
                killed = true;
            }
            false
        });
        target.wait_exit(LONG).unwrap();
        assert!(story.samples >= 20);
        assert!(story.ended.contains(&ThreadId(process.0)), "its first thread's end was told");
        assert!(summary.cpu_time[&process] > Duration::ZERO);
        let error = Sampler::start(&Options::new(Scope::process(process))).unwrap_err();
        assert!(matches!(error, SamplerError::NoSuchProcess { .. }), "{error}");
    }
}

#[test]
fn a_ring_that_overflows_counts_what_is_lost_and_goes_on() {
    let target = start("hot-method");
    let options =
        Options { rate_hz: 10_000, ring_memory: 1, placement: PlacementWish::PerThread, ..options(&target) };
    let sampler = Sampler::start(&options).unwrap();
    assert_eq!(sampler.granted().ring_bytes, 64 << 10, "the smallest there is, room for 14 samples");
    // Nobody reads while it runs.
    let before = ran_in_all(pid(&target));
    let begun = std::time::Instant::now();
    while ran_in_all(pid(&target)) - before < Duration::from_millis(100) {
        assert!(begun.elapsed() < LONG);
        std::thread::sleep(OFTEN);
    }
    let mut lost = 0;
    let (story, summary) = sample(sampler, |story| {
        lost += 1;
        story.samples > 200 && lost > 3
    });
    assert!(summary.counts.lost > 0, "{:?}", summary.counts);
    // Records of uneven size went many times around the ring, and each was put together right.
    assert!(story.caller_in_memory * 2 > story.samples, "{} of {}", story.caller_in_memory, story.samples);
}

#[test]
fn a_target_in_its_own_pid_namespace_is_told_by_our_numbers() {
    if !may_watch_all() {
        return;
    }
    let namespaces = Namespaces::PidAndMount { private_tmp: true };
    let target = shared().target("hot-method", Runtime::Net9).namespaces(namespaces).start().unwrap();
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let options = Options { rate_hz: 999, placement, ..options(&target) };
        let before = ran(pid(&target));
        let (story, _) = sample(Sampler::start(&options).unwrap(), |story| story.samples >= 50);
        assert!(story.processes.contains(&pid(&target)));
        let (hot, _) = hottest(&used_since(&before, pid(&target)));
        assert!(story.sampled.contains_key(&hot));
    }
}

#[test]
fn a_process_can_be_added_while_it_runs() {
    for placement in [PlacementWish::Best, PlacementWish::PerThread] {
        let [first, second] = [start("healthy-idle-service"), start("hot-method")];
        let mut sampler = Sampler::start(&Options { rate_hz: 999, placement, ..options(&first) }).unwrap();
        assert_eq!(sampler.add(pid(&second)), None);
        let (story, summary) = sample(sampler, |story| story.samples >= 30);
        assert!(story.processes.contains(&pid(&second)));
        assert!(summary.cpu_time.contains_key(&pid(&first)) && summary.cpu_time.contains_key(&pid(&second)));
    }
}

/// Others pay nothing for it: their stacks are not even copied. Where the kernel takes no program from us they are.
#[test]
fn others_are_not_sampled() {
    if !may_watch_all() {
        return;
    }
    let (target, other) = (start("hot-method"), start("hot-method"));
    let options = Options { rate_hz: 499, ..options(&target) };
    let before = ran_in_all(pid(&other));
    let mut samples = 0;
    let (_, summary) = sample(Sampler::start(&options).expect("it may sample"), |story| {
        samples = story.samples;
        samples >= 200 && ran_in_all(pid(&other)) - before > Duration::from_secs(1)
    });
    assert_eq!(summary.counts.samples_of_others, 0, "{:?}", summary.counts);
}

/// The patient touches 96 kB of new memory again and again.
#[test]
fn memory_that_is_touched_for_the_first_time_is_seen_where_it_is_asked_about() {
    if !may_watch_all() {
        return;
    }
    const EVERY: u32 = 16;
    let target = start("native-memory");
    let sampler = |but| {
        let trigger = Trigger::NewMemory { every: EVERY, but };
        Sampler::start(&Options { trigger, ..options(&target) }).expect("it may sample")
    };
    let (story, _) = sample(sampler(Vec::new()), |story| story.samples >= 20);
    let bytes = u128::from(story.samples) * u128::from(EVERY) * rustix::param::page_size() as u128;
    assert_eq!(story.sampled.values().sum::<Duration>().as_nanos(), bytes, "a nanosecond for each byte");
    let mut of_nowhere = sampler(std::iter::once(0..u64::MAX).collect());
    let begun = Instant::now();
    while of_nowhere.counts().unasked < 20 {
        assert!(begun.elapsed() < LONG, "not enough came: {:?}", of_nowhere.counts());
        of_nowhere.wait(OFTEN).expect("waiting works");
        of_nowhere.read(&mut |_| {});
    }
    assert_eq!((of_nowhere.counts().on_cpu, of_nowhere.counts().broken), (0, 0));
}
