//! The patients: small C# programs with one illness each, and healthy controls.
//!
//! Each source file opens with a header that says what a diagnosis should find:
//!
//! ```text
//! // patient:  deadlock-ab-ba
//! // kind:     illness
//! // illness:  two threads each hold one account's lock and wait for ever for the other's
//! // finding:  deadlock
//! // culprit:  Bank.Ledger.Transfer
//! // runtimes: 3.1 8 9 10
//! ```

use std::fmt;
use std::sync::OnceLock;

use crate::error::TestbedError;
use crate::runtime::Runtime;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Whether something should be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It is ill, and a diagnosis must say so.
    Illness,
    /// It is healthy, and a diagnosis must find nothing.
    Control,
}

/// The assembly that a patient is compiled into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assembly {
    /// Compiled against .NET Core 3.1; runs on everything from there on.
    Portable,
    /// Compiled against .NET 9; runs on 9 and 10.
    Net9,
    /// Compiled against .NET 9 and ASP.NET Core 9.
    Aspnet,
    /// Like [`Assembly::Net9`], in C# 12.
    Modern,
    /// Like the portable one, with its symbol file inside.
    Embedded,
}

impl Assembly {
    pub(crate) const ALL: [Assembly; 5] =
        [Assembly::Portable, Assembly::Net9, Assembly::Aspnet, Assembly::Modern, Assembly::Embedded];

    /// The folder of `patients` with the sources that only this assembly has.
    fn folder(self) -> &'static str {
        match self {
            Assembly::Portable => "portable",
            Assembly::Net9 => "net9",
            Assembly::Aspnet => "aspnet",
            Assembly::Modern => "modern",
            Assembly::Embedded => "embedded",
        }
    }

    /// Its sources: path below `patients`, and text.
    pub(crate) fn sources(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        SOURCES.iter().copied().filter(move |(path, _)| {
            path.split_once('/').is_some_and(|(folder, _)| folder == "program" || folder == self.folder())
        })
    }
}

/// One patient, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patient {
    /// Its name on the command line.
    pub id: &'static str,
    /// Ill or healthy.
    pub kind: Kind,
    /// One sentence on what is wrong with it.
    pub illness: &'static str,
    /// The findings that a diagnosis should report; none for a control.
    pub findings: Vec<&'static str>,
    /// The methods or types that are to blame, with their namespace; none for a control.
    pub culprits: Vec<&'static str>,
    /// Where it runs.
    pub runtimes: Vec<Runtime>,
    /// The assembly that holds it.
    pub assembly: Assembly,
    /// Its source below the folder `patients`.
    pub source: &'static str,
}

/// All patients: those that run everywhere, those of .NET 9, of ASP.NET Core, in C# 12, and with embedded symbols, each group by file name.
pub fn patients() -> &'static [Patient] {
    static PATIENTS: OnceLock<Vec<Patient>> = OnceLock::new();
    // A header that does not parse is caught by the test below, so here it only hides its patient.
    PATIENTS.get_or_init(|| parse_all().into_iter().filter_map(Result::ok).collect())
}

/// The patients of one process, whose ids are joined by `+`.
pub fn named(ids: &str) -> Result<Vec<&'static Patient>, TestbedError> {
    ids.split('+').map(find).collect()
}

/// The assembly that holds all patients of one process, and the runtimes that all of them run on.
pub(crate) fn together(ids: &str) -> Result<(Assembly, Vec<Runtime>), TestbedError> {
    let patients = named(ids)?;
    let mut runtimes = Runtime::ALL.to_vec();
    runtimes.retain(|runtime| patients.iter().all(|patient| patient.runtimes.contains(runtime)));
    let mut assemblies = patients.iter().map(|patient| patient.assembly);
    match assemblies.next() {
        Some(first) if assemblies.all(|other| other == first) => Ok((first, runtimes)),
        _ => Err(TestbedError::NotTogether { ids: ids.to_owned() }),
    }
}

