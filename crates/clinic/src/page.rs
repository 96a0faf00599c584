//! The page that shows all rows, with what is required and what of it is not met.

use std::fmt::Write as _;

use testbed::Runtime;

use crate::row::{Answer, Row};
use crate::unmet;
use crate::visits::{Group, Visit, all};

/// Where it goes.
pub const PAGE: &str = "docs/clinic.md";

/// The rows of a page, in its order.
pub fn rows(page: &str) -> Vec<Row> {
    let visits = all();
    page.lines().filter_map(|line| Row::from_markdown(line, &visits)).collect()
}

/// The page: rows that were made now, and those of the page before for everybody else.
pub fn page(now: &[Row], before: &str) -> String {
    let before = rows(before);
    let of = |visit: &Visit| now.iter().chain(&before).find(|row| row.visit == *visit).cloned();
    let rows: Vec<Row> = all().iter().filter_map(of).collect();
    let mut page = INTRODUCTION.to_owned();
    let _ = writeln!(page, "{}\n\n## What is not met\n\n{}", required(&rows), not_met(&rows));
    for (group, title) in [
        (Group::Ill, "The ill"),
        (Group::Pair, "Two illnesses in one process"),
        (Group::Healthy, "The healthy, and the stranger"),
    ] {
        let _ = writeln!(page, "## {title}\n\n{HEAD}");
        for row in rows.iter().filter(|row| row.visit.group() == group) {
            let _ = writeln!(page, "{}", row.markdown());
        }
        page.push('\n');
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

const HEAD: &str = "| patient | runtime | found | culprit | false findings | time | throughput |\n|---|---|---|---|---|---|---|";

/// The part of its throughput that a program has to keep.
const LEAST: f64 = 0.98;

const INTRODUCTION: &str = "\
# The clinic

Every patient of [patients/](../patients/README.md) on every runtime, pairs of them in one process, and a program that is not ours
(`stranger`: Azure's `azmcp` on .NET 10), as `drdotnet checkup` sees them. Made by `cargo xtask clinic`; the tests examine each of them once,\non a runtime that changes from run to run.

- **found, culprit**: all illnesses of the program are named, each with a method, type or field that the patient's file names.
- **false findings**: of severity warning or above, that the program does not have, or that blame somebody else.
- **time**: of the checkup; \"with leave\" means that it was examined once more with `--allow-pause`, because the look at the heap
  would have stopped the program for more than 100 ms. All others were examined without it.
- **throughput**: pieces of work a second while the checkup runs, in per cent of the 6 s before it; \"-\" where the program does no
  countable work, or too little. Behind \"±\" stands what the program's own ups and downs (it may work in waves, or stop for
  collections) can do to that figure: two standard errors, from its half seconds before the checkup. One such pair of windows is
  rough, a program that works at a fixed pace only shows that it keeps it, and a leak may slow itself down; what a checkup really
  costs is measured in [benchmarks.md](benchmarks.md#checkup-what-being-examined-costs).

## What is required

";

fn required(rows: &[Row]) -> String {
    let mut lines = String::new();
    for runtime in [Runtime::Net10, Runtime::Net9, Runtime::Net8, Runtime::Net31] {
        let ill =
            || rows.iter().filter(|row| row.visit.group() == Group::Ill && row.visit.runtime == runtime);
        let _ = writeln!(
            lines,
            "- every illness is found with the right culprit on .NET {runtime}: {} of {}, {} with the right culprit",
            ill().filter(|row| row.found == Some(Answer::Yes)).count(),
            ill().count(),
            ill().filter(|row| row.culprit == Some(Answer::Yes)).count(),
        );
    }
    let pairs = || rows.iter().filter(|row| row.visit.group() == Group::Pair);
    let whole = pairs().filter(|row| row.culprit == Some(Answer::Yes)).count();
    let _ = writeln!(
        lines,
        "- both illnesses of a pair are found with their culprits: {whole} of {}",
        pairs().count()
    );
    let falsely = |group: fn(Group) -> bool| {
        rows.iter().filter(|row| group(row.visit.group()) && !row.false_findings.is_empty()).count()
    };
    let healthy = rows.iter().filter(|row| row.visit.group() == Group::Healthy).count();
    let _ = writeln!(
        lines,
        "- nothing is found in a healthy program: {} of {healthy} have a false finding; of the ill {} of {}",
        falsely(|group| group == Group::Healthy),
        falsely(|group| group != Group::Healthy),
        rows.len() - healthy,
    );
    let longest = rows.iter().map(|row| row.seconds).fold(0.0, f64::max);
    let mut ratios: Vec<f64> = rows.iter().filter_map(|row| Some(row.throughput?.ratio)).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |numerator: usize| ratios.get(ratios.len() * numerator / 4).copied().unwrap_or(f64::NAN) * 100.0;
    let _ = write!(
        lines,
        "- it takes 15 s at most: {longest:.0} s at most\n- throughput within 2 %: {:.0} % at the median of {} programs, quartiles {:.0} % \
         to {:.0} %; {} lost more than that and more than they vary; see the benchmark",
        at(2),
        ratios.len(),
        at(1),
        at(3),
        rows.iter().filter(|row| row.throughput.is_some_and(|share| share.is_less_than(LEAST))).count(),
    );
    lines
}

fn not_met(rows: &[Row]) -> String {
    let mut lines = String::new();
    for row in rows.iter().filter(|row| !row.is_met()) {
        let what = match (row.found, row.culprit) {
            (Some(Answer::No), _) => "not found",
            (_, Some(Answer::No)) => "found without the right culprit",
            (None, None) => "healthy",
            _ => "found",
        };
        let falsely = match row.false_findings.as_slice() {
            [] => String::new(),
            some => format!(", but with the false finding {}", some.join(", ")),
        };
        let why = unmet::reason(&row.visit).map(|why| format!(": {why}")).unwrap_or_default();
        let _ = writeln!(lines, "- `{}` on {}: {what}{falsely}{why}", row.visit.ids, row.visit.runtime);
    }
    if lines.is_empty() { "Nothing.\n".to_owned() } else { lines }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(visit: Visit, seconds: f64) -> Row {
        let answer = (visit.group() != Group::Healthy).then_some(Answer::Yes);
        Row {
            visit,
            found: answer,
            culprit: answer,
            false_findings: Vec::new(),
            said: Vec::new(),
            seconds,
            throughput: None,
            with_leave: false,
        }
    }

    #[test]
    fn rows_of_before_stay_where_there_is_no_new_one() {
        let all = all();
        let first = page(&all.iter().map(|visit| row(*visit, 12.0)).collect::<Vec<_>>(), "");
        assert!(first.contains("Nothing."), "{first}");
        let again = page(&[row(all[0], 14.0)], &first);
        let seconds: Vec<f64> = rows(&again).iter().map(|row| row.seconds).collect();
        assert_eq!(seconds.len(), all.len());
        assert_eq!(seconds.iter().filter(|time| **time > 13.0).count(), 1);
    }
}
