//! One visit after the other, or several at once.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use facts::Observation;
use judgement::{KeptCase, judge as judge_case};
use model::{Finding, Report, Severity};
use testbed::Testbed;

use crate::cases::{file_name, without_place};
use crate::judge::{Judged, judge};
use crate::row::{Answer, Row};
use crate::throughput::Counter;
use crate::visits::Visit;

/// Whether the throughput of targets is measured, which takes some seconds for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throughput {
    /// Before the checkup and while it runs.
    Measured,
    /// Not at all.
    Unknown,
}

/// Where patients are examined.
pub struct Ward<'a> {
    /// The testbed.
    pub testbed: &'a Testbed,
    /// The binary `drdotnet`.
    pub binary: &'a Path,
    /// How many that rest are examined at once. Busy ones are always alone.
    pub beds: usize,
    /// Whether throughput is measured.
    pub throughput: Throughput,
    /// Where cases are kept, if they are: of those alone that are judged as they should be.
    pub cases: Option<&'a Path>,
}

impl Ward<'_> {
    /// Examines all, the resting ones first; `told` hears of each. The rows come in the order of the visits.
    pub fn visit_all(&self, visits: &[Visit], told: &(dyn Fn(&Row) + Sync)) -> Vec<Result<Row>> {
        let numbered = |busy: bool| -> Vec<(usize, Visit)> {
            visits.iter().copied().enumerate().filter(|(_, visit)| visit.is_busy() == busy).collect()
        };
        let mut rows = self.side_by_side(&numbered(false), self.beds, told);
        rows.extend(self.side_by_side(&numbered(true), 1, told));
        rows.sort_by_key(|(number, _)| *number);
        rows.into_iter().map(|(_, row)| row).collect()
    }

    fn side_by_side(
        &self,
        visits: &[(usize, Visit)],
        beds: usize,
        told: &(dyn Fn(&Row) + Sync),
    ) -> Vec<(usize, Result<Row>)> {
        let next = AtomicUsize::new(0);
        let rows: Mutex<Vec<(usize, Result<Row>)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..beds.max(1) {
                scope.spawn(|| {
                    while let Some((number, visit)) = visits.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let row = examine(self, *visit);
                        if let Ok(row) = &row {
                            told(row);
                        }
                        rows.lock().unwrap_or_else(PoisonError::into_inner).push((*number, row));
                    }
                });
            }
        });
        rows.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the program, examines it, and judges what was said.
///
/// First without leave to stop the program for long. Where the report says that leave was needed for a look, and there is still
/// something to find (or to find falsely), it is examined once more with it.
pub fn examine(ward: &Ward<'_>, visit: Visit) -> Result<Row> {
    let counter = (ward.throughput == Throughput::Measured).then(Counter::new).transpose()?;
    let path: Option<PathBuf> = counter.as_ref().map(Counter::path);
    let target = visit.start(ward.testbed, path.as_deref()).with_context(|| visit.to_string())?;
    let before = counter.as_ref().and_then(Counter::before);
    let begin = counter.as_ref().and_then(Counter::mark);
    let first = checkup(ward.binary, target.pid(), false).with_context(|| visit.to_string())?;
    let end = counter.as_ref().and_then(Counter::mark);
    let throughput = before.zip(begin.zip(end)).map(|(before, (begin, end))| before.share(begin, end));

    let patients = visit.patients();
    let mut judged = judge(&patients, &first.observed());
    let mut case = first.case;
    let mut seconds = first.seconds;
    let mut with_leave = false;
    if case.case.wants_leave() && judged.culprit != Some(Answer::Yes) {
        with_leave = true;
        let second = checkup(ward.binary, target.pid(), true).with_context(|| visit.to_string())?;
        seconds = seconds.max(second.seconds);
        judged = both(&judged, judge(&patients, &second.observed()));
        case = second.case;
    }
    if !target.is_alive() {
        bail!("{visit} has ended: {}", target.stderr_text());
    }
    let Judged { found, culprit, false_findings, said } = judged;
    let row = Row { visit, found, culprit, false_findings, said, seconds, throughput, with_leave };
    if !row.is_met() {
        // What a row says of it explains nothing.
        eprintln!("{visit}, as it was examined:\n{}", first.report.to_json()?);
    } else if let Some(folder) = ward.cases {
        let case = without_place(&case, ward.testbed.cache_dir())?;
        std::fs::write(folder.join(file_name(visit)), case.to_bytes()?)?;
    }
    Ok(row)
}

/// The exit code of a checkup that found something.
const FINDINGS: i32 = 48;

/// A report and the time it took.
struct Said {
    report: Report,
    case: KeptCase,
    seconds: f64,
}

impl Said {
    fn observed(&self) -> Vec<Observation> {
        self.report.findings.iter().map(Finding::observed).collect()
    }
}

fn checkup(binary: &Path, pid: u32, with_leave: bool) -> Result<Said> {
    let folder = tempfile::tempdir()?;
    let case = folder.path().join("case");
    let begin = Instant::now();
    let output = Command::new(binary)
        .args(["checkup", "--json", "-p", &pid.to_string()])
        .args(with_leave.then_some("--allow-pause"))
        .arg("--keep-case")
        .arg(&case)
        .env("DRDOTNET_SESSIONS", folder.path())
        .output()
        .with_context(|| format!("starting {}", binary.display()))?;
    let seconds = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    let report =
        Report::from_json(&text).with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let is_ill = report.findings.iter().any(|finding| finding.severity >= Severity::Warning);
    let code = if is_ill { FINDINGS } else { 0 };
    ensure!(output.status.code() == Some(code), "{} instead of exit code {code}: {text}", output.status);
    ensure!(report.findings.iter().all(|finding| !finding.advice.is_empty()), "no advice: {text}");
    let case = KeptCase::from_bytes(&std::fs::read(&case)?)?;
    let said = Said { report, case, seconds };
    // What was kept is all that it was judged by.
    let of = |finding: &Observation| (finding.id.clone(), finding.severity, finding.culprit.clone());
    let again: Vec<_> = judge_case(&said.case.case).iter().map(|verdict| of(&verdict.finding)).collect();
    ensure!(
        again == said.observed().iter().map(of).collect::<Vec<_>>(),
        "judged otherwise by its case: {text}"
    );
    Ok(said)
}

/// The second time more is seen, but what was said falsely the first time stays false.
fn both(first: &Judged, second: Judged) -> Judged {
    let mut judged = second;
    for false_finding in &first.false_findings {
        if !judged.false_findings.contains(false_finding) {
            judged.false_findings.push(false_finding.clone());
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_falsely_once_stays_false() {
        let judged = |culprit, false_findings: &[&str]| Judged {
            culprit: Some(culprit),
            false_findings: false_findings.iter().map(|&text| text.to_owned()).collect(),
            ..Judged::default()
        };
        let first = judged(Answer::No, &["deadlock (nobody)", "hot-method (A)"]);
        let whole = both(&first, judged(Answer::Yes, &["hot-method (A)"]));
        assert_eq!(whole, judged(Answer::Yes, &["hot-method (A)", "deadlock (nobody)"]));
    }
}
