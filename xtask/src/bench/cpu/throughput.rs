//! What a program loses while it is profiled.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use testbed::{Runtime, Testbed};

use super::profiled::{Profiled, Profiler, has_perf};
use super::work::Work;
use crate::cargo::{built, cargo};
use crate::measure::Loss;

/// A computing program is steady; a web server and its clients on the same cores are not, and take more pairs.
const ROUNDS: [usize; 2] = [10, 30];
const WINDOW: Duration = Duration::from_secs(2);
/// Rates, and what a program may lose at most, in per cent.
const CLAIMS: [(u32, f64); 2] = [(99, 0.5), (999, 2.0)];

/// Windows of one running program in turns: alone, with ours, alone, with perf, alone. Each profiled window is held
/// against the mean of its neighbours.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let peers: &[Profiler] = if has_perf() { &[Profiler::Ours, Profiler::Perf] } else { &[Profiler::Ours] };
    if peers.len() == 1 {
        println!("  perf is not installed: nothing to compare with");
    }
    // One after the other: each alone on the machine.
    let works: [&dyn Fn() -> Result<Work>; 2] =
        [&|| Work::computing(&testbed, 2, 0), &|| Work::serving(&testbed)];
    for (work, rounds) in works.into_iter().zip(ROUNDS) {
        let mut work = work()?;
        for (rate, most) in CLAIMS {
            let losses = measure(&mut work, &tool, rate, peers, rounds)?;
            for (profiler, loss) in peers.iter().zip(&losses) {
                println!("  {}, {rate} Hz, {}: {loss}", work.name(), profiler.name());
            }
            let ours = losses.first().map_or(f64::NAN, Loss::percent);
            println!("  claim of under {most} % {}", if ours < most { "holds" } else { "DOES NOT HOLD" });
        }
    }
    Ok(())
}

fn measure(work: &mut Work, tool: &Path, rate: u32, peers: &[Profiler], rounds: usize) -> Result<Vec<Loss>> {
    let mut losses: Vec<Loss> = peers.iter().map(|_| Loss::default()).collect();
    let mut alone = work.rate(WINDOW)?;
    for _ in 0..rounds {
        for (profiler, loss) in peers.iter().zip(&mut losses) {
            let profiled = Profiled::begin(*profiler, tool, work.target.pid(), rate)?;
            let with = work.rate(WINDOW);
            profiled.end()?;
            let after = work.rate(WINDOW)?;
            loss.push(with?, (alone + after) / 2.0);
            alone = after;
        }
    }
    Ok(losses)
}
