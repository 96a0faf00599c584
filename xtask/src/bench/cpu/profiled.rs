//! A profiler at work beside a program.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tempfile::TempDir;

/// Longer than any window: it is told to stop.
const LONG: &str = "1h";

/// Events that are open for so long stay open.
const SETTLED: Duration = Duration::from_millis(300);

/// Who profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profiler {
    /// `drdotnet cpu`
    Ours,
    /// `perf record -g`
    Perf,
}

impl Profiler {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Profiler::Ours => "drdotnet cpu",
            Profiler::Perf => "perf record -g",
        }
    }
}

/// A profiler that runs.
pub struct Profiled {
    child: Child,
    folder: TempDir,
    profiler: Profiler,
}

impl Profiled {
    /// Starts it, and waits until it samples.
    pub fn begin(profiler: Profiler, tool: &Path, pid: u32, rate: u32) -> Result<Profiled> {
        let folder = tempfile::tempdir()?;
        let (pid, rate) = (pid.to_string(), rate.to_string());
        let mut command = match profiler {
            Profiler::Ours => {
                let mut command = Command::new(tool);
                command.args(["cpu", "-p", &pid, "--rate", &rate, "--duration", LONG, "-o"]);
                command.arg(folder.path().join("session"));
                command
            }
            Profiler::Perf => {
                let mut command = Command::new("perf");
                command.args(["record", "-q", "-e", "cpu-clock", "-F", &rate, "-g", "-p", &pid, "-o"]);
                command.arg(folder.path().join("perf.data"));
                command
            }
        };
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let profiled = Profiled { child, folder, profiler };
        let begin = Instant::now();
        // Ours opens its events for a moment to see whether it may, and then for good.
        let mut since = None;
        while since.is_none_or(|since: Instant| since.elapsed() < SETTLED) {
            ensure!(begin.elapsed() < Duration::from_secs(60), "{} does not begin", profiler.name());
            std::thread::sleep(Duration::from_millis(5));
            since = if profiled.samples() { since.or(Some(Instant::now())) } else { None };
        }
        Ok(profiled)
    }

    /// Whether it has opened its events.
    fn samples(&self) -> bool {
        let Ok(files) = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())) else { return false };
        files.flatten().any(|file| {
            std::fs::read_link(file.path()).is_ok_and(|link| link.to_string_lossy().contains("[perf_event]"))
        })
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to stop; how long it took to end.
    pub fn end(mut self) -> Result<(Duration, Kept)> {
        let begin = Instant::now();
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        let status = self.child.wait()?;
        let took = begin.elapsed();
        // perf hands on the signal that ended it.
        ensure!(status.success() || self.profiler == Profiler::Perf, "{}: {status}", self.profiler.name());
        Ok((took, Kept { folder: self.folder }))
    }
}

/// What a profiler left.
pub struct Kept {
    folder: TempDir,
}

impl Kept {
    /// The session of ours.
    pub fn session(&self) -> PathBuf {
        self.folder.path().join("session")
    }

    /// The file of perf.
    pub fn perf_data(&self) -> PathBuf {
        self.folder.path().join("perf.data")
    }
}

/// Whether the peer is there.
pub fn has_perf() -> bool {
    Command::new("perf").arg("--version").output().is_ok_and(|output| output.status.success())
}
