//! A program's time and the most memory it had.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// What a run took.
pub struct Measured {
    /// By the clock.
    pub time: Duration,
    /// Of the processor, by its first thread.
    pub cpu: Duration,
    /// The most memory it had, in bytes.
    pub peak: u64,
}

/// Runs a program to its end. It is looked at every millisecond; the kernel keeps the peak and the time.
pub fn run_measured(command: &mut Command) -> Result<Measured> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let schedule = format!("/proc/{}/schedstat", child.id());
    let (mut peak, mut cpu) = (0, 0);
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        let text = std::fs::read_to_string(&schedule).unwrap_or_default();
        cpu = cpu.max(text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let time = start.elapsed();
    ensure!(ended.success(), "{command:?}: {ended}");
    Ok(Measured { time, cpu: Duration::from_nanos(cpu), peak })
}

/// Bytes as whole megabytes.
pub fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}
