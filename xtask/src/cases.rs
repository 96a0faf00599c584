//! Recorded cases: the rules are judged on what checkups of all patients saw, in seconds and without any process.

use std::time::Instant;

use anyhow::{Result, bail};
use clinic::{CASES, Throughput, Visit, Ward};
use testbed::Testbed;

use crate::cargo;
use crate::clinic::is_wanted;

/// Patients that are recorded side by side while they rest.
const BEDS: usize = 5;

/// Judges all cases, or records some: `cases [record [PATIENT,...|all] [RUNTIME,...]]`. A case that is not judged as it should be is
/// not recorded. Without patients, those are recorded that have no case yet.
pub fn cases(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        None => judge(),
        Some((word, rest)) if word == "record" => record(rest),
        Some((word, _)) => bail!("cases {word}: `cases` judges all, `cases record` records"),
    }
}

fn judge() -> Result<()> {
    let begin = Instant::now();
    let mut wrong = Vec::new();
    let all = clinic::recorded(&cargo::root().join(CASES));
    for case in &all {
        match case {
            Ok(case) if case.is_met => {}
            Ok(case) => wrong.push(format!("{}: {}", case.visit, case.said.join(", "))),
            Err(error) => wrong.push(format!("{error:#}")),
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{} of {} cases are judged as they should be, in {seconds:.1} s",
        all.len() - wrong.len(),
        all.len()
    );
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn record(arguments: &[String]) -> Result<()> {
    cargo::cargo(["build", "--package", "cli"])?;
    let testbed = Testbed::open()?;
    testbed.prepare_all()?;
    let folder = cargo::root().join(CASES);
    std::fs::create_dir_all(&folder)?;
    let wanted = |text: &str, position: usize| is_wanted(arguments, text, position);
    let is_missing = |visit: &Visit| !folder.join(clinic::file_name(*visit)).exists();
    let visits: Vec<Visit> = clinic::all()
        .into_iter()
        .filter(|visit| wanted(visit.ids, 0) && wanted(visit.runtime.label(), 1))
        .filter(|visit| !arguments.is_empty() || is_missing(visit))
        .collect();
    let binary = cargo::built("debug/drdotnet");
    let (throughput, cases) = (Throughput::Unknown, Some(folder.as_path()));
    let ward = Ward { testbed: &testbed, binary: &binary, beds: BEDS, throughput, cases };
    let rows = ward.visit_all(&visits, &|row| println!("{}", row.line()));
    let missing = rows.iter().filter(|row| !row.as_ref().is_ok_and(clinic::Row::is_met)).count();
    println!("{} of {} cases recorded", rows.len() - missing, rows.len());
    rows.into_iter().filter_map(Result::err).for_each(|error| println!("  {error:#}"));
    if missing > 0 { bail!("{missing} were not judged as they should be, and not recorded") } else { Ok(()) }
}
