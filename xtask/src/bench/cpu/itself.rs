//! What the profiler itself takes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::{Runtime, Testbed};

use super::profiled::{Profiled, Profiler};
use super::work::Work;
use crate::bench::recording::{cpu_of, peak_of};
use crate::cargo::{built, cargo};

/// As long as a user's usual run.
const FAST: (u32, Duration) = (999, Duration::from_secs(30));
const SLOW: (u32, Duration) = (99, Duration::from_secs(60));
/// What is claimed.
const MOST_CPU: f64 = 0.02;
const MOST_MEMORY: u64 = 50_000_000;
const MOST_DISK: u64 = 2_000_000;

/// 999 Hz for 30 s and 99 Hz for 60 s, on busy processors, with two threads and with 200.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let mut holds = true;
    let works: [&dyn Fn() -> Result<Work>; 3] =
        [&|| Work::computing(&testbed, 2, 0), &|| Work::computing(&testbed, 200, 0), &|| {
            Work::serving(&testbed)
        }];
    for work in works {
        let mut work = work()?;
        for (rate, time) in [FAST, SLOW] {
            let profiled = Profiled::begin(Profiler::Ours, &tool, work.target.pid(), rate)?;
            let (before, used) = (Instant::now(), cpu_of(profiled.id())?);
            work.rate(time)?;
            let cpu = (cpu_of(profiled.id())? - used).as_secs_f64() / before.elapsed().as_secs_f64();
            let running = peak_of(profiled.id())?;
            let (took, kept) = profiled.end()?;
            let session = kept.session();
            let disk = std::fs::metadata(session.join("profile.drprof")).context("profile.drprof")?.len();
            let report = std::fs::read_to_string(session.join("report.json"))?;
            let peak = number(&report, "peak_memory_bytes");
            let lost = number(&report, "events_lost");
            println!(
                "  {}, {rate} Hz for {} s: {:.2} % of a core, {:.1} MB while it records, {:.1} MB at the end, {} lost, profile {:.2} MB, ended in {:.2} s",
                work.name(),
                time.as_secs(),
                cpu * 100.0,
                mb(running),
                mb(peak),
                lost,
                mb(disk),
                took.as_secs_f64()
            );
            holds &= peak < MOST_MEMORY && running < MOST_MEMORY && lost == 0;
            holds &= if (rate, time) == FAST { cpu < MOST_CPU } else { disk < MOST_DISK };
        }
    }
    println!("  claim {}", if holds { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

/// A number in JSON, by its name.
pub(super) fn number(json: &str, name: &str) -> u64 {
    let behind = json.split_once(&format!("\"{name}\":")).map_or("", |(_, behind)| behind);
    let digits: String = behind.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
pub(super) fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
