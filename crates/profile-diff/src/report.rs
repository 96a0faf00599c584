//! What got slower, and what got faster.

use std::collections::BTreeMap;

use model::{
    Body, Cell, Column, Confidence, Cost, Culprit, CulpritKind, Evidence, Finding, ProcessId, ProfilerInfo,
    REPORT_SCHEMA, Report, Section, Severity, Table, Target, Timestamp, Unit, Window, WindowEnd,
};
use profile_formats::frame_label;
use reports::value::{format_number, format_whole};
use stored_profiles::{Recording, Side};

use crate::difference::{By, Difference, MethodChange};

/// A method is told of when it took so much more by itself, in points of per cent...
const LEAST_CHANGE: f64 = 1.0;
/// ...and so many times what chance alone would do (which is two standard deviations).
const LEAST_CERTAINTY: f64 = 1.5;
/// Most methods that are told of.
const MOST: usize = 3;

impl Difference<'_> {
    /// The report, with so many rows in each table.
    #[must_use]
    pub fn report(&self, top: usize, tool_version: &str) -> Report {
        let [before, after] = self.recordings;
        let own = |method: &MethodChange| method.own;
        let total = |method: &MethodChange| method.total;
        let is_own = |method: &MethodChange| !symbols::is_framework(&method.frame);
        // A change is one of all callers, too; the program's own are those to look for.
        let has_own = self.methods.iter().any(is_own);
        let of_total = |method: &MethodChange| !has_own || is_own(method);
        let sections = vec![
            self.table("slower", "More by themselves", top, 1.0, own, |_| true),
            self.table("faster", "Less by themselves", top, -1.0, own, |_| true),
            self.table("slower-total", "More, with all they called", top, 1.0, total, of_total),
            self.table("faster-total", "Less, with all they called", top, -1.0, total, of_total),
        ];
        let mut report = Report {
            schema: REPORT_SCHEMA.to_owned(),
            tool_version: tool_version.to_owned(),
            profiler: ProfilerInfo {
                id: "cpu-diff".to_owned(),
                name: "Profile difference".to_owned(),
                question: "What got slower, and what got faster?".to_owned(),
                parameters: BTreeMap::from([
                    ("by".to_owned(), by_word(self.by).to_owned()),
                    ("side".to_owned(), self.side.id().to_owned()),
                    ("top".to_owned(), top.to_string()),
                ]),
            },
            target: target(after),
            window: Window {
                started_at: started(after),
                requested_ns: self.wholes[1].duration_ns,
                measured_ns: self.wholes[1].duration_ns,
                end: WindowEnd::Completed,
            },
            outcome: None,
            summary: self.summary(),
            findings: self.findings(),
            sections: sections.into_iter().flatten().collect(),
            notes: self.notes(before, after),
            cost: Cost {
                method: "two stored profiles; no process was touched".to_owned(),
                ..Cost::default()
            },
        };
        report.rank_findings();
        report
    }

    /// Methods whose weight went the way of `sign`, the largest change first.
    fn table(
        &self,
        id: &str,
        title: &str,
        top: usize,
        sign: f64,
        pair: fn(&MethodChange) -> [u64; 2],
        filter: impl Fn(&MethodChange) -> bool,
    ) -> Option<Section> {
        let is_own = !id.ends_with("total");
        let mut rows: Vec<(f64, &MethodChange)> = self
            .methods
            .iter()
            .filter(|method| filter(method))
            .map(|method| (sign * self.change(pair(method)), method))
            .filter(|(change, _)| *change > 0.0)
            .collect();
        rows.sort_by(|one, other| {
            let names = || frame_label(&one.1.frame).cmp(&frame_label(&other.1.frame));
            other.0.total_cmp(&one.0).then_with(names)
        });
        if rows.is_empty() {
            return None;
        }
        let mut columns = vec![Column::new("change", "Change", Unit::Percent)];
        if is_own {
            columns.push(Column::new("chance", "Chance \u{b1}", Unit::Percent));
        }
        columns.extend([
            Column::new("before", "Before", Unit::Percent),
            Column::new("after", "After", Unit::Percent),
            Column::new("method", "Method", Unit::Text),
        ]);
        let mut table = Table::new(columns);
        table.omitted_rows = rows.len().saturating_sub(top) as u64;
        for (change, method) in rows.into_iter().take(top) {
            let [before, after] = pair(method);
            let mut row = vec![Cell::from(sign * change)];
            if is_own {
                row.push(self.chance(method).into());
            }
            row.extend([
                self.percent(0, before).into(),
                self.percent(1, after).into(),
                frame_label(&method.frame).into(),
            ]);
            table.push(row);
        }
        Some(Section::new(id, title, Body::Table(table)))
    }

    /// Methods that took more by themselves, and surely so.
    fn slower(&self) -> Vec<(f64, &MethodChange)> {
        let mut slower: Vec<(f64, &MethodChange)> = self
            .methods
            .iter()
            .map(|method| (self.change(method.own), method))
            .filter(|(change, method)| {
                let chance = self.chance(method).unwrap_or(0.0);
                *change >= LEAST_CHANGE && *change >= LEAST_CERTAINTY * chance
            })
            .collect();
        slower.sort_by(|one, other| other.0.total_cmp(&one.0));
        slower
    }

    fn findings(&self) -> Vec<Finding> {
        self.slower().into_iter().take(MOST).map(|(change, method)| self.finding(change, method)).collect()
    }

    fn finding(&self, change: f64, method: &MethodChange) -> Finding {
        let [before, after] = [0, 1].map(|place| percent(self.percent(place, method.own[place])));
        let chance = self.chance(method);
        let mut evidence =
            vec![Evidence { what: "by itself".to_owned(), seen: format!("{before} before, {after} after") }];
        let totals = [0, 1].map(|place| percent(self.percent(place, method.total[place])));
        evidence.push(Evidence {
            what: "with all it called".to_owned(),
            seen: format!("{} before, {} after", totals[0], totals[1]),
        });
        if let Some(chance) = chance {
            evidence.push(Evidence {
                what: "chance alone".to_owned(),
                seen: format!("\u{b1}{}", percent(chance)),
            });
        }
        Finding {
            id: "slower-method".to_owned(),
            severity: Severity::Warning,
            confidence: if chance.is_some() { Confidence::High } else { Confidence::Medium },
            title: format!("{} takes {} more time than before.", method.frame.name, points(change)),
            culprit: Some(Culprit {
                file: method.frame.file.clone(),
                line: method.frame.line,
                ..Culprit::new(CulpritKind::Method, &method.frame.name)
            }),
            facts: Vec::new(),
            evidence,
            advice: vec!["draw it to see on which paths: -o diff.html".to_owned()],
            command: None,
        }
    }

    fn summary(&self) -> String {
        let [before, after] = self.wholes;
        let what = match self.side {
            Side::OnCpu => "Time on the CPU",
            Side::OffCpu => "Time waiting",
            Side::Ready => "Time ready without a processor",
        };
        let most = self.slower().first().map_or_else(
            || "No method takes surely more by itself than before.".to_owned(),
            |(change, method)| format!("Grew most by itself: {}, {}.", method.frame.name, points(*change)),
        );
        match self.by {
            By::Total => format!("Compared by share of all. {most}"),
            By::Time => {
                let [was, is] = [self.percent(0, before.total), self.percent(1, after.total)];
                let word = if (is - was).abs() < 0.05 {
                    "is as it was"
                } else if is > was {
                    "rose"
                } else {
                    "fell"
                };
                format!("{what} {word}: {} of the time before, {} after. {most}", percent(was), percent(is))
            }
        }
    }

    fn notes(&self, before: &Recording, after: &Recording) -> Vec<String> {
        let mut notes = vec![match self.by {
            By::Time => {
                "100 % is one thread all the time, so that several threads can have more. Under another load \
                         than before, compare by share of all: --by total."
                    .to_owned()
            }
            By::Total => {
                "100 % is everything that was recorded: a method can have a larger share because another one \
                          got faster."
                    .to_owned()
            }
        }];
        let count = |samples| format_whole(samples, Unit::Count);
        notes.push(match (before.rate_hz, after.rate_hz) {
            (Some(_), Some(_)) => format!(
                "{} samples before, {} after. Changes smaller than what stands under Chance can be chance; longer \
                 recordings make it smaller.",
                count(self.wholes[0].samples),
                count(self.wholes[1].samples)
            ),
            _ => "How many samples there were is not known for both, so nothing is said of what chance alone would do."
                .to_owned(),
        });
        if before.started > after.started && after.started.is_some() {
            notes.push(
                "The first recording is younger than the second: the change is told backwards.".to_owned(),
            );
        }
        notes
    }
}

fn by_word(by: By) -> &'static str {
    match by {
        By::Time => "time",
        By::Total => "total",
    }
}

fn percent(value: f64) -> String {
    format_number(value, Unit::Percent)
}

fn points(change: f64) -> String {
    format!("{change:.1} percentage points")
}

fn target(recording: &Recording) -> Target {
    let process = recording.profiles.iter().find_map(|(_, profile)| profile.process).unwrap_or(0);
    Target {
        pid: ProcessId(u32::try_from(process).unwrap_or(0)),
        name: recording.name.clone(),
        runtime_version: None,
        architecture: None,
        started_at: None,
        command_line: None,
    }
}

fn started(recording: &Recording) -> Timestamp {
    recording.started.and_then(|started| Timestamp::try_from(started).ok()).unwrap_or(Timestamp::UNIX_EPOCH)
}
