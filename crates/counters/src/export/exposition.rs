//! The newest values as the text formats of Prometheus (0.0.4) and OpenMetrics (1.0.0).
//!
//! Counters of meters are shown with the total that the runtime knows; EventCounters that count, and meters before .NET 8,
//! with the sum since this tool began to look. A histogram is a summary: quantiles of the last interval, sum and count
//! since this tool began.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::{escaped, labels, process_labels};
use super::names::{family, unit};
use super::number::prometheus;
use crate::board::Board;
use crate::counter::Reading;
use crate::series::Series;

/// Which text format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// Prometheus, version 0.0.4.
    Prometheus,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

/// A process and its values.
#[derive(Clone, Copy, Debug)]
pub struct Exposed<'a> {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub process: &'a str,
    /// Its values.
    pub board: &'a Board,
    /// Whether it is there.
    pub up: bool,
    /// Whether its values are shown: those of a process that has ended are not, while others go on.
    pub shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Counter,
    Gauge,
    Summary,
}

impl Kind {
    fn of(reading: &Reading) -> Kind {
        match reading {
            Reading::Increment { .. } | Reading::Counter { .. } => Kind::Counter,
            Reading::Histogram { .. } => Kind::Summary,
            Reading::Gauge(_) | Reading::UpDown { .. } => Kind::Gauge,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Summary => "summary",
        }
    }

    /// What is added to a family's name for its samples.
    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Kind::Counter => &["", "_total"],
            Kind::Gauge => &[""],
            Kind::Summary => &["", "_sum", "_count"],
        }
    }
}

struct Family {
    kind: Kind,
    unit: Option<&'static str>,
    help: String,
    /// The labels that are there already, and the lines.
    seen: BTreeSet<String>,
    lines: String,
}

/// Renders the newest values of some processes.
#[must_use]
pub fn render(format: Exposition, processes: &[Exposed<'_>]) -> String {
    let mut text = String::new();
    text += "# HELP drdotnet_target_up Whether the process is there and its counters come.\n";
    text += "# TYPE drdotnet_target_up gauge\n";
    for process in processes {
        let labels = process_labels(process.pid, process.process);
        text += &format!("drdotnet_target_up{{{labels}}} {}\n", u8::from(process.up));
    }
    for (name, family) in families(processes) {
        // In the older format the family of a counter is called as its samples are.
        let shown = match (format, family.kind) {
            (Exposition::Prometheus, Kind::Counter) => format!("{name}_total"),
            _ => name.clone(),
        };
        let mut help = escaped(&family.help);
        if format == Exposition::Prometheus {
            // There, a quote in a help text is not escaped, and must not be.
            help = help.replace("\\\"", "\"");
        }
        text += &format!("# HELP {shown} {help}\n# TYPE {shown} {}\n", family.kind.word());
        if let (Exposition::OpenMetrics, Some(unit)) = (format, family.unit) {
            text += &format!("# UNIT {shown} {unit}\n");
        }
        text += &family.lines;
    }
    if format == Exposition::OpenMetrics {
        text += "# EOF\n";
    }
    text
}

fn families(processes: &[Exposed<'_>]) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    // Which family each name of a sample belongs to: no two may share one.
    let mut owners: BTreeMap<String, (String, Kind)> = BTreeMap::new();
    for process in processes.iter().filter(|process| process.shown) {
        for (_, series) in process.board.series() {
            let kind = Kind::of(&series.reading);
            let unit = unit(series.counter.unit.as_deref());
            let mut wanted = family(&series.counter.provider, &series.counter.name, unit);
            if kind == Kind::Counter {
                wanted = wanted.strip_suffix("_total").map(str::to_owned).unwrap_or(wanted);
            }
            let name = claim(&mut owners, &wanted, kind);
            // A number behind the name, and it does not end with its unit any more.
            let unit = unit.filter(|unit| name.ends_with(unit));
            let help = series.counter.description.as_deref().unwrap_or(series.counter.shown_name());
            let family = families.entry(name.clone()).or_insert_with(|| Family {
                kind,
                unit,
                help: help.to_owned(),
                seen: BTreeSet::new(),
                lines: String::new(),
            });
            let mut labels = labels(process.pid, process.process, series);
            let mut number = 2;
            let base = labels.clone();
            while !family.seen.insert(labels.clone()) {
                labels = format!("{base},series=\"{number}\"");
                number += 1;
            }
            samples(&mut family.lines, &name, &labels, series);
        }
    }
    families
}

/// A name of which no sample belongs to another family: the wanted one, or one with a number behind it.
fn claim(owners: &mut BTreeMap<String, (String, Kind)>, wanted: &str, kind: Kind) -> String {
    let mut name = wanted.to_owned();
    let mut number = 2;
    loop {
        let ours = (name.clone(), kind);
        let names: Vec<String> = kind.suffixes().iter().map(|suffix| format!("{name}{suffix}")).collect();
        if names.iter().all(|sample| owners.get(sample).is_none_or(|owner| *owner == ours)) {
            for sample in names {
                owners.insert(sample, ours.clone());
            }
            return name;
        }
        name = format!("{wanted}_{number}");
        number += 1;
    }
}

fn samples(lines: &mut String, name: &str, labels: &str, series: &Series) {
    let mut line = |suffix: &str, more: &str, value: f64| {
        *lines += &format!("{name}{suffix}{{{labels}{more}}} {}\n", prometheus(value));
    };
    match &series.reading {
        Reading::Gauge(value) | Reading::UpDown { value, .. } => line("", "", *value),
        Reading::Counter { total: Some(total), .. } => line("_total", "", *total),
        Reading::Counter { .. } | Reading::Increment { .. } => line("_total", "", series.accumulated),
        Reading::Histogram { quantiles, count, sum } => {
            for one in quantiles {
                line("", &format!(",quantile=\"{}\"", prometheus(one.quantile)), one.value);
            }
            // Runtimes before 8 tell neither.
            if sum.is_some() {
                line("_sum", "", series.accumulated);
            }
            if count.is_some() {
                #[expect(clippy::cast_precision_loss, reason = "the format has floating point numbers only")]
                line("_count", "", series.counted as f64);
            }
        }
    }
}
