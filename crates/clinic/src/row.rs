//! One line of the table: written, and read back.

use std::fmt::Write as _;

use crate::throughput::Share;
use crate::visits::Visit;

/// Whether something that had to be found was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was.
    Yes,
    /// It was not.
    No,
}

/// What came of a visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Who, and where.
    pub visit: Visit,
    /// Whether all illnesses were found; none for the healthy.
    pub found: Option<Answer>,
    /// Whether each was found with the right culprit.
    pub culprit: Option<Answer>,
    /// Findings of severity warning or above that should not be there.
    pub false_findings: Vec<String>,
    /// All such findings with their culprits.
    pub said: Vec<String>,
    /// How long the checkup took.
    pub seconds: f64,
    /// Work per second while it ran, against before.
    pub throughput: Option<Share>,
    /// Whether it took leave to stop the program for longer than 100 ms.
    pub with_leave: bool,
}

/// In front of a row's time when leave was needed.
const LEAVE: &str = "with leave, ";

impl Row {
    /// Whether all is as it should be.
    pub fn is_met(&self) -> bool {
        self.found != Some(Answer::No) && self.culprit != Some(Answer::No) && self.false_findings.is_empty()
    }

    /// The row of the table.
    pub fn markdown(&self) -> String {
        let falsely = match self.false_findings.as_slice() {
            [] => "none".to_owned(),
            some => format!("**{}**", some.join(", ")),
        };
        let leave = if self.with_leave { LEAVE } else { "" };
        format!(
            "| `{}` | {} | {} | {} | {falsely} | {leave}{:.0} s | {} |",
            self.visit.ids,
            self.visit.runtime,
            word(self.found),
            word(self.culprit),
            self.seconds,
            self.throughput.map_or_else(|| "-".to_owned(), share),
        )
    }

    /// Reads a row back, if it is that of a visit.
    pub fn from_markdown(line: &str, visits: &[Visit]) -> Option<Row> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
        let [ids, runtime, found, culprit, falsely, time, throughput] = cells.as_slice() else { return None };
        let ids = ids.trim_matches('`');
        let visit = visits.iter().find(|visit| visit.ids == ids && visit.runtime.label() == *runtime)?;
        let falsely = falsely.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        Some(Row {
            visit: *visit,
            found: answer(found),
            culprit: answer(culprit),
            false_findings: falsely
                .map(|all| all.split(", ").map(str::to_owned).collect())
                .unwrap_or_default(),
            said: Vec::new(),
            seconds: time.trim_start_matches(LEAVE).strip_suffix(" s")?.parse().ok()?,
            throughput: share_in(throughput),
            with_leave: time.starts_with(LEAVE),
        })
    }

    /// For the terminal.
    pub fn line(&self) -> String {
        let word = |is_wrong: bool, word: &'static str| if is_wrong { word } else { "" };
        let mut line = format!(
            "{:42} {:4} {:4.1} s {:>11}  ",
            self.visit.ids,
            self.visit.runtime.label(),
            self.seconds,
            self.throughput.map_or_else(String::new, share),
        );
        let is_missed = self.found == Some(Answer::No);
        line += word(self.with_leave, "with leave: ");
        line += word(is_missed, "NOT FOUND ");
        line += word(!is_missed && self.culprit == Some(Answer::No), "WRONG CULPRIT ");
        if !self.false_findings.is_empty() {
            let _ = write!(line, "FALSE FINDINGS {}; ", self.false_findings.join(", "));
        }
        line + &self.said.join(", ")
    }
}

/// As a cell of the table.
fn share(share: Share) -> String {
    format!("{:.0} % ± {:.0}", share.ratio * 100.0, share.spread * 100.0)
}

fn share_in(text: &str) -> Option<Share> {
    let (ratio, spread) = text.split_once(" % ± ")?;
    let part = |percent: &str| Some(percent.parse::<f64>().ok()? / 100.0);
    Some(Share { ratio: part(ratio)?, spread: part(spread)? })
}

fn word(answer: Option<Answer>) -> &'static str {
    match answer {
        None => "healthy",
        Some(Answer::Yes) => "yes",
        Some(Answer::No) => "**no**",
    }
}

fn answer(word: &str) -> Option<Answer> {
    match word {
        "yes" => Some(Answer::Yes),
        "**no**" => Some(Answer::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visits::all;

    #[test]
    fn a_row_is_read_back_as_it_was_written() {
        let visits = all();
        for (number, visit) in visits.iter().enumerate() {
            let row = Row {
                visit: *visit,
                found: (number % 3 > 0).then_some(Answer::Yes),
                culprit: (number % 3 > 0).then_some(Answer::No),
                false_findings: if number % 2 == 0 {
                    vec!["a (B.C)".to_owned(), "d (nobody)".to_owned()]
                } else {
                    vec![]
                },
                said: Vec::new(),
                seconds: 13.0,
                throughput: (number % 5 > 0).then_some(Share { ratio: 0.97, spread: 0.02 }),
                with_leave: number % 2 > 0,
            };
            assert_eq!(Row::from_markdown(&row.markdown(), &visits), Some(row));
        }
    }

    #[test]
    fn other_lines_are_no_rows() {
        for line in
            ["", "| patient | runtime |", "|---|---|", "| `nobody` | 9 | yes | yes | none | 1 s | - |"]
        {
            assert_eq!(Row::from_markdown(line, &all()), None, "{line}");
        }
    }
}
