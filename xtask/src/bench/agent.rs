//! The agent in a target: how soon it answers, how long the target stands still, what it costs to be there, how fast it
//! is gone.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use testbed::{Runtime, Target, Testbed};

use super::cpu::Work;
use crate::cargo::{built, cargo};
use crate::measure::{Loss, Times};

const ROUNDS: u32 = 21;
const WALKS: u32 = 101;
/// Calls deep that the threads wait, besides what the runtime adds.
const DEPTH: u32 = 20;
/// Threads, and how long all of them may stand still at the median.
const CROWDS: [(u32, Duration); 2] = [(100, Duration::from_millis(3)), (1000, Duration::from_millis(15))];
const FIRST_DATA: Duration = Duration::from_millis(100);
const GONE: Duration = Duration::from_secs(1);
/// Pairs of windows, with and without an idle agent, and how long each is.
const PAIRS: usize = 20;
const WINDOW: Duration = Duration::from_secs(2);
const THREAD: &str = "drdotnet-agent";

/// Measures all of it, on each runtime.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "agent-host", "--bin", "agent-probe"])?;
    let probe = built("release/agent-probe");
    let testbed = Testbed::open()?;
    testbed.prepare(&Runtime::ALL)?;
    for runtime in Runtime::ALL {
        let target = testbed.target("healthy-idle-service", runtime).start()?;
        visits(&probe, &target)?;
        ended(&probe, &target)?;
    }
    for runtime in Runtime::ALL {
        for (threads, most) in CROWDS {
            walks(&probe, &testbed, runtime, threads, most)?;
        }
    }
    let works: [&dyn Fn() -> Result<Work>; 2] =
        [&|| Work::computing(&testbed, 2, 0), &|| Work::serving(&testbed)];
    for work in works {
        idle(&probe, &mut work()?)?;
    }
    Ok(())
}

