//! What collecting a heap costs a process: how long it stands still, and how much more memory it takes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Testbed};

use crate::cargo::{cargo, root};

/// Heaps that differ in what they are made of: small linked objects, and few large ones.
const HEAPS: &[(&str, &str, &str)] = &[
    ("small objects", "long-gc-pauses", "objects=2000000"),
    ("large objects", "leak-event-handlers", "rate=400"),
];

/// Collects from each runtime and prints the figures.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let tool = folder.join("release/drdotnet");
    let testbed = Testbed::open()?;
    let place = tempfile::tempdir()?;
    for runtime in Runtime::ALL {
        testbed.prepare(&[runtime])?;
        for (name, patient, argument) in HEAPS {
            let target = testbed.target(patient, runtime).arg(argument).start()?;
            let before = memory(target.pid(), "VmHWM:")?;
            let resident = memory(target.pid(), "VmRSS:")?;
            let answer = collect(&tool, target.pid(), &place.path().join("heap.gcdump"))?;
            let more = memory(target.pid(), "VmHWM:")?.saturating_sub(before);
            let number = |key: &str| number(&answer, key);
            let (objects, pause, heap) = (number("objects")?, number("pause_ns")?, number("heap_bytes")?);
            println!(
                "  .NET {runtime}, {name}: {objects} objects, {} MB heap, {} MB resident: pause {:.0} ms \
                 ({:.0} ns per object, {:.2} ms per MB resident), done in {:.1} s, target's peak +{} MB",
                heap >> 20,
                resident >> 20,
                millis(pause),
                ratio(pause, objects),
                ratio(pause, resident) * f64::from(1 << 20) / 1e6,
                millis(number("elapsed_ns")?) / 1e3,
                more >> 20
            );
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn millis(nanos: u64) -> f64 {
    ratio(nanos, 1_000_000)
}

fn collect(tool: &Path, pid: u32, file: &Path) -> Result<String> {
    let mut command = Command::new(tool);
    command.args(["gcdump", "collect", "--json", "-p", &pid.to_string(), "-o"]).arg(file);
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A number in a flat JSON text.
fn number(json: &str, key: &str) -> Result<u64> {
    let (_, rest) = json.split_once(&format!("\"{key}\": ")).with_context(|| format!("no {key}: {json}"))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().with_context(|| format!("{key} is no number: {json}"))
}

/// A line of the process's status, in bytes.
fn memory(pid: u32, key: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).context("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
