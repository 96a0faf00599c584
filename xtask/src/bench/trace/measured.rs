//! A program's time and the most memory it had.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Runs a program to its end. Memory is looked at every millisecond; the kernel keeps the peak.
pub fn run_measured(command: &mut Command) -> Result<(Duration, u64)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let ended = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) * 1024);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let time = start.elapsed();
    ensure!(ended.success(), "{command:?}: {ended}");
    Ok((time, peak))
}

/// Bytes as whole megabytes.
pub fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}
