//! `drdotnet trace collect` on a busy web server: what the tool takes, and what the server loses compared with a session
//! that is only read and thrown away.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diagnostics_ipc::TraceRequest;
use discovery::{Options, find};
use model::ProcessId;
use process_view::{Clock, Process};
use testbed::{Runtime, Target, Testbed, Visitors};
use trace_recording::{Asked, Selection};

use crate::cargo::{built, cargo};
use crate::measure::{Ratios, Times};

const ROUNDS: usize = 20;
const WINDOW: Duration = Duration::from_secs(3);
/// Connections that ask one request after the other.
const CLIENTS: usize = 2;
/// What is claimed.
const MOST_CPU: f64 = 0.02;
const MOST_MEMORY: u64 = 15_000_000;

/// What a window showed of the server.
struct Served {
    /// Requests that were answered.
    requests: u64,
    /// Requests that were answered per second of its own processor time, which says what each of them cost, also on a
    /// machine that has other things to do.
    per_cpu: Duration,
}

/// What a window showed of the tool.
struct Taken {
    /// Processor time per second.
    cpu: Duration,
    /// The most memory it ever had.
    memory: u64,
}

/// Requests with one thing against requests with another.
#[derive(Default)]
struct Comparison {
    requests: Ratios,
    per_cpu: Ratios,
}

impl Comparison {
    fn push(&mut self, with: &Served, without: &Served) {
        self.requests.push(Duration::from_micros(with.requests), Duration::from_micros(without.requests));
        self.per_cpu.push(with.per_cpu, without.per_cpu);
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "requests {}, requests per CPU second {}", self.requests, self.per_cpu)
    }
}

/// Measures windows in turns: recorded, read and thrown away, left alone, kept by the flight recorder; every second
/// round the other way round, so that no one of them always has the better moment.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let target = testbed.target("healthy-busy-web", Runtime::Net9).start()?;
    let (mut recording, mut flight) = (Times::default(), Times::default());
    let (mut memory, mut flight_memory) = (0, 0);
    let (mut against_reading, mut reading) = (Comparison::default(), Comparison::default());
    for round in 0..ROUNDS {
        let (recorded, read, alone) = if round % 2 == 0 {
            let recorded = recorded(&tool, &target, &[])?;
            let read = read_and_thrown_away(&target)?;
            (recorded, read, ask(&target)?)
        } else {
            let alone = ask(&target)?;
            let read = read_and_thrown_away(&target)?;
            (recorded(&tool, &target, &[])?, read, alone)
        };
        against_reading.push(&recorded.0, &read);
        reading.push(&read, &alone);
        recording.push(recorded.1.cpu);
        memory = memory.max(recorded.1.memory);
        let (_, kept) = self::recorded(&tool, &target, &["--keep", "60s"])?;
        flight.push(kept.cpu);
        flight_memory = flight_memory.max(kept.memory);
    }
    println!("  recording the default profiles, CPU of the tool per second: {recording}");
    println!("  the same with --keep 60s: {flight}");
    println!("  peak memory of the tool: {:.1} MB, with --keep 60s {:.1} MB", mb(memory), mb(flight_memory));
    println!("  recorded, against the same session read and thrown away: {against_reading}");
    println!("  for scale, that session against none: {reading}");
    let claim = recording.median().as_secs_f64() < MOST_CPU && memory < MOST_MEMORY;
    println!("  claim {}", if claim { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Asks for pages for a while; how many came.
fn ask(target: &Target) -> Result<Served> {
    let port: u16 = target.value_of("port").context("a port")?.parse()?;
    let used = cpu_of(target.pid())?;
    let visitors = Visitors::come(CLIENTS, port, "/headlines");
    std::thread::sleep(WINDOW);
    let requests = visitors.leave()?;
    let cpu = cpu_of(target.pid())?.saturating_sub(used);
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let per_cpu = Duration::from_secs_f64(requests as f64 / 1e6 / cpu.as_secs_f64().max(1e-3));
    Ok(Served { requests, per_cpu })
}

/// A window in which the tool records.
fn recorded(tool: &Path, target: &Target, options: &[&str]) -> Result<(Served, Taken)> {
    let folder = tempfile::tempdir()?;
    let mut recording = Command::new(tool)
        .args(["trace", "collect", "-p", &target.pid().to_string(), "-o"])
        .arg(folder.path().join("a.nettrace"))
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let begun = wait_until_it_writes(&recording);
    let measured = begun.and_then(|()| {
        let (before, used) = (Instant::now(), cpu_of(recording.id())?);
        let served = ask(target)?;
        let cpu = (cpu_of(recording.id())? - used).as_secs_f64() / before.elapsed().as_secs_f64();
        Ok((served, Taken { cpu: Duration::from_secs_f64(cpu), memory: peak_of(recording.id())? }))
    });
    Command::new("kill").args(["-INT", &recording.id().to_string()]).status()?;
    let status = recording.wait()?;
    let window = measured?;
    ensure!(status.success(), "drdotnet: {status}");
    Ok(window)
}

fn wait_until_it_writes(recording: &Child) -> Result<()> {
    let begin = Instant::now();
    loop {
        let io = std::fs::read_to_string(format!("/proc/{}/io", recording.id())).unwrap_or_default();
        let written = io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse::<u64>().ok());
        if written.is_some_and(|bytes| bytes > 20_000) {
            return Ok(());
        }
        ensure!(begin.elapsed() < Duration::from_secs(60), "drdotnet does not record");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A window with the same session, of which every byte is read at once and forgotten.
fn read_and_thrown_away(target: &Target) -> Result<Served> {
    let process = find(ProcessId(target.pid()), &Options { timeout: Duration::from_secs(10) })?;
    let client = process.client().context("a socket")?;
    let request = TraceRequest::new(256, Selection::new(&Asked::default())?.requested());
    let (mut stream, _) = client.collect_tracing(&request)?;
    let session = stream.session;
    let begun = Arc::new(AtomicBool::new(false));
    let has_begun = Arc::clone(&begun);
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 64 << 10];
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
            has_begun.store(true, Ordering::Release);
        }
    });
    while !begun.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let served = ask(target);
    client.with_timeout(Duration::from_secs(60)).stop_tracing(session)?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?;
    served
}

/// Processor time of all threads together, those that have ended among them.
pub(super) fn cpu_of(pid: u32) -> Result<Duration> {
    let stat = Process::new(ProcessId(pid)).stat()?;
    Ok(Clock::now().duration(stat.user_ticks + stat.system_ticks))
}

/// The most memory it ever had.
pub(super) fn peak_of(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
