//! Several processes at a glance.

use std::path::PathBuf;
use std::time::Duration;

use kernel_collector::RecordedProcess;
use model::{Cell, Column, FrameKind, ProcessId, Report, Table, Unit};
use profilers::kernel::Picture;
use reports::LastColumn;
use serde::Serialize;
use stacks::{CallTree, Profile, top_methods};

use crate::commands::json;
use crate::explain::Failure;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.kernel-overview/1";
/// Most processes that are listed; a build may start thousands.
const MOST_LISTED: usize = 30;

/// One process.
#[derive(Serialize)]
pub struct Row {
    pub pid: ProcessId,
    pub name: String,
    /// Whether it is a .NET program; of others, only native names are known.
    pub dotnet: bool,
    /// CPU time while it was looked at.
    pub cpu_ns: Option<u64>,
    pub samples: Option<u64>,
    /// The answer of its report in one sentence.
    pub summary: Option<String>,
    /// The method that used most CPU time itself.
    pub hottest: Option<String>,
    /// Its share of all samples, in per cent.
    pub hottest_percent: Option<f64>,
    /// Where its session is.
    pub session: Option<PathBuf>,
    /// What went wrong with it.
    pub error: Option<String>,
}

impl Row {
    pub fn new(pid: ProcessId, name: String) -> Row {
        Row {
            pid,
            name,
            dotnet: true,
            cpu_ns: None,
            samples: None,
            summary: None,
            hottest: None,
            hottest_percent: None,
            session: None,
            error: None,
        }
    }

    /// With what the kernel told.
    pub fn recorded(mut self, picture: Picture, process: &RecordedProcess) -> Row {
        let profile = match picture {
            Picture::Cpu | Picture::Both => &process.profiles.on_cpu,
            Picture::OffCpu => &process.profiles.off_cpu,
        };
        self.cpu_ns = process.cpu_time.map(nanos);
        self.samples = Some(profile.samples.len() as u64);
        // Of waits, the longest is seldom the one that matters; the report knows which are idle.
        if picture != Picture::OffCpu
            && let Some((name, percent)) = hottest(profile)
        {
            self.hottest = Some(name);
            self.hottest_percent = Some(percent);
        }
        self
    }
}

/// The method that weighs most by itself, and its share. What native code does for a method is the method's own.
fn hottest(profile: &Profile) -> Option<(String, f64)> {
    let is_managed = |kind: FrameKind| kind == FrameKind::Managed;
    let has_methods = profile.frames.iter().any(|frame| is_managed(frame.kind));
    let tree = CallTree::new(profile, &profile.samples);
    let methods = top_methods(profile, &tree, |frame| has_methods && !is_managed(frame.kind));
    let first = methods.first()?;
    let name = profile.frames.get(first.frame.0 as usize)?.name.clone();
    #[expect(clippy::cast_precision_loss, reason = "a share is for people to read")]
    let percent = 100.0 * first.own as f64 / profile.total().max(1) as f64;
    Some((name, percent))
}

/// The rows as a table, those that used most first.
pub fn text(rows: Vec<&Row>, measured: Duration, screen: &Screen) -> String {
    let mut order = rows;
    order.sort_by_key(|row| std::cmp::Reverse((row.cpu_ns, row.samples)));
    let has_methods = order.iter().any(|row| row.hottest.is_some());
    let mut table = Table::new([
        Column::new("pid", "PID", Unit::Id),
        Column::new("process", "Process", Unit::Text),
        Column::new("cpu", "CPU", Unit::Percent),
        Column::new("samples", "Samples", Unit::Count),
        Column::new("share", "Share", Unit::Percent),
        Column::new("last", if has_methods { "Hottest method" } else { "In short" }, Unit::Text),
    ]);
    for row in order.iter().take(MOST_LISTED) {
        #[expect(clippy::cast_precision_loss, reason = "a share is for people to read")]
        let cpu = row.cpu_ns.map(|cpu| 100.0 * cpu as f64 / nanos(measured).max(1) as f64);
        let last = if has_methods { row.hottest.as_ref() } else { row.summary.as_ref() };
        let last = row.error.as_ref().or(last);
        table.push([
            Cell::from(row.pid.0),
            Cell::from(row.name.as_str()),
            Cell::from(cpu),
            Cell::from(row.samples),
            Cell::from(row.hottest_percent),
            Cell::from(last.cloned()),
        ]);
    }
    let mut text = reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills);
    if order.len() > MOST_LISTED {
        text += &format!("and {} more, which used less\n", order.len() - MOST_LISTED);
    }
    text
}

#[derive(Serialize)]
struct Overview<'a> {
    schema: &'static str,
    measured_ns: u64,
    processes: Vec<&'a Row>,
    reports: Vec<&'a Report>,
}

/// Everything for a script: the rows and the whole reports.
pub fn json_text(rows: Vec<&Row>, reports: Vec<&Report>, measured: Duration) -> Result<String, Failure> {
    json(&Overview { schema: SCHEMA, measured_ns: nanos(measured), processes: rows, reports })
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
