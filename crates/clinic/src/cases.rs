//! Recorded cases: what checkups of the patients saw, judged again without any process.

use std::path::Path;

use anyhow::{Context, Result};
use judgement::{KeptCase, judge};

use crate::judge;
use crate::row::Answer;
use crate::visits::{Visit, all};

/// The folder of the recorded cases, below the project's root.
pub const CASES: &str = "tests/cases";

/// The file of a visit's case.
pub fn file_name(visit: Visit) -> String {
    format!("{}-{}.case", visit.ids, visit.runtime.label())
}

/// The same case, as if the testbed had been elsewhere: no folder of the machine it was recorded on stands in it.
pub(crate) fn without_place(case: &KeptCase, testbed: &Path) -> Result<KeptCase> {
    let text = serde_json::to_string(case)?;
    Ok(serde_json::from_str(&text.replace(&*testbed.to_string_lossy(), "/testbed"))?)
}

/// What the rules say of a recorded case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Whose.
    pub visit: Visit,
    /// Whether all is as it should be.
    pub is_met: bool,
    /// All findings of severity warning or above, with their culprits.
    pub said: Vec<String>,
    /// Those that should not be there.
    pub false_findings: Vec<String>,
}

/// Judges every case of a folder; an error for one that is missing or cannot be read.
pub fn recorded(folder: &Path) -> Vec<Result<Recorded>> {
    all().into_iter().map(|visit| one(folder, visit)).collect()
}

fn one(folder: &Path, visit: Visit) -> Result<Recorded> {
    let path = folder.join(file_name(visit));
    let bytes = std::fs::read(&path).with_context(|| format!("{visit}: no case in {}", path.display()))?;
    let kept = KeptCase::from_bytes(&bytes).with_context(|| path.display().to_string())?;
    let found: Vec<_> = judge(&kept.case).into_iter().map(|verdict| verdict.finding).collect();
    let judged = judge::judge(&visit.patients(), &found);
    let is_met = judged.found != Some(Answer::No)
        && judged.culprit != Some(Answer::No)
        && judged.false_findings.is_empty();
    Ok(Recorded { visit, is_met, said: judged.said, false_findings: judged.false_findings })
}
