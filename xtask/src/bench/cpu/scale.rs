//! How costs grow: with samples, and not with methods that were never sampled.

use std::time::{Duration, Instant};

use anyhow::Result;
use testbed::{Runtime, Testbed};

use super::profiled::{Profiled, Profiler};
use super::work::Work;
use crate::bench::recording::{cpu_of, peak_of};
use crate::cargo::{built, cargo};

const RATE: u32 = 999;
const METHODS: [usize; 2] = [1_000, 50_000];
const WINDOWS: [u64; 3] = [5, 10, 20];

/// Two busy threads, 1,000 and 50,000 compiled methods that nobody calls, windows of 5, 10 and 20 s.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    for methods in METHODS {
        let mut work = Work::computing(&testbed, 2, methods)?;
        for seconds in WINDOWS {
            let begin = Instant::now();
            let profiled = Profiled::begin(Profiler::Ours, &tool, work.target.pid(), RATE)?;
            let (began, at_begin) = (begin.elapsed(), cpu_of(profiled.id())?);
            work.rate(Duration::from_secs(seconds))?;
            let sampling = cpu_of(profiled.id())?.saturating_sub(at_begin);
            let memory = peak_of(profiled.id())?;
            let (ended, _) = profiled.end()?;
            println!(
                "  {methods} methods, {seconds} s: begins after {:.2} s ({:.0} ms of CPU), samples with {:.0} ms of CPU, ends in {:.2} s, {:.1} MB",
                began.as_secs_f64(),
                at_begin.as_secs_f64() * 1e3,
                sampling.as_secs_f64() * 1e3,
                ended.as_secs_f64(),
                super::itself::mb(memory)
            );
        }
    }
    Ok(())
}
