//! From verdicts to one report.

use std::collections::BTreeMap;
use std::time::Duration;

use model::{
    Body, Cell, Column, Cost, HostCost, ProfilerInfo, REPORT_SCHEMA, Report, Section, Severity, Table,
    Timestamp, Unit, Window, WindowEnd,
};
use process_view::Process;

use crate::rules::{Case, RULES, Verdict};
use crate::signs::Unseen;
use crate::steps::Leave;
use crate::words::counted;

/// The first word of the summary when nothing is wrong.
pub const HEALTHY: &str = "Healthy";

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
    let summary = summary(case, &verdicts);
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
    if case.signs.exited || looks.into_iter().any(|end| end == WindowEnd::TargetExited) {
        WindowEnd::TargetExited
    } else if case.signs.cancelled || case.looks.cancelled {
        WindowEnd::Cancelled
    } else {
        WindowEnd::Completed
    }
}

fn summary(case: &Case<'_>, verdicts: &[Verdict]) -> String {
    let ill: Vec<&Verdict> =
        verdicts.iter().filter(|verdict| verdict.finding.severity >= Severity::Warning).collect();
    let found = match ill.as_slice() {
        [] => String::new(),
        [one] => format!("1 illness: {}.", one.finding.title),
        [worst, ..] => format!("{} illnesses, the worst first: {}.", ill.len(), worst.finding.title),
    };
    let early = match end(case) {
        WindowEnd::TargetExited => Some("The process ended while it was examined"),
        WindowEnd::Cancelled => Some("You ended the checkup early"),
        _ => None,
    };
    if let Some(early) = early {
        return format!("{early}; this is what was seen until then. {found}").trim_end().to_owned();
    }
    let looks = match case.looks.taken.len() {
        0 => String::new(),
        taken => format!(" and {}", counted(taken, "closer look", "closer looks")),
    };
    let unseen = case.signs.unseen.len() + case.looks.unseen.len();
    match ill.is_empty() {
        false => found,
        true if case.signs.runtime.is_none() => {
            "Nothing wrong was found from outside, but the runtime could not be asked.".to_owned()
        }
        true if unseen > 0 => format!(
            "{HEALTHY} as far as was seen: nothing wrong by the vital signs{looks}; {} could not be looked at.",
            counted(unseen, "thing", "things")
        ),
        true => format!("{HEALTHY}: nothing wrong by the vital signs{looks}."),
    }
}

/// A finding with the one command that digs deeper.
fn with_command(case: &Case<'_>, verdict: Verdict) -> model::Finding {
    let mut finding = verdict.finding;
    let pid = case.process.pid;
    let seen_by = |look: &str| {
        let report = case.looks.report(look);
        report.is_some_and(|report| report.findings.iter().any(|found| found.title == finding.title))
    };
    let rule = RULES.iter().find(|rule| rule.id == finding.id);
    let deeper = rule.map(|rule| match rule.id {
        // Memory outside of the heap is found by another look than the heap's.
        "memory-leak" if seen_by("heap-composition") => "run heap-composition",
        // Stops that are no collections are told by another look, too.
        "long-gc-pauses" if seen_by("runtime-pauses") => "run runtime-pauses",
        _ => rule.deeper,
    });
    finding.command = deeper.map(|deeper| format!("drdotnet {deeper} -p {pid}"));
    for advice in &mut finding.advice {
        *advice = advice.replace("-p PID", &format!("-p {pid}"));
    }
    finding
}

fn looked(case: &Case<'_>) -> Section {
    let mut table = Table::new([
        Column::new("look", "Look", Unit::Text),
        Column::new("why", "Because", Unit::Text),
        Column::new("answer", "Answer", Unit::Text),
        Column::new("took", "Took", Unit::Nanoseconds),
    ]);
    for taken in &case.looks.taken {
        let answer = Cell::from(taken.report.summary.clone());
        let took = Cell::from(nanos(taken.took));
        table.push([Cell::from(taken.id), Cell::from(taken.why.clone()), answer, took]);
    }
    Section::new("looks", "Closer looks", Body::Table(table))
}

fn unseen(case: &Case<'_>) -> Option<Section> {
    // What has one reason is told once.
    let mut all: Vec<Unseen> = Vec::new();
    for unseen in case.signs.unseen.iter().chain(&case.looks.unseen) {
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
    let (first, heap) = case.looks.spent;
    let [signs, first, heap] =
        [case.signs.window, first, heap].map(|time| format!("{:.1} s", time.as_secs_f64()));
    let method = format!("vital signs {signs}, closer looks {first}, looks at the heap {heap}");
    let mut cost = Cost { method, ..Cost::default() };
    cost.target_cpu_ns = case.signs.system.as_ref().and_then(|system| system.for_us_ns);
    if let Some(told) = case.signs.told() {
        (cost.bytes, cost.events, cost.events_lost) = (told.bytes, told.events, told.lost);
    }
    cost.bytes += case.signs.calls.bytes;
    cost.events += case.signs.calls.events;
    for taken in &case.looks.taken {
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

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
