//! `drdotnet ps` on a crowded machine: 50 live .NET processes, 500 sockets of ended ones.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed};

use crate::cargo::{cargo, root};
use crate::measure::{Ratios, Times};

const LIVE: usize = 50;
const STALE: u32 = 500;
const ROUNDS: usize = 25;
const CLAIM: Duration = Duration::from_millis(100);

/// Measures `ps` with and without the stale sockets, and the bare start of the tool.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = root().join("target/release/drdotnet");
    let crowded = tempfile::tempdir()?;
    let empty = tempfile::tempdir()?;
    let targets = start_targets(crowded.path())?;
    leave_sockets(crowded.path())?;

    let (mut with, mut without, mut bare, mut ratios) =
        (Times::default(), Times::default(), Times::default(), Ratios::default());
    ps(&tool, crowded.path())?;
    for _ in 0..ROUNDS {
        let stale = ps(&tool, crowded.path())?;
        let clean = ps(&tool, empty.path())?;
        ratios.push(stale, clean);
        with.push(stale);
        without.push(clean);
        bare.push(timed(Command::new(&tool).arg("--version"))?.0);
    }
    println!("  {LIVE} live, {STALE} stale: {with}");
    println!("  {LIVE} live, 0 stale:   {without}");
    println!("  stale sockets cost:  {ratios}");
    println!("  drdotnet --version:  {bare}");
    println!("  claim {}: {}", if with.median() < CLAIM { "holds" } else { "DOES NOT HOLD" }, with);
    drop(targets);
    Ok(())
}

fn start_targets(folder: &Path) -> Result<Vec<Target>> {
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    println!("  starting {LIVE} programs");
    let mut targets = Vec::new();
    for _ in 0..LIVE {
        targets.push(testbed.target("healthy-idle-service", Runtime::Net9).tmpdir(folder).start()?);
    }
    Ok(targets)
}

/// Sockets whose listener is gone, as a killed runtime leaves them. Half carry the pid of a living process and
/// another start time, like those of a reused pid.
fn leave_sockets(folder: &Path) -> Result<()> {
    let living = std::process::id();
    for number in 0..STALE {
        let pid = if number % 2 == 0 { living } else { 4_000_000 + number };
        let path = folder.join(format!("dotnet-diagnostic-{pid}-{number}-socket"));
        drop(UnixListener::bind(&path).with_context(|| path.display().to_string())?);
    }
    Ok(())
}

fn ps(tool: &Path, temp: &Path) -> Result<Duration> {
    let (time, listed) = timed(Command::new(tool).args(["ps", "--json"]).env("TMPDIR", temp))?;
    let ready = listed.matches("\"status\": \"ready\"").count();
    ensure!(ready >= LIVE, "only {ready} of {LIVE} processes answered");
    Ok(time)
}

fn timed(command: &mut Command) -> Result<(Duration, String)> {
    let start = Instant::now();
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let time = start.elapsed();
    ensure!(output.status.success(), "drdotnet failed: {}", output.status);
    Ok((time, String::from_utf8_lossy(&output.stdout).into_owned()))
}