/// The numbers of each line that the probe prints.
fn measured(probe: &Path, target: &Target, what: &str, rounds: u32) -> Result<Vec<Vec<u64>>> {
    let output = Command::new(probe)
        .args([&target.pid().to_string(), what, &rounds.to_string()])
        .stdin(Stdio::null())
        .output()?;
    ensure!(output.status.success(), "agent-probe: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers = |line: &str| line.split(' ').map(|word| word.parse().context("a number")).collect();
    text.lines().map(numbers).collect()
}

/// One column of them as times.
fn times(lines: &[Vec<u64>], column: usize) -> Times {
    let mut times = Times::default();
    lines.iter().filter_map(|line| line.get(column)).for_each(|ns| times.push(Duration::from_nanos(*ns)));
    times
}

fn claim(what: &str, holds: bool) {
    println!("  claim of {what} {}", if holds { "holds" } else { "DOES NOT HOLD" });
}

fn visits(probe: &Path, target: &Target) -> Result<()> {
    let lines = measured(probe, target, "visits", ROUNDS)?;
    let (first, leaving) = (times(&lines, 0), times(&lines, 1));
    println!("  .NET {}, attach to first data: {first}", target.runtime());
    println!("  .NET {}, told to leave, gone after: {leaving}", target.runtime());
    claim(&format!("{FIRST_DATA:?} to first data"), first.median() < FIRST_DATA);
    claim(&format!("{GONE:?} to leave"), leaving.quantile(1.0) < GONE);
    Ok(())
}

/// Nobody tells it to leave: its time is over, or its host is killed.
fn ended(probe: &Path, target: &Target) -> Result<()> {
    let deadline = times(&measured(probe, target, "deadlines", ROUNDS)?, 0);
    let mut killed = Times::default();
    for _ in 0..ROUNDS {
        let mut host = Held::by(probe, target)?;
        ensure!(has_agent(target)?, "the agent has no thread");
        host.host.kill()?;
        let began = Instant::now();
        while has_agent(target)? {
            ensure!(began.elapsed() < Duration::from_secs(60), "the agent stays");
            std::thread::sleep(Duration::from_millis(1));
        }
        killed.push(began.elapsed());
    }
    println!("  .NET {}, time is over, gone after: {deadline}", target.runtime());
    println!("  .NET {}, host killed, its thread gone after: {killed}", target.runtime());
    let worst = deadline.quantile(1.0).max(killed.quantile(1.0));
    claim(&format!("{GONE:?} to leave by itself"), worst < GONE);
    Ok(())
}

fn walks(probe: &Path, testbed: &Testbed, runtime: Runtime, threads: u32, most: Duration) -> Result<()> {
    let target = testbed
        .target("healthy-mixed-load", runtime)
        .arg(format!("guests={threads}"))
        .arg(format!("depth={DEPTH}"))
        .start()?;
    let lines = measured(probe, &target, "walks", WALKS)?;
    let last = lines.last().context("no round")?;
    let (stacks, frames) = (last.get(2).context("threads")?, last.get(3).context("frames")?);
    let stood = times(&lines, 1);
    println!(
        "  .NET {runtime}, {stacks} threads, {frames} frames, until all had stopped: {}",
        times(&lines, 0)
    );
    println!("  .NET {runtime}, {stacks} threads, {frames} frames, stood still: {stood}");
    claim(&format!("{most:?} for {threads} threads"), stood.median() < most);
    locks(probe, &target)
}

/// The same with what each thread waits for.
fn locks(probe: &Path, target: &Target) -> Result<()> {
    let lines = measured(probe, target, "locks", WALKS)?;
    let Some(last) = lines.last() else { return Ok(()) };
    let (stacks, waits) = (last.get(2).context("threads")?, last.get(3).context("waits")?);
    let (runtime, found) = (target.runtime(), Duration::from_nanos(*last.get(4).context("a time")?));
    println!(
        "  .NET {runtime}, {stacks} threads, {waits} waits for locks, stood still: {}",
        times(&lines, 1)
    );
    println!("  .NET {runtime}, places of locks found, while it runs, in {found:?}");
    Ok(())
}

/// Windows of one running program in turns, alone and with an agent that is asked nothing.
fn idle(probe: &Path, work: &mut Work) -> Result<()> {
    let mut loss = Loss::default();
    let mut alone = work.rate(WINDOW)?;
    for _ in 0..PAIRS {
        let held = Held::by(probe, &work.target)?;
        let with = work.rate(WINDOW)?;
        held.leave(&work.target)?;
        let after = work.rate(WINDOW)?;
        loss.push(with, (alone + after) / 2.0);
        alone = after;
    }
    println!("  {}, with an idle agent: {loss}", work.name());
    Ok(())
}

/// A host that keeps the agent in the target.
struct Held {
    host: Child,
    /// Open, so that the host can say what it has to say.
    _output: BufReader<ChildStdout>,
}

impl Held {
    fn by(probe: &Path, target: &Target) -> Result<Held> {
        let mut command = Command::new(probe);
        command.args([&target.pid().to_string(), "hold"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut host = command.spawn()?;
        let mut output = BufReader::new(host.stdout.take().context("a pipe")?);
        let mut line = String::new();
        output.read_line(&mut line)?;
        ensure!(line.starts_with("attached"), "the agent does not come: {line}");
        Ok(Held { host, _output: output })
    }

    /// Ends the visit, and waits for it.
    fn leave(mut self, target: &Target) -> Result<()> {
        drop(self.host.stdin.take());
        self.host.wait()?;
        ensure!(!has_agent(target)?, "the agent stays");
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.host.kill();
        let _ = self.host.wait();
    }
}

fn has_agent(target: &Target) -> Result<bool> {
    for task in std::fs::read_dir(format!("/proc/{}/task", target.pid()))? {
        // A thread may end while we look.
        let name = std::fs::read_to_string(task?.path().join("comm")).unwrap_or_default();
        if name.trim() == THREAD {
            return Ok(true);
        }
    }
    Ok(false)
}
