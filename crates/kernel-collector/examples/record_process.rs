//! Records a process and prints its hottest stacks: `cargo run -p kernel-collector --example record_process PID SECONDS [STACKS]`.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "an example for people at a terminal")]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use kernel_collector::{Collecting, Request, Target};
use model::ProcessId;
use perf_sampler::{Collect, Wake};

fn main() {
    let mut args = std::env::args().skip(1);
    let pid = ProcessId(args.next().unwrap().parse().unwrap());
    let time = Duration::from_secs(args.next().unwrap().parse().unwrap());
    let show = args.next().map_or(3, |stacks| stacks.parse().unwrap());
    let process = discovery::find(pid, &discovery::Options::default()).unwrap();
    let begin = Instant::now();
    let mut collecting =
        Collecting::start(Request::new(vec![Target::from(&process)], Collect::Both)).unwrap();
    println!("began after {:?}: {:?}", begin.elapsed(), collecting.granted());
    let begin = Instant::now();
    while begin.elapsed() < time {
        if collecting.wait(time.saturating_sub(begin.elapsed())).unwrap() == Wake::TargetsEnded {
            break;
        }
    }
    let end = Instant::now();
    let recorded = collecting.finish();
    println!("finished in {:?}; looked for {:?}; {:?}", end.elapsed(), recorded.looking, recorded.summary);
    for process in &recorded.processes {
        println!("{}: {:?} {:?} {:?}", process.pid, process.naming, process.cpu_time, process.on_our_behalf);
        println!("{:?}", process.profiles.quality);
        let profiles = &process.profiles;
        for profile in [&profiles.on_cpu, &profiles.ready, &profiles.off_cpu] {
            let mut by_stack = HashMap::<_, u64>::new();
            for sample in &profile.samples {
                *by_stack.entry(sample.stack).or_default() += sample.weight;
            }
            let mut stacks: Vec<_> = by_stack.into_iter().collect();
            stacks.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
            println!("== {}: {:?}", profile.title, Duration::from_nanos(profile.total()));
            for (stack, weight) in stacks.iter().take(show) {
                println!("-- {:?}", Duration::from_nanos(*weight));
                for sample in
                    profile.samples.iter().filter(|sample| stack.is_none() && sample.stack.is_none())
                {
                    let thread = &profile.threads[sample.thread.0 as usize];
                    let [at, took] = [sample.at_ns, sample.weight].map(Duration::from_nanos);
                    println!("   without a stack: {:?} at {at:?} for {took:?}", thread.name);
                }
                for frame in stack.iter().flat_map(|stack| profile.stack(*stack)) {
                    let frame = &profile.frames[frame.0 as usize];
                    println!("   {} ({:?} {:?})", frame.name, frame.kind, frame.line);
                }
            }
        }
    }
}
