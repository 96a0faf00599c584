//! The clinic: every patient on every runtime is examined, and what the checkup says is held against what it has.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use model::{Report, Severity};
use testbed::{Kind, Patient, Runtime, Testbed};

use crate::cargo;

/// Where the table goes.
const PAGE: &str = "docs/clinic.md";
/// Patients that are examined side by side; set `DRDOTNET_CLINIC_BEDS` for more.
const BEDS: usize = 1;

/// One patient on one runtime.
#[derive(Clone, Copy)]
struct Visit {
    patient: &'static Patient,
    runtime: Runtime,
}

/// What came of it.
struct Row {
    visit: Visit,
    found: bool,
    culprit: bool,
    false_findings: Vec<String>,
    /// Findings with their culprits, as they came.
    said: Vec<String>,
    seconds: f64,
}

/// Examines the patients: `clinic [--debug] [PATIENT,...|all] [RUNTIME,...]`. The table of all of them is written to its page.
pub fn clinic(arguments: &[String]) -> Result<()> {
    let is_debug = arguments.first().is_some_and(|word| word == "--debug");
    let arguments = if is_debug { arguments.get(1..).unwrap_or_default() } else { arguments };
    let profile: &[&str] = if is_debug { &[] } else { &["--release"] };
    cargo::cargo(["build", "--package", "cli"].iter().chain(profile))?;
    let binary = cargo::built(if is_debug { "debug/drdotnet" } else { "release/drdotnet" });
    let testbed = Testbed::open()?;
    testbed.prepare_all()?;
    let wanted = |text: &str, position: usize| {
        let chosen = |words: &String| words == "all" || words.split(',').any(|word| word == text);
        arguments.get(position).is_none_or(chosen)
    };
    let visits: Vec<Visit> = testbed::patients()
        .iter()
        .filter(|patient| wanted(patient.id, 0))
        .flat_map(|patient| patient.runtimes.iter().map(move |runtime| Visit { patient, runtime: *runtime }))
        .filter(|visit| wanted(visit.runtime.label(), 1))
        .collect();
    if visits.is_empty() {
        bail!("no such patient on such a runtime; `cargo run -p testbed -- list` lists them");
    }
    let beds = std::env::var("DRDOTNET_CLINIC_BEDS").ok().and_then(|beds| beds.parse().ok()).unwrap_or(BEDS);
    let rows = examine_all(&testbed, &binary, &visits, beds)?;
    println!("{}", summary(&rows));
    if arguments.is_empty() {
        std::fs::write(cargo::root().join(PAGE), page(&rows)).with_context(|| format!("writing {PAGE}"))?;
        println!("written to {PAGE}");
    }
    Ok(())
}

fn examine_all(testbed: &Testbed, binary: &Path, visits: &[Visit], beds: usize) -> Result<Vec<Row>> {
    let next = AtomicUsize::new(0);
    let rows: Mutex<Vec<(usize, Result<Row>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..beds {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(visit) = visits.get(number) else { break };
                    let row = examine(testbed, binary, *visit);
                    if let Ok(row) = &row {
                        println!("{}", line(row));
                    }
                    rows.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((number, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    rows.sort_by_key(|(number, _)| *number);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn examine(testbed: &Testbed, binary: &Path, visit: Visit) -> Result<Row> {
    let Visit { patient, runtime } = visit;
    let target = testbed.target(patient.id, runtime).start()?;
    let folder = tempfile::tempdir()?;
    let begin = Instant::now();
    let output = Command::new(binary)
        .args(["checkup", "--json", "--allow-pause", "-p", &target.pid().to_string()])
        .env("DRDOTNET_SESSIONS", folder.path())
        .output()?;
    let seconds = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    let report = Report::from_json(&text).with_context(|| {
        format!("{} on {runtime}: {}", patient.id, String::from_utf8_lossy(&output.stderr))
    })?;
    Ok(judge(visit, &report, seconds))
}

fn judge(visit: Visit, report: &Report, seconds: f64) -> Row {
    let patient = visit.patient;
    let expected: Vec<&str> = match patient.kind {
        Kind::Illness => patient.findings.iter().map(|id| checkup::illness(id)).collect(),
        _ => Vec::new(),
    };
    let is_culprit = |finding: &model::Finding| {
        let name = finding.culprit.as_ref().map(|culprit| culprit.name.as_str());
        name.is_some_and(|name| patient.culprits.contains(&name))
    };
    let of = |id: &str| report.findings.iter().filter(move |finding| finding.id == id).collect::<Vec<_>>();
    let ill = report.findings.iter().filter(|finding| finding.severity >= Severity::Warning);
    Row {
        visit,
        found: expected.iter().all(|id| !of(id).is_empty()),
        culprit: expected.iter().all(|id| of(id).iter().any(|finding| is_culprit(finding))),
        false_findings: ill
            .clone()
            .filter(|finding| !expected.contains(&finding.id.as_str()))
            .map(|finding| finding.id.clone())
            .collect(),
        said: ill
            .map(|finding| {
                let culprit = finding.culprit.as_ref().map_or("nobody", |culprit| culprit.name.as_str());
                format!("{} ({culprit})", finding.id)
            })
            .collect(),
        seconds,
    }
}

fn line(row: &Row) -> String {
    let word = |yes: bool, no: &'static str| if yes { "" } else { no };
    format!(
        "{:34} {:4} {:4.1} s  {}{}{}{}",
        row.visit.patient.id,
        row.visit.runtime.label(),
        row.seconds,
        word(row.found, "NOT FOUND "),
        word(row.culprit || !row.found, "WRONG CULPRIT "),
        word(row.false_findings.is_empty(), "FALSE FINDINGS "),
        row.said.join(", ")
    )
}

fn summary(rows: &[Row]) -> String {
    let ill = || rows.iter().filter(|row| row.visit.patient.kind == Kind::Illness);
    let falsely = rows.iter().filter(|row| !row.false_findings.is_empty()).count();
    let slowest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
    format!(
        "{} of {} illnesses found, {} with the right culprit; {falsely} of {} examinations with a false finding; at most {slowest:.1} s each",
        ill().filter(|row| row.found).count(),
        ill().count(),
        ill().filter(|row| row.found && row.culprit).count(),
        rows.len()
    )
}

fn page(rows: &[Row]) -> String {
    let mut page = "# The clinic\n\nEvery patient of [patients/](../patients/README.md) on every runtime, as `drdotnet checkup` \
                    sees it, made by `cargo xtask clinic`. A culprit is right if it is the method, type or field that the \
                    patient's file names. Pauses are allowed (`--allow-pause`), because heaps of more than 20 MB cannot be told within 100 ms \
                    before .NET 9. A false finding is one of severity warning or above that the patient does not have.\n\n"
        .to_owned();
    let _ = writeln!(page, "{}.\n", summary(rows));
    page += "| patient | runtime | found | culprit | false findings | time |\n|---|---|---|---|---|---|\n";
    for row in rows {
        let is_control = row.visit.patient.kind != Kind::Illness;
        let word = |yes: bool| match (is_control, yes) {
            (true, _) => "healthy",
            (false, true) => "yes",
            (false, false) => "**no**",
        };
        let falsely = match row.false_findings.as_slice() {
            [] => "none".to_owned(),
            some => format!("**{}**", some.join(", ")),
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {falsely} | {:.0} s |",
            row.visit.patient.id,
            row.visit.runtime.label(),
            word(row.found),
            word(row.found && row.culprit),
            row.seconds
        );
    }
    page
}
