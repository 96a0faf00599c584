//! From verdicts to one report.

use std::collections::BTreeMap;
use std::time::Duration;

use discovery::DotnetProcess;
use judgement::{Case, Verdict};
use model::{
    Body, Cell, Column, Cost, Finding, HostCost, Outcome, ProfilerInfo, REPORT_SCHEMA, Report, Section,
    Severity, Table, Timestamp, Unit, Window, WindowEnd,
};
use process_view::Process;

use crate::signs::{Unseen, Vitals, section};
use crate::steps::{Leave, Looks};
use crate::wording::Wording;
use crate::words::counted;

/// Id, name and question of a checkup, as profilers have them.
#[must_use]
pub fn spec() -> (&'static str, &'static str, &'static str) {
    ("checkup", "Checkup", "What is wrong with this process?")
}

/// All that a report is made of.
pub(crate) struct Examination<'a> {
    pub(crate) process: &'a DotnetProcess,
    pub(crate) vitals: &'a Vitals,
    pub(crate) looks: &'a Looks,
    pub(crate) case: &'a Case,
    pub(crate) leave: Leave,
}

impl Examination<'_> {
    pub(crate) fn report(&self, verdicts: &[Verdict], started_at: Timestamp, took: Duration) -> Report {
        let (id, name, question) = spec();
        let reports: Vec<&Report> = self.looks.taken.iter().map(|taken| &taken.report).collect();
        let wording = Wording { reports: &reports, pid: self.process.pid };
        let findings: Vec<Finding> = verdicts.iter().map(|verdict| wording.finding(verdict)).collect();
        let mut sections = vec![section(&self.case.signs), self.looked()];
        sections.extend(self.unseen());
        let outcome = self.outcome(&findings);
        Report {
            schema: REPORT_SCHEMA.to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            profiler: ProfilerInfo {
                id: id.to_owned(),
                name: name.to_owned(),
                question: question.to_owned(),
                parameters: parameters(self.leave),
            },
            target: self.process.target(),
            window: Window {
                started_at,
                requested_ns: nanos(took),
                measured_ns: nanos(took),
                end: self.end(),
            },
            outcome: Some(outcome),
            summary: self.summary(&findings, outcome),
            findings,
            sections,
            notes: self.notes(),
            cost: self.cost(),
        }
    }
}

/// What was allowed, as parameters of a report and a session.
#[must_use]
pub fn parameters(leave: Leave) -> BTreeMap<String, String> {
    let word = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let mut parameters = BTreeMap::from([
        ("allow-pause".to_owned(), word(leave.long_pauses)),
        ("deep".to_owned(), word(leave.deep)),
    ]);
    if leave.redaction == model::Redaction::On {
        parameters.insert(profilers::REDACT.to_owned(), word(true));
    }
    parameters
}

