//! What taking a heap costs: how long the process stands still, how much memory it takes in it and in us, and whether both
//! grow with the heap alone. Each way alternates with the runtime's own heap events in the same process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed};

use crate::cargo::{built, cargo};
use crate::measure::{Ratios, Times};

const ROUNDS: usize = 5;
const MILLIONS: [u32; 3] = [1, 3, 10];
/// What a walk may take for a million objects with all references, and what other ways may take of the runtime's own.
const WALK: Duration = Duration::from_millis(40);
const OF_THE_RUNTIME: f64 = 1.3;
/// Most bytes of our memory for an object, and most by which the target's may grow.
const BYTES: f64 = 60.0;
const GROWTH: u64 = 16 << 20;

/// One heap that was taken.
struct Sample {
    objects: f64,
    pause: Duration,
    elapsed: Duration,
    /// Bytes of our own memory, at the peak, for each object.
    bytes: f64,
    /// Bytes by which the target's memory grew, at the peak.
    growth: u64,
}

/// Measures all of it.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "heap-collector", "--example", "take"])?;
    let tool = built("release/examples/take");
    let testbed = Testbed::open()?;
    for (runtime, way) in [
        (Runtime::Net10, "walk"),
        (Runtime::Net9, "walk"),
        (Runtime::Net8, "agent-events"),
        (Runtime::Net31, "events"),
    ] {
        testbed.prepare(&[runtime])?;
        for millions in MILLIONS {
            let cells = format!("cells={}", u64::from(millions) * 1_000_000);
            let target = testbed
                .target("known-heap", runtime)
                .arg(cells)
                .ready_within(Duration::from_secs(300))
                .start()?;
            compare(&tool, &target, way, millions)?;
        }
    }
    Ok(())
}

fn compare(tool: &Path, target: &Target, way: &str, millions: u32) -> Result<()> {
    let (mut ours, mut theirs, mut ratios) = (Times::default(), Times::default(), Ratios::default());
    let (mut elapsed, mut bytes, mut growth) = (Times::default(), 0.0_f64, 0);
    for _ in 0..ROUNDS {
        let own = take(tool, target, way)?;
        ensure!(own.objects >= f64::from(millions) * 1e6, "{} objects", own.objects);
        ours.push(own.pause.div_f64(own.objects / 1e6));
        elapsed.push(own.elapsed);
        (bytes, growth) = (bytes.max(own.bytes), growth.max(own.growth));
        if way != "events" {
            let events = take(tool, target, "events")?;
            theirs.push(events.pause.div_f64(events.objects / 1e6));
            ratios.push(own.pause, events.pause);
        }
    }
    let name = format!(".NET {}, {millions} million objects, {way}", target.runtime());
    println!("  {name}: pause for a million: {ours}");
    if way != "events" {
        println!("  {name}: the runtime's own events: {theirs}; ours are {ratios} of that");
    }
    println!(
        "  {name}: all of it: {elapsed}; {bytes:.0} bytes of ours for an object; target +{} MB",
        growth >> 20
    );
    match way {
        "walk" => claim(&format!("{WALK:?} for a million objects"), ours.median() < WALK),
        _ => claim(
            &format!("{OF_THE_RUNTIME} times the runtime's own pause"),
            way == "events" || ours.median() < theirs.median().mul_f64(OF_THE_RUNTIME),
        ),
    }
    claim(&format!("{BYTES} bytes for an object"), bytes < BYTES);
    claim(&format!("{} MB in the target", GROWTH >> 20), growth <= GROWTH);
    Ok(())
}

fn claim(what: &str, holds: bool) {
    println!("  claim of {what} {}", if holds { "holds" } else { "DOES NOT HOLD" });
}

fn take(tool: &Path, target: &Target, way: &str) -> Result<Sample> {
    // The kernel forgets the peak of the target's memory.
    std::fs::write(format!("/proc/{}/clear_refs", target.pid()), "5")?;
    let before = memory(target, "VmRSS:")?;
    let output = Command::new(tool).args([&target.pid().to_string(), way]).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "take: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<u64> =
        text.split_whitespace().map(|word| word.parse().context("a number")).collect::<Result<_>>()?;
    let [objects, _, pause, elapsed, peak] = numbers[..] else { anyhow::bail!("take said: {text}") };
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (objects, peak) = (objects as f64, (peak << 20) as f64);
    Ok(Sample {
        objects,
        pause: Duration::from_nanos(pause),
        elapsed: Duration::from_nanos(elapsed),
        bytes: peak / objects.max(1.0),
        growth: memory(target, "VmHWM:")?.saturating_sub(before),
    })
}

/// A line of the process's status, in bytes.
fn memory(target: &Target, key: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid()))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).context("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
