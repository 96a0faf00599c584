//! What taking in samples costs: a process of its own, so that nothing else is in the count.

use std::time::{Duration, Instant};

use crate::support::{LONG, Subject, may_watch};
use kernel_profile::{Intake, Names};
use native_symbols::KernelNames;
use perf_sampler::{Options, Record, Sampler, Scope, Timestamp};
use testbed::Runtime;

/// A third of 30 seconds at 999 Hz on two busy cores.
const SAMPLES: u64 = 20_000;
/// For all of them it would be 20 MB; libraries and their tables are there from the start.
const MOST_BYTES: u64 = 12 << 20;

/// Memory of this process that is not a file's or shared with the kernel.
fn own_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("it can be read");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line of it");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn taking_in_samples_needs_little_memory() {
    if !may_watch() || !testbed::alone("memory::taking_in_samples_needs_little_memory") {
        return;
    }
    let subject = Subject::start("healthy-busy-aspnet", Runtime::Net9);
    let code = subject.code();
    let options = Options { rate_hz: 4999, ..Options::new(Scope::process(subject.pid())) };
    let mut sampler = Sampler::start(&options).unwrap();
    let before = own_memory();
    let mut intake = Intake::new(127);
    intake.follow(subject.pid());
    let followed = own_memory();
    let started = sampler.started();
    let (mut samples, mut spent) = (0, Duration::ZERO);
    while samples < SAMPLES && Timestamp::now().since(started) < LONG {
        sampler.wait(Duration::from_millis(20)).unwrap();
        let begun = Instant::now();
        sampler.read(&mut |record| {
            samples += u64::from(matches!(record, Record::OnCpu(_)));
            intake.take(record);
        });
        spent += begun.elapsed();
    }
    let grown = own_memory().saturating_sub(before);
    let libraries = followed.saturating_sub(before);
    println!("{samples} samples: {} KB more, {} KB of them for libraries", grown >> 10, libraries >> 10);
    println!("{:?} for each", spent / u32::try_from(samples).unwrap());
    assert!(grown < MOST_BYTES, "{grown} bytes for {samples} samples, {libraries} of them for libraries");
    let ended = sampler.finish(&mut |record| intake.take(record)).ended;
    let map = code.end();
    let kernel = KernelNames::of_this_machine().ok();
    let names = Names { code: &map, kernel: kernel.as_ref(), debug_cache: None };
    for _ in 0..2 {
        let begun = Instant::now();
        let since = Timestamp(ended.0.saturating_sub(1_000_000_000));
        let last = intake.snapshot(subject.pid(), &names, since, ended).unwrap();
        println!("{} samples of the last second: {:?}", last.on_cpu.samples.len(), begun.elapsed());
    }
    let (begun, before) = (Instant::now(), own_memory());
    let profiles = intake.finish(subject.pid(), &names, started, ended).unwrap();
    let (took, grown) = (begun.elapsed(), own_memory().saturating_sub(before));
    let (nodes, methods) = (profiles.on_cpu.nodes.len(), map.naming().methods);
    println!("{nodes} nodes, {methods} methods known: {took:?}, {} KB", grown >> 10);
    assert!(profiles.on_cpu.samples.len() as u64 >= samples);
}
