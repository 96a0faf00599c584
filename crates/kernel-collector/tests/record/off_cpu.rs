//! Time off the CPU.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kernel_collector::{Recorded, Request};
use model::ProcessId;
use perf_sampler::{Collect, OffCpu, WaitStacks};
use stacks::Profile;

use crate::{of, pid, record_for, share, start, target_of, time_in};

/// Tells a copy of this program to be a target.
const TARGET: &str = "DRDOTNET_TEST_TARGET";

/// Not a test of its own: what [`Copy`] runs, until it is killed.
#[test]
fn a_program_to_be_recorded() {
    let named = |name: &str, work: fn()| std::thread::Builder::new().name(name.to_owned()).spawn(work);
    let burn = |time: Duration| {
        let until = Instant::now() + time;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    match std::env::var(TARGET).as_deref() {
        // One of each kind.
        Ok("kinds") => {
            let parked = named("parked", || {
                loop {
                    std::thread::park();
                }
            });
            let sleeps = named("sleeps", || {
                loop {
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
            let burns = named("burns", || {
                loop {
                    std::hint::spin_loop();
                }
            });
            for thread in [parked, sleeps, burns] {
                thread.expect("a thread").join().expect("they never end");
            }
        }
        // Two hundred threads at a time, each for a moment.
        Ok("swarm") => loop {
            std::thread::scope(|scope| {
                for _ in 0..200 {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(1));
                        burn(Duration::from_millis(1));
                    });
                }
            });
        },
        _ => {}
    }
}

/// This program, as a target.
pub(crate) struct Copy(Child);

impl Copy {
    pub(crate) fn start(kind: &str) -> Copy {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "off_cpu::a_program_to_be_recorded", "--quiet"]).env(TARGET, kind);
        Copy(command.stdout(Stdio::null()).spawn().expect("it starts"))
    }

    pub(crate) fn pid(&self) -> ProcessId {
        ProcessId(self.0.id())
    }

    /// Waits until it has a thread of this name.
    fn has_thread(&self, name: &str) {
        let process = process_view::Process::new(self.pid());
        let begin = Instant::now();
        let there = || {
            let tasks = process.tasks().unwrap_or_default();
            tasks.into_iter().any(|task| task.name().is_ok_and(|found| found == name))
        };
        while !there() {
            assert!(begin.elapsed() < crate::LONG, "no thread {name}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The time of the threads of this name, in nanoseconds.
fn time_of(profile: &Profile, thread: &str) -> u64 {
    let is_it = |sample: &&stacks::Sample| {
        profile.threads[sample.thread.0 as usize].name.as_deref().is_some_and(|name| name == thread)
    };
    profile.samples.iter().filter(is_it).map(|sample| sample.weight).sum()
}

#[track_caller]
fn assert_between(what: &str, got: u64, whole: u64, per_cent: (u64, u64)) {
    let share = got * 100 / whole;
    assert!(
        per_cent.0 <= share && share <= per_cent.1,
        "{what}: {share} % of {:?}",
        Duration::from_nanos(whole)
    );
}

#[test]
fn running_ready_and_waiting_are_a_threads_life() {
    let target = Copy::start("kinds");
    target.has_thread("burns");
    let mut request = Request::new(vec![target.pid().into()], Collect::Both);
    request.sampling.rate_hz = 499;
    let recorded = record_for(request, Duration::from_secs(2));
    let profiles = &of(&recorded, target.pid()).profiles;
    let whole = profiles.off_cpu.duration_ns;
    for thread in ["parked", "sleeps", "burns"] {
        let [running, ready, waiting] =
            [&profiles.on_cpu, &profiles.ready, &profiles.off_cpu].map(|side| time_of(side, thread));
        // On a busy machine ticks of the clock merge, so running is a little less than it was.
        assert_between(thread, running + ready + waiting, whole, (85, 105));
        match thread {
            "parked" => assert_between("parked", waiting, whole, (99, 100)),
            "sleeps" => assert_between("sleeps", waiting, whole, (85, 101)),
            _ => assert_between("burns", waiting, whole, (0, 5)),
        }
    }
    let waits = profiles.quality.waits;
    assert!(waits.complete_percent() >= 98.0, "{waits:?}");
    assert_eq!(waits.waited_ns, profiles.off_cpu.total());
    assert!(time_in(&profiles.off_cpu, "park") >= whole * 98 / 100, "the parked thread has its stack");
}

/// One stack in many, and yet the time is that of all waits.
#[test]
fn the_sum_is_the_true_time_however_few_stacks_there_are() {
    let target = Copy::start("kinds");
    target.has_thread("burns");
    let mut shares = Vec::new();
    for every in [1, 25] {
        let mut request = Request::new(vec![target.pid().into()], Collect::OffCpu);
        request.sampling.wait_stacks = WaitStacks::OneIn(every);
        let recorded = record_for(request, Duration::from_secs(2));
        let profiles = &of(&recorded, target.pid()).profiles;
        let whole = profiles.off_cpu.duration_ns;
        assert_between("sleeps", time_of(&profiles.off_cpu, "sleeps"), whole, (85, 101));
        let waits = profiles.quality.waits;
        assert!(waits.without_stack_ns * 50 <= waits.waited_ns, "{every}: {waits:?}");
        // Who gets no stacks from the kernel has those of some waits whatever was asked for.
        if matches!(recorded.granted.off_cpu, Some(OffCpu::WithStacks(_))) {
            assert!((every > 1) == (waits.estimated_ns * 10 > whole), "{every}: {waits:?}");
        }
        shares.push(share(&profiles.off_cpu, "nanosleep"));
    }
    assert!((shares[0] - shares[1]).abs() < 3.0, "{shares:?}");
}

fn all_waits_have_complete_stacks(patient: &str, time: Duration) -> Recorded {
    let target = start(patient);
    let recorded = record_for(Request::new(vec![target_of(&target)], Collect::OffCpu), time);
    let process = of(&recorded, pid(&target));
    let quality = process.profiles.quality;
    assert!(quality.waits.complete_percent() >= 98.0, "{patient}: {quality:?}");
    assert!(quality.named_percent() >= 99.0, "{patient}: {quality:?}");
    assert_eq!(quality.waits.looks_refused, 0);
    assert!(target.is_alive(), "{patient}: {}", target.stderr_text());
    recorded
}

const TIME: Duration = Duration::from_secs(3);

#[test]
fn threads_of_a_starved_pool_are_seen_where_they_block() {
    let recorded = all_waits_have_complete_stacks("pool-starvation", TIME);
    let profile = &recorded.processes[0].profiles.off_cpu;
    assert!(share(profile, "Catalog.PriceService.GetPrice") > 20.0);
}

#[test]
fn parked_pool_threads_are_seen_where_they_park() {
    let recorded = all_waits_have_complete_stacks("healthy-parked-pool", TIME);
    let profile = &recorded.processes[0].profiles.off_cpu;
    assert!(share(profile, "LowLevelLifoSemaphore") > 40.0 || share(profile, "WorkerThread") > 40.0);
}

/// The method that blocks is called by a route and calls `Task.Wait`, which keeps no frame of its own.
#[test]
fn two_routes_wait_where_they_are_built_to() {
    let recorded = all_waits_have_complete_stacks("aspnet-two-routes", TIME);
    let profile = &recorded.processes[0].profiles.off_cpu;
    assert!(time_in(profile, "Patients.LoopbackClients.Drive") > 0);

    let target = start("aspnet-two-routes");
    let recorded = record_for(Request::new(vec![target_of(&target)], Collect::Both), TIME);
    let profiles = &of(&recorded, pid(&target)).profiles;
    // A task is waited for by spinning at first: where processors are short, that is all there is, and the time is in
    // being ready.
    let wall = |name: &str| -> u64 {
        [&profiles.on_cpu, &profiles.ready, &profiles.off_cpu].map(|side| time_in(side, name)).iter().sum()
    };
    let [task, waits, burns] =
        ["System.Threading.Tasks.Task.Wait", "Tickets.Api.Booking.Wait", "Tickets.Api.Booking.Burn"]
            .map(wall);
    assert!(waits * 100 >= task * 95, "{waits} of {task}");
    assert!(waits * 2 > burns && burns * 2 > waits, "as many wait as burn: {waits} and {burns}");
}

#[test]
fn a_busy_server_waits_on_complete_stacks() {
    all_waits_have_complete_stacks("healthy-busy-aspnet", TIME);
}

#[test]
fn the_oldest_runtime_waits_on_complete_stacks() {
    let builder = testbed::shared().target("pool-starvation", testbed::Runtime::Net31);
    let target = builder.start().expect("the patient starts");
    let recorded = record_for(Request::new(vec![target_of(&target)], Collect::OffCpu), TIME);
    let quality = of(&recorded, pid(&target)).profiles.quality;
    assert!(quality.waits.complete_percent() >= 98.0, "{quality:?}");
}
