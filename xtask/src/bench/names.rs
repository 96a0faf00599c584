//! The ways to the names of managed code: what each costs, and what it names.

mod ways;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use diagnostics_ipc::Client;
use discovery::{Options, find};
use model::ProcessId;
use testbed::{Runtime, Target, Testbed, Visitors};

use crate::cargo::cargo;
use crate::measure::{Ratios, Times};
use ways::{Named, WAYS, Way};

const ROUNDS: usize = 7;
/// Connections that ask one request after the other, where the target is a web server.
const CLIENTS: usize = 2;
/// Requests are counted for so long at least: once without, and once with the names got in its course.
const WINDOW: Duration = Duration::from_millis(400);

/// Measures each way on each runtime, in turns.
pub fn run() -> Result<()> {
    if cfg!(debug_assertions) {
        // Memory is read by this program itself, which is not optimised as chores usually run.
        return cargo(["run", "--release", "--package", "xtask", "--", "bench", "names"]);
    }
    let testbed = Testbed::open()?;
    for runtime in [Runtime::Net31, Runtime::Net8, Runtime::Net9, Runtime::Net10] {
        testbed.prepare(&[runtime])?;
        let folder = tempfile::tempdir()?;
        let builder = match runtime {
            Runtime::Net10 => testbed.stranger(),
            _ => testbed.target("healthy-busy-web", runtime),
        };
        let target = builder.tmpdir(folder.path()).start()?;
        let subject = Subject { pid: ProcessId(target.pid()), runtime, folder: folder.path().to_owned() };
        let client = find(subject.pid, &Options { timeout: Duration::from_secs(10) })?
            .client()
            .context("a socket")?
            .with_timeout(Duration::from_secs(60));
        println!(
            "  .NET {runtime}, {} threads",
            std::fs::read_dir(format!("/proc/{}/task", target.pid()))?.count()
        );
        measure(&subject, &client, &target)?;
    }
    Ok(())
}

/// A running target.
pub struct Subject {
    pid: ProcessId,
    runtime: Runtime,
    /// Its temp folder, which nobody else uses.
    folder: PathBuf,
}

/// What was seen of a way.
#[derive(Default)]
struct Seen {
    times: Times,
    dips: Ratios,
    last: Named,
    files: Vec<String>,
    refused: Option<String>,
}

fn measure(subject: &Subject, client: &Client, target: &Target) -> Result<()> {
    let mut all: Vec<(&Way, Seen)> = WAYS.iter().map(|way| (way, Seen::default())).collect();
    for _ in 0..ROUNDS {
        for (way, seen) in &mut all {
            if seen.refused.is_some() {
                continue;
            }
            let before = files(subject)?;
            let (result, dip) = under_load(target, || (way.run)(subject, client))?;
            match result {
                Ok(named) => {
                    seen.times.push(named.time);
                    if let Some((with, without)) = dip {
                        seen.dips.push(with, without);
                    }
                    seen.last = named;
                }
                Err(error) => seen.refused = Some(error.to_string()),
            }
            // Only what this round has made.
            for file in files(subject)?.difference(&before) {
                std::fs::remove_file(file)?;
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let kind = name.replace(&subject.pid.to_string(), "PID");
                if !seen.files.contains(&kind) {
                    seen.files.push(kind);
                }
            }
        }
    }
    let precompiled: HashSet<u64> =
        all.iter().flat_map(|(_, seen)| seen.last.precompiled.iter().copied()).collect();
    for (way, seen) in &all {
        if let Some(refused) = &seen.refused {
            println!("    {}: not there: {refused}", way.name);
            continue;
        }
        println!("    {}: {}", way.name, seen.times);
        println!(
            "      {:.2} MB, {} methods, of them compiled before {} of {}; files left: {}{}",
            megabytes(seen.last.bytes),
            seen.last.methods,
            seen.last.precompiled.len(),
            precompiled.len(),
            if seen.files.is_empty() { "none".to_owned() } else { seen.files.join(", ") },
            seen.last.remark.as_ref().map_or(String::new(), |remark| format!("; {remark}"))
        );
        if seen.dips.count() > 0 {
            println!("      requests in a window with it: {}", seen.dips);
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Files that the target has made: all in its temp folder, and maps for perf, which lie elsewhere on some runtimes.
fn files(subject: &Subject) -> Result<HashSet<PathBuf>> {
    let entries = std::fs::read_dir(&subject.folder)?.flatten();
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let maps = ["perf", "perfinfo"].map(|kind| PathBuf::from(format!("/tmp/{kind}-{}.map", subject.pid)));
    Ok(plain.map(|entry| entry.path()).chain(maps.into_iter().filter(|map| map.exists())).collect())
}

/// Does something while clients ask, and gives how many requests a window without it and one with it had.
fn under_load<T>(target: &Target, action: impl FnOnce() -> T) -> Result<(T, Option<(Duration, Duration)>)> {
    let Some(port) = target.value_of("port") else { return Ok((action(), None)) };
    let port: u16 = port.parse()?;
    let visitors = Visitors::come(CLIENTS, port, "/headlines");
    let rate = |since: Instant, before: u64| {
        let requests = visitors.answered().saturating_sub(before);
        // As durations, which is what ratios are made of.
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let rate = requests as f64 / since.elapsed().as_secs_f64().max(1e-6);
        Duration::from_secs_f64(rate / 1e6)
    };
    std::thread::sleep(WINDOW / 2);
    let (start, before) = (Instant::now(), visitors.answered());
    std::thread::sleep(WINDOW);
    let without = rate(start, before);
    let (start, before) = (Instant::now(), visitors.answered());
    let value = action();
    // Shorter windows count too few requests to say anything.
    std::thread::sleep(WINDOW.saturating_sub(start.elapsed()));
    let with = rate(start, before);
    visitors.leave()?;
    Ok((value, Some((with, without))))
}
