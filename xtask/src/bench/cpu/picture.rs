//! From stop to flame graph, against `perf record`, `perf script` and folding.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use inferno::collapse::Collapse;
use testbed::{Runtime, Testbed};

use super::profiled::{Kept, Profiled, Profiler, has_perf};
use super::work::Work;
use crate::cargo::{built, cargo};

const RATE: u32 = 999;
const WINDOW: Duration = Duration::from_secs(30);
const ROUNDS: usize = 3;
/// What is claimed.
const MOST: Duration = Duration::from_secs(1);
const TIMES_FASTER: f64 = 5.0;

/// 30 s at 999 Hz of a busy server, by both.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let mut work = Work::serving(&testbed)?;
    let mut holds = true;
    for _ in 0..ROUNDS {
        let profiled = Profiled::begin(Profiler::Ours, &tool, work.target.pid(), RATE)?;
        work.rate(WINDOW)?;
        let stopped_at = SystemTime::now();
        let (ended, kept) = profiled.end()?;
        // The picture is the first file of all; the samples, the report and their way to the disk's plates come after it.
        let drawn_at = std::fs::metadata(kept.session().join("flamegraph.html"))?.modified()?;
        let ours = drawn_at.duration_since(stopped_at)?;
        println!(
            "  drdotnet cpu: picture after {:.2} s, all kept and ended after {:.2} s; {} of managed frames unnamed",
            ours.as_secs_f64(),
            ended.as_secs_f64(),
            unnamed_of_ours(&kept)?
        );
        holds &= ended < MOST;
        if !has_perf() {
            println!("  perf is not installed: nothing to compare with");
            continue;
        }
        let profiled = Profiled::begin(Profiler::Perf, &tool, work.target.pid(), RATE)?;
        work.rate(WINDOW)?;
        let (stopped, kept) = profiled.end()?;
        let begin = Instant::now();
        let folded = kept.perf_data().with_extension("folded");
        fold(&kept.perf_data(), &folded)?;
        draw(&folded)?;
        let perf = stopped + begin.elapsed();
        let (named, frames) = managed(&std::fs::read_to_string(&folded)?);
        println!(
            "  perf record, perf script, fold, draw: {:.2} s; {named} of {frames} managed frames named",
            perf.as_secs_f64()
        );
        let faster = perf.as_secs_f64() / ours.as_secs_f64().max(1e-3);
        println!("  x{faster:.1} faster");
        holds &= faster > TIMES_FASTER;
    }
    println!("  claim {}", if holds { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

/// `perf script`, folded.
fn fold(data: &Path, folded: &Path) -> Result<()> {
    let mut script = Command::new("perf")
        .args(["script", "-i"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let text = script.stdout.take().context("its output")?;
    let mut options = inferno::collapse::perf::Options::default();
    options.nthreads = 1;
    // Names of modules tell managed frames from others.
    options.annotate_jit = true;
    let mut folder = inferno::collapse::perf::Folder::from(options);
    folder.collapse(BufReader::new(text), BufWriter::new(File::create(folded)?))?;
    ensure!(script.wait()?.success(), "perf script failed");
    Ok(())
}

fn draw(folded: &Path) -> Result<()> {
    let svg = BufWriter::new(File::create(folded.with_extension("svg"))?);
    let lines = BufReader::new(File::open(folded)?);
    inferno::flamegraph::from_reader(&mut inferno::flamegraph::Options::default(), lines, svg)?;
    Ok(())
}

/// Managed frames of perf's folded stacks, weighed: those with a name, and all. Code that the runtime made lies in
/// `memfd:doublemapper`, that of the framework in its assemblies.
fn managed(folded: &str) -> (u64, u64) {
    let (mut named, mut all) = (0, 0);
    for line in folded.lines() {
        let Some((stack, count)) = line.rsplit_once(' ') else { continue };
        let count: u64 = count.parse().unwrap_or(0);
        for frame in stack.split(';') {
            let nameless = frame.contains("doublemapper") || frame.contains(".dll");
            if nameless || frame.contains("::") && frame.ends_with("_[j]") {
                all += count;
                named += if nameless { 0 } else { count };
            }
        }
    }
    (named, all)
}

/// What part of managed frames has no name in ours, as its report says it.
fn unnamed_of_ours(kept: &Kept) -> Result<String> {
    let report = std::fs::read_to_string(kept.session().join("report.json"))?;
    let (before, _) = report.split_once(" of .NET frames").context("the report has no word on names")?;
    Ok(before.rsplit_once('"').map_or(before, |(_, words)| words).to_owned())
}
