//! The clinic: every patient on every runtime is examined, and what the checkup says is held against what it has.

use anyhow::{Context, Result, bail};
use clinic::{PAGE, Row, Throughput, Visit, Ward};
use testbed::Testbed;

use crate::cargo;

/// Patients that are examined side by side while they rest; set `DRDOTNET_CLINIC_BEDS` for more or fewer.
const BEDS: usize = 2;

/// Examines the patients: `clinic [--debug] [PATIENT,...|all] [RUNTIME,...]`. Their rows of the table are written to its page, unless
/// a debug build was examined with.
pub fn clinic(arguments: &[String]) -> Result<()> {
    let is_debug = arguments.first().is_some_and(|word| word == "--debug");
    let arguments = if is_debug { arguments.get(1..).unwrap_or_default() } else { arguments };
    let profile: &[&str] = if is_debug { &[] } else { &["--release"] };
    cargo::cargo(["build", "--package", "cli"].iter().chain(profile))?;
    let binary = cargo::built(if is_debug { "debug/drdotnet" } else { "release/drdotnet" });
    let testbed = Testbed::open()?;
    testbed.prepare_all()?;
    let wanted = |text: &str, position: usize| is_wanted(arguments, text, position);
    let is_pair = |visit: &Visit| visit.group() == clinic::Group::Pair;
    let visits: Vec<Visit> = clinic::all()
        .into_iter()
        .filter(|visit| wanted(visit.ids, 0) || (is_pair(visit) && wanted("pairs", 0)))
        .filter(|visit| wanted(visit.runtime.label(), 1))
        .collect();
    if visits.is_empty() {
        bail!(
            "no such patient on such a runtime; `cargo run -p testbed -- list` lists them, `pairs` are all pairs"
        );
    }
    let beds = std::env::var("DRDOTNET_CLINIC_BEDS").ok().and_then(|beds| beds.parse().ok()).unwrap_or(BEDS);
    let throughput = if is_debug { Throughput::Unknown } else { Throughput::Measured };
    let ward = Ward { testbed: &testbed, binary: &binary, beds, throughput, cases: None };
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for answer in ward.visit_all(&visits, &|row| println!("{}", row.line())) {
        match answer {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(format!("{error:#}")),
        }
    }
    let unmet = rows.iter().filter(|row| !row.is_met());
    println!("{} of {} as they should be", rows.len() - unmet.clone().count(), rows.len());
    unmet.map(Row::line).for_each(|line| println!("  {line}"));
    if !is_debug {
        let path = cargo::root().join(PAGE);
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        std::fs::write(&path, clinic::page(&rows, &before)).with_context(|| format!("writing {PAGE}"))?;
        println!("written to {PAGE}");
    }
    if !errors.is_empty() {
        bail!("{} of {} could not be examined:\n{}", errors.len(), visits.len(), errors.join("\n"));
    }
    Ok(())
}

/// Whether a patient or runtime is among those that were typed at a position: `all`, some, or nothing for all.
pub fn is_wanted(arguments: &[String], text: &str, position: usize) -> bool {
    let chosen = |words: &String| words == "all" || words.split(',').any(|word| word == text);
    arguments.get(position).is_none_or(chosen)
}
