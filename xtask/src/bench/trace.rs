//! Traces: how fast they are decoded and converted, and in how much memory.

mod long_trace;
mod measured;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use testbed::{Runtime, Testbed};

use crate::cargo::{cargo, root};
use crate::measure::{Ratios, Times};
use measured::{megabytes, run_measured};

const ROUNDS: usize = 7;
const MB: u64 = 1_000_000;
/// How long the real program is recorded.
const RECORDING: &str = "30";

/// Decoding claims at least this.
const EVENTS_PER_SECOND: f64 = 10e6;
const DECODE_MEMORY: u64 = 32 * MB;
const CONVERT_TIME: Duration = Duration::from_secs(3);
const CONVERT_MEMORY: u64 = 150 * MB;

/// Decodes traces of 10, 100 and 500 MB.
pub fn decode() -> Result<()> {
    let traces = Traces::record()?;
    let decoder = example("decode")?;
    let mut holds = true;
    for size in [10, 100, 500] {
        let file = traces.of_size(size * MB)?;
        let (mut times, mut cpu, mut ratios, mut peak) =
            (Times::default(), Times::default(), Ratios::default(), 0);
        let mut facts = Facts::default();
        for _ in 0..ROUNDS {
            facts = facts_of(&decoder, "decode", &file)?;
            times.push(facts.time);
            cpu.push(facts.cpu);
            ratios.push(facts.cpu, facts_of(&decoder, "read", &file)?.cpu);
            peak = peak.max(facts.peak);
        }
        // Of the processor's time: the claim is about one core, and others may use the machine.
        let rate = facts.events as f64 / cpu.median().as_secs_f64();
        let speed = facts.bytes as f64 / cpu.median().as_secs_f64() / 1e6;
        println!(
            "  {size} MB, {:.1} million events: {:.1} million events/s, {speed:.0} MB/s, peak {} MB",
            facts.events as f64 / 1e6,
            rate / 1e6,
            megabytes(peak)
        );
        println!("    CPU time {cpu}; against only reading the file: {ratios}");
        println!("    by the clock {times}");
        holds &= rate >= EVENTS_PER_SECOND && peak < DECODE_MEMORY;
    }
    println!("  claim {}", if holds { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

/// Converts a trace of 100 MB to Speedscope, and to the other formats for comparison.
pub fn convert() -> Result<()> {
    let traces = Traces::record()?;
    let decoder = example("decode")?;
    let file = traces.of_size(100 * MB)?;
    let output = traces.folder.path().join("out");
    let mut holds = true;
    for format in ["speedscope", "chromium", "firefox", "folded", "flamegraph", "pprof"] {
        let rounds = if format == "speedscope" { ROUNDS } else { 3 };
        let (mut times, mut cpu, mut ratios, mut peak) =
            (Times::default(), Times::default(), Ratios::default(), 0);
        for _ in 0..rounds {
            let mut command = Command::new(&traces.tool);
            command.args(["trace", "convert", "--format", format, "-o"]).arg(&output).arg(&file);
            let measured = run_measured(&mut command)?;
            times.push(measured.time);
            cpu.push(measured.cpu);
            ratios.push(measured.cpu, facts_of(&decoder, "decode", &file)?.cpu);
            peak = peak.max(measured.peak);
        }
        println!(
            "  100 MB to {format}: {times}, peak {} MB; against only decoding it: {ratios}",
            megabytes(peak)
        );
        if format == "speedscope" {
            holds = cpu.median() < CONVERT_TIME && peak < CONVERT_MEMORY;
        }
    }
    println!("  claim {}", if holds { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

/// A real recording, and longer ones made of it.
struct Traces {
    tool: PathBuf,
    folder: TempDir,
    recording: Vec<u8>,
}

impl Traces {
    fn record() -> Result<Traces> {
        cargo(["build", "--release", "--package", "cli"])?;
        let tool = target_folder().join("release/drdotnet");
        let testbed = Testbed::open()?;
        let busy = testbed.target("healthy-busy-web", Runtime::Net9).start()?;
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("recording.nettrace");
        println!("  recording a busy web server for {RECORDING} s");
        let output = Command::new(&tool)
            .args(["trace", "collect", "-p", &busy.pid().to_string(), "--duration", RECORDING])
            .args([
                "--providers",
                "Microsoft-Windows-DotNETRuntime:0x1C019:5,Microsoft-DotNETCore-SampleProfiler",
            ])
            .arg("-o")
            .arg(&file)
            .stdin(Stdio::null())
            .output()?;
        ensure!(output.status.success(), "recording failed: {}", String::from_utf8_lossy(&output.stderr));
        let recording = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        println!(
            "  {:.1} MB were recorded; longer traces repeat it with later times",
            recording.len() as f64 / 1e6
        );
        Ok(Traces { tool, folder, recording })
    }

    fn of_size(&self, bytes: u64) -> Result<PathBuf> {
        let path = self.folder.path().join("long.nettrace");
        let file = std::fs::File::create(&path)?;
        long_trace::write(&self.recording, bytes, std::io::BufWriter::new(file))?;
        Ok(path)
    }
}

/// What the example `decode` says of a run.
#[derive(Default)]
struct Facts {
    /// By the clock.
    time: Duration,
    /// Of the processor.
    cpu: Duration,
    events: u64,
    bytes: u64,
    peak: u64,
}

fn facts_of(example: &Path, what: &str, file: &Path) -> Result<Facts> {
    let output = Command::new(example).arg(what).arg(file).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let number = |name: &str| -> Result<u64> {
        let word = text.split(' ').find_map(|word| word.trim().strip_prefix(&format!("{name}=")));
        Ok(word.with_context(|| format!("no {name} in {text}"))?.parse()?)
    };
    let (time, cpu) = (Duration::from_nanos(number("ns")?), Duration::from_nanos(number("cpu")?));
    Ok(Facts { time, cpu, events: number("events")?, bytes: number("bytes")?, peak: number("peak")? })
}

fn example(name: &str) -> Result<PathBuf> {
    cargo(["build", "--release", "--package", "trace-views", "--example", name])?;
    Ok(target_folder().join("release/examples").join(name))
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
