//! What a program loses while it is examined.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use model::Report;
use testbed::{Runtime, Target, Testbed};

use super::cpu::{Rates, Work};
use crate::cargo::{built, cargo};
use crate::measure::{Loss, Times};

/// Examinations of each program; `DRDOTNET_BENCH_ROUNDS` sets another number.
const ROUNDS: usize = 16;
/// How long it is left alone in between.
const ALONE: Duration = Duration::from_secs(7);
/// How long a program runs until its own code is compiled for good.
const SETTLED: Duration = Duration::from_secs(4);
/// What a program may lose at most, in per cent.
const MOST: f64 = 2.0;
/// Exit codes of a checkup that came to its end: healthy, or with findings.
const EXAMINED: [i32; 2] = [0, 48];

/// Which examinations of a program count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// The first, in which the runtime compiles what it needs to answer; a new program each time.
    First,
    /// Later ones.
    Later,
}

/// How a program is begun.
type Begin<'a> = &'a dyn Fn() -> Result<Work>;

/// One program after the other, in turns alone and examined. Each examination is held against the mean of its neighbours.
/// `DRDOTNET_BENCH_ONLY` chooses some by their short names.
pub fn run() -> Result<()> {
    cargo(["build", "--release", "--package", "cli"])?;
    let tool = built("release/drdotnet");
    let testbed = Testbed::open()?;
    testbed.prepare(&[Runtime::Net9])?;
    let set = |name: &str| std::env::var(name).ok();
    let rounds = set("DRDOTNET_BENCH_ROUNDS").and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    let only = set("DRDOTNET_BENCH_ONLY");
    let computing = || Work::computing(&testbed, 2, 0);
    let works: [(&str, Which, Begin<'_>); 5] = [
        ("full", Which::Later, &computing),
        ("fresh", Which::First, &computing),
        ("half", Which::Later, &|| Work::computing(&testbed, 1, 0)),
        ("server", Which::Later, &|| Work::serving(&testbed)),
        ("pauses", Which::Later, &|| Work::serving_with_pauses(&testbed)),
    ];
    let is_wanted = |name: &str| only.as_deref().is_none_or(|only| only.split(',').any(|word| word == name));
    for (_, which, begin) in works.into_iter().filter(|(name, _, _)| is_wanted(name)) {
        let mut measured = Measured::default();
        let mut work = begin()?;
        std::thread::sleep(SETTLED);
        if which == Which::Later {
            examine(&tool, &work.target)?;
        }
        for round in 0..rounds {
            if which == Which::First && round > 0 {
                work = begin()?;
                std::thread::sleep(SETTLED);
                measured.alone = None;
            }
            measured.round(&mut work, &tool)?;
        }
        let word = if which == Which::First { "examined for the first time" } else { "examined" };
        measured.print(&format!("{}, {word}", work.name()));
    }
    Ok(())
}

#[derive(Default)]
struct Measured {
    loss: Loss,
    /// Of the work that it does with the processor time it gets.
    per_cpu: Loss,
    /// Of what its visitors ask, where they are ours.
    asked: Loss,
    took: Times,
    used: Times,
    /// The rate of the window before, if it is of the same program.
    alone: Option<Rates>,
}

impl Measured {
    /// Alone, examined, alone.
    fn round(&mut self, work: &mut Work, tool: &Path) -> Result<()> {
        let before = match self.alone {
            Some(before) => before,
            None => alone(work)?,
        };
        let mut said = None;
        let with = work.rates_while(|target| {
            said = Some(examine(tool, target)?);
            Ok(())
        })?;
        let report = said.context("an examination")?;
        let after = alone(work)?;
        self.loss.push(with.per_second, (before.per_second + after.per_second) / 2.0);
        self.per_cpu.push(with.per_cpu_second, (before.per_cpu_second + after.per_cpu_second) / 2.0);
        if let (Some(with), Some(before), Some(after)) = (with.asking, before.asking, after.asking) {
            self.asked.push(with, (before + after) / 2.0);
        }
        self.alone = Some(after);
        self.took.push(Duration::from_nanos(report.window.measured_ns));
        self.used.push(Duration::from_nanos(report.cost.host.cpu_ns));
        Ok(())
    }

    fn print(&self, what: &str) {
        println!("  {what}: {}", self.loss);
        println!("    of the work it does with a second of a processor: {}", self.per_cpu);
        if self.asked.is_known() {
            println!("    of what its visitors ask, by their processor time: {}", self.asked);
        }
        println!("    it took {}", self.took);
        println!("    processor time of the tool: {}", self.used);
        let judged = if self.asked.is_known() { &self.asked } else { &self.loss };
        let holds = if judged.percent() < MOST { "holds" } else { "DOES NOT HOLD" };
        println!("  claim of under {MOST} % {holds}");
    }
}

fn alone(work: &mut Work) -> Result<Rates> {
    work.rates_while(|_| {
        std::thread::sleep(ALONE);
        Ok(())
    })
}

fn examine(tool: &Path, target: &Target) -> Result<Report> {
    let sessions = tempfile::tempdir()?;
    let output = Command::new(tool)
        .args(["checkup", "--json", "-p", &target.pid().to_string()])
        .env("DRDOTNET_SESSIONS", sessions.path())
        .stdin(Stdio::null())
        .output()?;
    let is_examined = output.status.code().is_some_and(|code| EXAMINED.contains(&code));
    ensure!(is_examined, "drdotnet failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(Report::from_json(&String::from_utf8_lossy(&output.stdout))?)
}
