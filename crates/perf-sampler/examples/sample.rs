//! Samples a process and prints counts: `cargo run -p perf-sampler --example sample -- PID [SECONDS] [HZ] [on|off|both]
//! [thread]`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use model::ProcessId;
use perf_sampler::{Collect, Leaving, Options, PlacementWish, Record, Sampler, Scope, Wake};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, default: &str| words.get(index).map_or(default.to_owned(), Clone::clone);
    let pid: ProcessId =
        word(0, "").parse().map_err(|_| "usage: sample PID [SECONDS] [HZ] [on|off|both] [thread]")?;
    let length = Duration::from_secs(word(1, "5").parse()?);
    let mut options = Options::new(Scope::process(pid));
    options.rate_hz = word(2, "99").parse()?;
    options.collect = match word(3, "on").as_str() {
        "off" => Collect::OffCpu,
        "both" => Collect::Both,
        _ => Collect::OnCpu,
    };
    if word(4, "") == "thread" {
        options.placement = PlacementWish::PerThread;
    }

    if !perf_sampler::prefer_this_thread() {
        println!("this user's threads may not be preferred");
    }
    let begun = Instant::now();
    let mut sampler = Sampler::start(&options)?;
    println!(
        "started in {:.1} ms, {} descriptors",
        begun.elapsed().as_secs_f64() * 1e3,
        sampler.descriptors()
    );
    let granted = sampler.granted();
    println!(
        "on-CPU {:?}, off-CPU {:?}, kernel side {:?}, {} Hz, {} rings of {} KB, stacks cut at {} frames",
        granted.on_cpu,
        granted.off_cpu,
        granted.kernel,
        granted.rate_hz,
        granted.cpus,
        granted.ring_bytes / 1024,
        granted.max_frames
    );
    for missing in &granted.missing {
        println!("{missing}");
    }

    let mut seen = Tally::default();
    let mut wakes = 0_u64;
    while let Some(left) = length.checked_sub(begun.elapsed()) {
        let wake = sampler.wait(left)?;
        wakes += 1;
        sampler.read(&mut |record| seen.add(record));
        if wake == Wake::TargetsEnded {
            println!("the target has ended");
            break;
        }
    }
    let summary = sampler.finish(&mut |record| seen.add(record));
    println!("{:#?}", summary.counts);
    println!(
        "{} threads, {} waits, blocked {:.2?}, preempted {:.2?}, other {:.2?}; {} mappings, {} with kernel frames, {} user \
         frames, {wakes} wakes",
        seen.threads.len(),
        seen.waits,
        seen.blocked,
        seen.preempted,
        seen.unknown,
        seen.mapped,
        seen.kernel,
        seen.user_frames
    );
    println!("sampled {:.3?} of CPU time in {:.3?}", seen.sampled, summary.ended.since(summary.started));
    for (process, time) in &summary.cpu_time {
        println!("process {process} used {time:.3?}");
    }
    let own = process_view::own_cpu_time();
    println!("this program used {own:?} and {:?} bytes at most", process_view::Process::this().peak_memory());
    Ok(())
}

#[derive(Default)]
struct Tally {
    threads: BTreeSet<u32>,
    waits: u64,
    blocked: Duration,
    preempted: Duration,
    unknown: Duration,
    sampled: Duration,
    mapped: u64,
    kernel: u64,
    user_frames: usize,
}

impl Tally {
    fn add(&mut self, record: &Record<'_>) {
        match record {
            Record::OnCpu(sample) => {
                self.threads.insert(sample.thread.id.0);
                self.sampled += sample.weight;
                self.kernel += u64::from(!sample.stack.kernel.is_empty());
                self.user_frames += sample.stack.user.len();
            }
            Record::OffCpu(wait) => {
                self.threads.insert(wait.thread.id.0);
                self.waits += 1;
                match wait.leaving {
                    Leaving::Blocked => self.blocked += wait.duration(),
                    Leaving::Preempted => self.preempted += wait.duration(),
                    Leaving::Unknown => self.unknown += wait.duration(),
                }
            }
            Record::Mapped(_) => self.mapped += 1,
            _ => {}
        }
    }
}
