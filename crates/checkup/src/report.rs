//! From verdicts to one report.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Cost, HostCost, ProfilerInfo, REPORT_SCHEMA, Report, Section, Severity, Table,
    Timestamp, Unit, Window, WindowEnd, format_duration,
};
use process_view::Process;

use crate::rules::{Case, RULES, Verdict};
use crate::steps::Leave;
use crate::words::counted;

/// Id, name and question of a checkup, as profilers have them.
#[must_use]
pub fn spec() -> (&'static str, &'static str, &'static str) {
    ("checkup", "Checkup", "What is wrong with this process?")
}

pub(crate) fn report(
    case: &Case<'_>,
    verdicts: Vec<Verdict>,
    leave: Leave,
    started_at: Timestamp,
    took: Duration,
) -> Report {
    let (id, name, question) = spec();
    let mut sections = vec![case.signs.section(), looked(case)];
    sections.extend(unseen(case));
    let summary = summary(case, &verdicts, took);
    let findings = verdicts.into_iter().map(|verdict| with_command(case, verdict)).collect();
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        profiler: ProfilerInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            question: question.to_owned(),
            parameters: parameters(leave),
        },
        target: case.process.target(),
        window: Window { started_at, requested_ns: nanos(took), measured_ns: nanos(took), end: end(case) },
        summary,
        findings,
        sections,
        notes: notes(case),
        cost: cost(case),
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

fn end(case: &Case<'_>) -> WindowEnd {
    let looks = case.looks.taken.iter().map(|taken| taken.report.window.end);
    if case.signs.exited || looks.clone().any(|end| end == WindowEnd::TargetExited) {
        WindowEnd::TargetExited
    } else if case.signs.cancelled || looks.into_iter().any(|end| end == WindowEnd::Cancelled) {
        WindowEnd::Cancelled
    } else {
        WindowEnd::Completed
    }
}

fn summary(case: &Case<'_>, verdicts: &[Verdict], took: Duration) -> String {
    let ill: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.finding.severity >= Severity::Warning).collect();
    let looks = counted(case.looks.taken.len(), "closer look", "closer looks");
    let after =
        format!("vital signs and {looks} in {}", format_duration(Duration::from_secs(took.as_secs())));
    if case.signs.exited {
        return format!(
            "The process ended while it was examined; this is what was seen until then ({after})."
        );
    }
    match ill.as_slice() {
        [] if case.signs.runtime.is_none() => {
            format!("Nothing wrong was found from outside, but the runtime could not be asked ({after}).")
        }
        [] => format!("Healthy: nothing wrong was found ({after})."),
        [one] => format!("1 illness: {} ({after}).", one.finding.title),
        [worst, ..] => {
            format!("{} illnesses, the worst first: {} ({after}).", ill.len(), worst.finding.title)
        }
    }
}

/// A finding with the one command that digs deeper.
fn with_command(case: &Case<'_>, verdict: Verdict) -> model::Finding {
    let rule = RULES.iter().find(|rule| rule.id == verdict.finding.id);
    let command = rule.map(|rule| format!("drdotnet {} -p {}   digs deeper.", rule.deeper, case.process.pid));
    command.into_iter().fold(verdict.finding, model::Finding::advice)
}

fn looked(case: &Case<'_>) -> Section {
    let mut table = Table::new([
        Column::new("look", "Closer look", Unit::Text),
        Column::new("why", "Because", Unit::Text),
        Column::new("answer", "Answer", Unit::Text),
    ]);
    for taken in &case.looks.taken {
        let answer = Cell::from(taken.report.summary.clone());
        table.push([Cell::from(taken.id), Cell::from(taken.why.clone()), answer]);
    }
    Section::new("looks", "Closer looks", Body::Table(table))
}

fn unseen(case: &Case<'_>) -> Option<Section> {
    let all: Vec<_> = case.signs.unseen.iter().chain(&case.looks.unseen).collect();
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
        table.push(cells.map(|text| Cell::from(text.replace("PID", &case.process.pid.to_string()))));
    }
    Some(Section::new("unseen", "What could not be looked at", Body::Table(table)))
}

fn notes(case: &Case<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(told) = case.signs.told().filter(|told| told.lost > 0) {
        notes.push(format!("{} events were lost because the process's buffer was full", told.lost));
    }
    if let Some(system) = case.signs.system.as_ref().filter(|system| system.starved_percent() >= 30.0) {
        notes.push(format!(
            "the machine is crowded: its threads had no processor for {:.0} % of the time in which they could run",
            system.starved_percent()
        ));
    }
    notes
}

fn cost(case: &Case<'_>) -> Cost {
    let mut cost = Cost { method: "vital signs, then closer looks; see each".to_owned(), ..Cost::default() };
    if let Some(told) = case.signs.told() {
        (cost.bytes, cost.events, cost.events_lost) = (told.bytes, told.events, told.lost);
    }
    for taken in &case.looks.taken {
        let of = &taken.report.cost;
        cost.bytes += of.bytes;
        cost.events += of.events;
        cost.events_lost += of.events_lost;
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

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