/// The patient called `id`.
fn find(id: &str) -> Result<&'static Patient, TestbedError> {
    patients().iter().find(|patient| patient.id == id).ok_or_else(|| TestbedError::UnknownPatient {
        id: id.to_owned(),
        known: patients().iter().map(|patient| patient.id).collect::<Vec<_>>().join(", "),
    })
}

fn parse_all() -> Vec<Result<Patient, HeaderError>> {
    Assembly::ALL
        .into_iter()
        .flat_map(|assembly| assembly.sources().map(move |(path, text)| (path, text, assembly)))
        .filter(|(path, _, _)| !path.starts_with("program/"))
        .map(|(path, text, assembly)| parse(path, text, assembly))
        .filter_map(Result::transpose)
        .collect()
}

/// What is wrong with a header, and where.
#[derive(Debug, PartialEq, Eq)]
struct HeaderError {
    source: &'static str,
    reason: String,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patients/{}: {}", self.source, self.reason)
    }
}

/// Reads one header. A file that names no patient holds code that other patients use.
fn parse(
    source: &'static str,
    text: &'static str,
    assembly: Assembly,
) -> Result<Option<Patient>, HeaderError> {
    let wrong = |reason: String| HeaderError { source, reason };
    let field = |name: &str| {
        text.lines()
            .map_while(|line| line.strip_prefix("//"))
            .find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let Some(id) = field("patient") else {
        return Ok(None);
    };
    let needed =
        |name: &str| field(name).ok_or_else(|| wrong(format!("the header has no line `// {name}:`")));
    let list = |text: &'static str| match text {
        "none" => Vec::new(),
        text => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
    };
    let kind = match needed("kind")? {
        "illness" => Kind::Illness,
        "control" => Kind::Control,
        other => return Err(wrong(format!("`{other}` is neither `illness` nor `control`"))),
    };
    let runtimes = needed("runtimes")?
        .split_whitespace()
        .map(|word| word.parse::<Runtime>().map_err(|error| wrong(error.to_string())))
        .collect::<Result<Vec<_>, _>>()?;
    let patient = Patient {
        id,
        kind,
        illness: needed("illness")?,
        findings: list(needed("finding")?),
        culprits: list(needed("culprit")?),
        runtimes,
        assembly,
        source,
    };
    if (kind == Kind::Illness) == patient.findings.is_empty() {
        return Err(wrong("an illness needs a finding, and a control has none".to_owned()));
    }
    Ok(Some(patient))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_header_parses_and_every_id_is_unique() {
        let mut wrong = Vec::new();
        let mut ids = BTreeSet::new();
        for result in parse_all() {
            match result {
                Ok(patient) if !ids.insert(patient.id) => {
                    wrong.push(format!("`{}` is there twice", patient.id))
                }
                Ok(patient) if patient.runtimes.is_empty() => {
                    wrong.push(format!("`{}` runs nowhere", patient.id))
                }
                Ok(_) => {}
                Err(error) => wrong.push(error.to_string()),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(!ids.is_empty(), "there are no patients");
    }

    #[test]
    fn a_file_without_a_patient_is_no_patient() {
        assert_eq!(parse("portable/Clock.cs", "using System;\n// patient: x", Assembly::Portable), Ok(None));
    }

    #[test]
    fn a_wrong_header_is_named_with_its_file() {
        let text = "// patient: x\n// kind: ill\n";
        let error = parse("portable/X.cs", text, Assembly::Portable).unwrap_err().to_string();
        assert_eq!(error, "patients/portable/X.cs: `ill` is neither `illness` nor `control`");
    }

    #[test]
    fn several_findings_are_separated_by_commas() {
        let text = "// patient:  x\n// kind: illness\n// illness: two things\n// finding: a, b\n\
                    // culprit: A.B.C\n// runtimes: 3.1 9\n// A remark.\n\nclass X {}";
        let patient = parse("portable/X.cs", text, Assembly::Portable).unwrap().unwrap();
        assert_eq!(patient.findings, ["a", "b"]);
        assert_eq!(patient.culprits, ["A.B.C"]);
        assert_eq!(patient.runtimes, [Runtime::Net31, Runtime::Net9]);
    }
}
