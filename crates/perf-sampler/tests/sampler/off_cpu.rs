//! Waiting threads.

use std::collections::BTreeMap;
use std::time::Duration;

use model::ThreadId;
use perf_sampler::{
    Collect, Leaving, OffCpu, Options, Placement, PlacementWish, Sampler, Scope, Seen, Summary, Timestamp,
    WaitStacks, preflight,
};
use testbed::Target;

use crate::{Story, assert_close, may_watch_all, options, pid, ran, sample, start, whole};

/// Threads that were there all the time: what they ran, by the scheduler, between two moments.
type Ran = BTreeMap<ThreadId, Duration>;

/// Watches for so long, and counts beside it what each thread ran.
pub(crate) fn watch(options: &Options, target: &Target, time: Duration) -> (Story, Summary, Ran) {
    let sampler = Sampler::start(options).expect("it may sample");
    let started = sampler.started();
    let before = ran(pid(target));
    let mut after = Ran::new();
    let (story, summary) = sample(sampler, |_| {
        after = ran(pid(target));
        Timestamp::now().since(started) > time
    });
    let ran = before
        .into_iter()
        .filter_map(|(id, before)| Some((id, after.get(&id)?.saturating_sub(before))))
        .collect();
    (story, summary, ran)
}

/// A thread runs or it does not: the two add up to the time that passed. This is true on any machine.
#[track_caller]
pub(crate) fn adds_up(story: &Story, summary: &Summary, ran: &Ran) {
    let time = summary.ended.since(summary.started);
    let off = story.off();
    // What the scheduler counts and what lies between switches differ by the switches themselves.
    for (id, ran) in ran {
        let off = off.get(id).copied().unwrap_or_default();
        assert_close(
            &format!("thread {id} ran {ran:?}"),
            *ran + off,
            time,
            (92, 104),
            Duration::from_millis(120),
        );
    }
    assert!(summary.counts.unpaired * 50 <= summary.counts.switches, "{:?}", summary.counts);
}

#[test]
fn waits_and_running_add_up_to_the_time_that_passed() {
    if !may_watch_all() {
        return;
    }
    let target = start("web-two-routes");
    // A stack of every wait, however often a fast machine switches.
    let wait_stacks = WaitStacks::OneIn(1);
    let options = Options { collect: Collect::Both, rate_hz: 99, wait_stacks, ..options(&target) };
    let (story, summary, ran) = watch(&options, &target, Duration::from_secs(3));
    // On a crowded machine nobody may read for a while what comes with so many stacks; that is counted, and little.
    assert!(summary.counts.lost * 50 <= summary.counts.switches, "{:?}", summary.counts);
    adds_up(&story, &summary, &ran);
    // The route that waits does so for 100 ms, and each time its stack was told.
    let long: Vec<_> = story
        .waits
        .iter()
        .filter(|wait| whole(wait) && wait.leaving == Leaving::Blocked)
        .filter(|wait| (95..500).contains(&wait.duration().as_millis()))
        .collect();
    assert!(long.len() >= 5, "{} waits", long.len());
    let with_stack = long.iter().filter(|wait| wait.switch.is_some_and(|id| story.leavings[&id])).count();
    assert!(with_stack * 20 >= long.len() * 19, "{with_stack} of {} have a stack", long.len());
    assert!(story.samples > 0, "and the route that burns was sampled");
    assert_eq!(story.out_of_order, 0);
}

#[test]
fn threads_that_never_move_wait_throughout() {
    let target = start("pool-starvation");
    let options = Options { collect: Collect::OffCpu, ..options(&target) };
    let (story, summary, ran) = watch(&options, &target, Duration::from_secs(2));
    adds_up(&story, &summary, &ran);
    let blocked =
        story.waits.iter().filter(|wait| matches!(wait.seen, Seen::Throughout | Seen::NotEnded)).count();
    assert!(blocked >= 10, "{blocked}");
    assert_eq!(story.samples, 0, "running was not asked for");
}

#[test]
fn one_stack_in_ten_still_times_every_wait() {
    if !may_watch_all() {
        return;
    }
    let target = start("web-two-routes");
    let options =
        Options { collect: Collect::OffCpu, wait_stacks: WaitStacks::OneIn(10), ..options(&target) };
    let (story, summary, ran) = watch(&options, &target, Duration::from_secs(3));
    adds_up(&story, &summary, &ran);
    let leavings = summary.counts.switches / 2;
    let stacks = summary.counts.wait_stacks;
    assert!(stacks > 0 && stacks * 5 < leavings, "{stacks} stacks of {leavings}");
}

#[test]
fn waits_of_the_whole_machine() {
    if !may_watch_all() {
        return;
    }
    let target = start("web-two-routes");
    let options = Options { collect: Collect::Both, ..Options::new(Scope::Machine) };
    assert_eq!(preflight(&options).unwrap().off_cpu, Some(OffCpu::WithStacks(Placement::PerCpu)));
    let process = pid(&target);
    let of_target = |story: &Story| story.waits.iter().filter(|wait| wait.thread.process == process).count();
    let (story, _) = sample(Sampler::start(&options).unwrap(), |story| of_target(story) > 100);
    let others = story.waits.iter().filter(|wait| wait.thread.process != process).count();
    assert!(others > 0, "everybody is told of");
}

#[test]
fn running_and_waiting_in_threads() {
    let target = start("web-two-routes");
    let options = Options {
        collect: Collect::Both,
        placement: PlacementWish::PerThread,
        rate_hz: 99,
        ..options(&target)
    };
    let (story, summary, ran) = watch(&options, &target, Duration::from_secs(2));
    adds_up(&story, &summary, &ran);
    assert!(story.samples > 0);
}

#[test]
fn two_samplers_of_one_process_do_not_disturb_each_other() {
    if !may_watch_all() {
        return;
    }
    // The kernel writes the same event id into the samples of both.
    let target = start("web-two-routes");
    // The other one is read at the end only: what comes in two seconds has to fit into its ring.
    let all = Options {
        collect: Collect::OffCpu,
        wait_stacks: WaitStacks::OneIn(1),
        wait_stack_bytes: 2 << 10,
        ..options(&target)
    };
    let other = Sampler::start(&all).unwrap();
    let (story, summary, ran) = watch(&all, &target, Duration::from_secs(2));
    let (other, _) = sample(other, |_| true);
    for story in [&story, &other] {
        let whole: Vec<_> = story.waits.iter().filter(|wait| whole(wait)).collect();
        let with_stack = whole.iter().filter(|wait| wait.switch.is_some()).count();
        assert!(with_stack * 20 >= whole.len() * 19, "{with_stack} of {}", whole.len());
    }
    adds_up(&story, &summary, &ran);
}
