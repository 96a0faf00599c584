//! `drdotnet trace collect` on a busy web server: what the tool takes, and what the server loses compared with a session
//! that is only read and thrown away.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use diagnostics_ipc::TraceRequest;
use discovery::{Options, find};
use model::ProcessId;
use testbed::{Runtime, Target, Testbed};
use trace_recording::{Asked, Selection};

use crate::cargo::{built, cargo};
use crate::measure::{Ratios, Times};

const ROUNDS: usize = 8;
const WINDOW: Duration = Duration::from_secs(5);
/// Connections that ask one request after the other.
const CLIENTS: usize = 2;
const REQUEST: &[u8] = b"GET /headlines HTTP/1.1\r\nHost: localhost\r\n\r\n";
/// What is claimed.
const MOST_CPU: f64 = 0.02;
const MOST_MEMORY: u64 = 15_000_000;

/// What one window showed.
struct Window {
    /// Requests that were answered.
    requests: u64,
    /// Processor time of the tool per second.
    cpu: Duration,
    /// The most memory the tool ever had.
    memory: u64,
}

/// Measures windows in turns: recorded, kept by the flight recorder, read and thrown away, left alone.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let target = testbed.target("healthy-busy-web", Runtime::Net9).start()?;
    let port: u16 = target.value_of("port").context("a port")?.parse()?;
    let (mut recording, mut flight) = (Times::default(), Times::default());
    let (mut against_reading, mut against_nothing, mut reading_against_nothing) =
        (Ratios::default(), Ratios::default(), Ratios::default());
    let (mut memory, mut flight_memory) = (0, 0);
    for _ in 0..ROUNDS {
        let recorded = recorded(&tool, &target, port, &[])?;
        let read = read_and_thrown_away(&target, port)?;
        let alone = ask(port)?;
        let kept = self::recorded(&tool, &target, port, &["--keep", "60s"])?;
        recording.push(recorded.cpu);
        flight.push(kept.cpu);
        memory = memory.max(recorded.memory);
        flight_memory = flight_memory.max(kept.memory);
        against_reading.push(rate(recorded.requests), rate(read));
        against_nothing.push(rate(recorded.requests), rate(alone));
        reading_against_nothing.push(rate(read), rate(alone));
    }
    println!("  recording the default profiles, CPU of the tool per second: {recording}");
    println!("  the same with --keep 60s: {flight}");
    println!("  peak memory of the tool: {:.1} MB, with --keep 60s {:.1} MB", mb(memory), mb(flight_memory));
    println!("  requests while recorded, against a session that is read and thrown away: {against_reading}");
    println!("  requests while recorded, against no session: {against_nothing}");
    println!(
        "  requests with a session that is read and thrown away, against none: {reading_against_nothing}"
    );
    let claim = recording.median().as_secs_f64() < MOST_CPU && memory < MOST_MEMORY;
    println!("  claim {}", if claim { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A number of requests as a time, to be compared with another one.
fn rate(requests: u64) -> Duration {
    Duration::from_micros(requests)
}

/// Asks for pages for a while; how many came.
fn ask(port: u16) -> Result<u64> {
    let (count, over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(|| client(port, &count, &over))).collect();
        std::thread::sleep(WINDOW);
        over.store(true, Ordering::Release);
        clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| anyhow::anyhow!("a client panicked"))?)
    })?;
    Ok(count.load(Ordering::Relaxed))
}

fn client(port: u16, count: &AtomicU64, over: &AtomicBool) -> Result<()> {
    let mut connection = TcpStream::connect(("127.0.0.1", port))?;
    connection.set_nodelay(true)?;
    let mut answer = [0; 8 << 10];
    while !over.load(Ordering::Acquire) {
        connection.write_all(REQUEST)?;
        let mut have = 0;
        while !is_whole(answer.get(..have).unwrap_or_default()) {
            let received = connection.read(answer.get_mut(have..).unwrap_or_default())?;
            ensure!(received > 0, "the server hung up");
            have += received;
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether an answer has its head and the body that it promises.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    length.is_some_and(|length: usize| body.len() >= length)
}

/// A window in which the tool records.
fn recorded(tool: &Path, target: &Target, port: u16, options: &[&str]) -> Result<Window> {
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
        let requests = ask(port)?;
        let cpu = (cpu_of(recording.id())? - used).as_secs_f64() / before.elapsed().as_secs_f64();
        Ok(Window { requests, cpu: Duration::from_secs_f64(cpu), memory: peak_of(recording.id())? })
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
fn read_and_thrown_away(target: &Target, port: u16) -> Result<u64> {
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
    let requests = ask(port);
    client.with_timeout(Duration::from_secs(60)).stop_tracing(session)?;
    reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))?;
    requests
}

/// Processor time of all threads together.
fn cpu_of(pid: u32) -> Result<Duration> {
    let mut total = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        total += text.split(' ').next().context("schedstat")?.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(total))
}

/// The most memory it ever had.
fn peak_of(pid: u32) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
