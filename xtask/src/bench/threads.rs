//! `drdotnet run threads` on a process with a thousand threads: what it takes itself, and what the target loses.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed};

use super::recording::cpu_of;
use crate::cargo::{cargo, root};
use crate::measure::{Ratios, Times};

const THREADS: usize = 1000;
const ROUNDS: usize = 6;
const WINDOW: Duration = Duration::from_secs(5);

/// Measures the tool's share of a CPU, and the target's CPU time in windows with and without it.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = root().join("target/release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let crowd = testbed
        .target("zombie-threads", Runtime::Net9)
        .arg("rate=500")
        .arg(format!("cap={THREADS}"))
        .start()?;
    println!("  waiting for {THREADS} threads");
    let patience = Instant::now();
    while threads_of(&crowd)? < THREADS {
        ensure!(
            patience.elapsed() < Duration::from_secs(60),
            "the patient has only {} threads",
            threads_of(&crowd)?
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let busy = testbed.target("hot-method", Runtime::Net9).start()?;
    let (mut own, mut ratios) = (Times::default(), Ratios::default());
    for _ in 0..ROUNDS {
        own.push(looked_at(&tool, &crowd)?);
        let before = Instant::now();
        let used = cpu_of(busy.pid())?;
        looked_at(&tool, &busy)?;
        let with = share(cpu_of(busy.pid())? - used, before.elapsed());
        let (before, used) = (Instant::now(), cpu_of(busy.pid())?);
        std::thread::sleep(WINDOW);
        ratios.push(with, share(cpu_of(busy.pid())? - used, before.elapsed()));
    }
    println!("  {THREADS} threads, CPU of the tool in {WINDOW:?}: {own}");
    println!("  a busy process's own CPU time with it running: {ratios}");
    let claim = own.median() < WINDOW / 50;
    println!("  claim {}", if claim { "holds" } else { "DOES NOT HOLD" });
    Ok(())
}

/// CPU time per second, as a duration, so that two windows of slightly different length compare.
fn share(cpu: Duration, window: Duration) -> Duration {
    Duration::from_secs_f64(cpu.as_secs_f64() / window.as_secs_f64())
}

/// One run of the tool; the CPU time it says it took.
fn looked_at(tool: &Path, target: &Target) -> Result<Duration> {
    let sessions = tempfile::tempdir()?;
    let output = Command::new(tool)
        .args(["run", "threads", "--json", "--duration", &WINDOW.as_secs().to_string()])
        .args(["-p", &target.pid().to_string()])
        .env("DRDOTNET_SESSIONS", sessions.path())
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "drdotnet failed: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.split("\"cpu_ns\":").nth(1).and_then(|rest| rest.split([',', '}']).next());
    Ok(Duration::from_nanos(number.context("no cpu_ns in the report")?.trim().parse()?))
}

fn threads_of(target: &Target) -> Result<usize> {
    Ok(std::fs::read_dir(format!("/proc/{}/task", target.pid()))?.count())
}