impl Examination<'_> {
    fn end(&self) -> WindowEnd {
        let looks = self.looks.taken.iter().map(|taken| taken.report.window.end);
        if self.case.signs.exited || looks.into_iter().any(|end| end == WindowEnd::TargetExited) {
            WindowEnd::TargetExited
        } else if self.vitals.cancelled || self.looks.cancelled {
            WindowEnd::Cancelled
        } else {
            WindowEnd::Completed
        }
    }

    fn outcome(&self, findings: &[Finding]) -> Outcome {
        if !ill(findings).is_empty() {
            Outcome::Ill
        } else if self.end() != WindowEnd::Completed {
            Outcome::Unfinished
        } else if self.case.signs.runtime.is_none() {
            Outcome::OutsideOnly
        } else if self.unseen_count() > 0 {
            Outcome::HealthyAsFarAsSeen
        } else {
            Outcome::Healthy
        }
    }

    fn unseen_count(&self) -> usize {
        self.vitals.unseen.len() + self.looks.unseen.len()
    }

    fn summary(&self, findings: &[Finding], outcome: Outcome) -> String {
        let ill = ill(findings);
        let found = match ill.as_slice() {
            [] => String::new(),
            [one] => format!("1 illness: {}.", one.title),
            [worst, ..] => format!("{} illnesses, the worst first: {}.", ill.len(), worst.title),
        };
        let early = match self.end() {
            WindowEnd::TargetExited => Some("The process ended while it was examined"),
            WindowEnd::Cancelled => Some("You ended the checkup early"),
            _ => None,
        };
        if let Some(early) = early {
            return format!("{early}; this is what was seen until then. {found}").trim_end().to_owned();
        }
        let looks = match self.looks.taken.len() {
            0 => String::new(),
            taken => format!(" and {}", counted(taken, "closer look", "closer looks")),
        };
        match outcome {
            Outcome::Ill | Outcome::Unfinished => found,
            Outcome::OutsideOnly => {
                "Nothing wrong was found from outside, but the runtime could not be asked.".to_owned()
            }
            Outcome::HealthyAsFarAsSeen => format!(
                "Healthy as far as was seen: nothing wrong by the vital signs{looks}; {} could not be looked at.",
                counted(self.unseen_count(), "thing", "things")
            ),
            Outcome::Healthy => format!("Healthy: nothing wrong by the vital signs{looks}."),
        }
    }

    fn looked(&self) -> Section {
        let mut table = Table::new([
            Column::new("look", "Look", Unit::Text),
            Column::new("why", "Because", Unit::Text),
            Column::new("answer", "Answer", Unit::Text),
            Column::new("took", "Took", Unit::Nanoseconds),
        ]);
        for taken in &self.looks.taken {
            let answer = Cell::from(taken.report.summary.clone());
            let took = Cell::from(nanos(taken.took));
            table.push([Cell::from(taken.id), Cell::from(taken.why.clone()), answer, took]);
        }
        Section::new("looks", "Closer looks", Body::Table(table))
    }

    fn unseen(&self) -> Option<Section> {
        // What has one reason is said once.
        let mut all: Vec<Unseen> = Vec::new();
        for unseen in self.vitals.unseen.iter().chain(&self.looks.unseen) {
            match all.iter_mut().find(|known| known.why == unseen.why && known.how == unseen.how) {
                Some(known) => known.what += &format!("; {}", unseen.what),
                None => all.push(unseen.clone()),
            }
        }
        if all.is_empty() {
            return None;
        }
        let mut table = Table::new([
            Column::new("what", "Not looked at", Unit::Text),
            Column::new("why", "Why", Unit::Text),
            Column::new("how", "How to allow it", Unit::Text),
        ]);
        for unseen in all {
            let cells = [&unseen.what, &unseen.why, &unseen.how];
            table.push(cells.map(|text| Cell::from(text.replace("PID", &self.process.pid.to_string()))));
        }
        Some(Section::new("unseen", "What could not be looked at", Body::Table(table)))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(runtime) = self.case.signs.runtime.as_ref().filter(|runtime| runtime.lost > 0) {
            notes.push(format!("{} events were lost because the process's buffer was full", runtime.lost));
        }
        if let Some(system) =
            self.case.signs.system.as_ref().filter(|system| system.starved_percent() >= 30.0)
        {
            notes.push(format!(
                "the machine is crowded: its threads had no processor for {:.0} % of the time in which they could run",
                system.starved_percent()
            ));
        }
        notes
    }

    fn cost(&self) -> Cost {
        let (first, heap) = self.looks.spent;
        let [signs, first, heap] =
            [self.case.signs.window, first, heap].map(|time| format!("{:.1} s", time.as_secs_f64()));
        let method = format!("vital signs {signs}, closer looks {first}, looks at the heap {heap}");
        let mut cost = Cost { method, ..Cost::default() };
        cost.target_cpu_ns = self.case.signs.system.as_ref().and_then(|system| system.for_us_ns);
        if let Some(runtime) = self.case.signs.runtime.as_ref() {
            (cost.bytes, cost.events, cost.events_lost) = (runtime.bytes, runtime.events, runtime.lost);
        }
        cost.bytes += self.case.signs.calls.bytes;
        cost.events += self.case.signs.calls.events;
        for taken in &self.looks.taken {
            let of = &taken.report.cost;
            cost.bytes += of.bytes;
            cost.events += of.events;
            cost.events_lost += of.events_lost;
            if let Some(for_us) = of.target_cpu_ns {
                *cost.target_cpu_ns.get_or_insert(0) += for_us;
            }
            cost.pauses.count += of.pauses.count;
            cost.pauses.total_ns += of.pauses.total_ns;
            cost.pauses.longest_ns = cost.pauses.longest_ns.max(of.pauses.longest_ns);
        }
        cost.host = HostCost {
            cpu_ns: nanos(process_view::own_cpu_time()),
            peak_memory_bytes: Process::this().peak_memory().unwrap_or(0),
        };
        cost
    }
}

/// What somebody should do something about.
fn ill(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
