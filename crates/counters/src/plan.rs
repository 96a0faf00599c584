//! What a session asks of the runtime.

use std::time::Duration;

use diagnostics_ipc::{Level, Provider, Rundown, TraceRequest};
use model::Redaction;
use runtime_events::provider;

use crate::selection::{GroupSource, Selection};

/// Buffer in the target. A counter is some hundred bytes once per interval.
const BUFFER_MB: u32 = 16;
/// Values of series, out of the keywords of the meters' event source.
const TIME_SERIES_VALUES: u64 = 0x2;
/// The session that several tools can be in at once.
const SHARED: &str = "SHARED";
/// The first runtime that has shared sessions.
const SHARED_SINCE: u32 = 8;

/// How often, and how much at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Between two values.
    pub interval: Duration,
    /// Most series of meters that the runtime follows.
    pub max_series: u32,
    /// Most histograms among them.
    pub max_histograms: u32,
}

impl Default for Limits {
    /// What dotnet-counters has, so that both can look at one process.
    fn default() -> Limits {
        Limits { interval: Duration::from_secs(1), max_series: 1000, max_histograms: 10 }
    }
}

/// What is asked of one runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which counters.
    pub selection: Selection,
    /// How often, and how much at most.
    pub limits: Limits,
    /// The session of meters: others' values come along and are told apart by it.
    pub(crate) session: String,
    /// Who we are in a shared session.
    pub(crate) client: String,
    /// Whether values of tags and the program's messages are hidden.
    pub(crate) redaction: Redaction,
}

impl Plan {
    /// For a runtime of this major version (none: older than 5 or unknown). `unique` must be ours alone among all that
    /// look at the process.
    #[must_use]
    pub fn new(selection: Selection, limits: Limits, runtime: Option<u32>, unique: &str) -> Plan {
        let shared = runtime.is_some_and(|major| major >= SHARED_SINCE);
        let session = if shared { SHARED.to_owned() } else { unique.to_owned() };
        Plan { selection, limits, session, client: unique.to_owned(), redaction: Redaction::Off }
    }

    /// The same, with the values of tags and the program's messages shown or hidden.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Plan {
        Plan { redaction, ..self }
    }

    /// The session to be started.
    #[must_use]
    pub fn request(&self) -> TraceRequest {
        let seconds = self.limits.interval.as_secs_f64();
        let mut providers: Vec<Provider> = Vec::new();
        for group in self.selection.groups() {
            let mut source = Provider::new(&group.provider, 0, Level::Informational);
            source.arguments = format!("EventCounterIntervalSec={seconds}");
            providers.push(source);
        }
        let metrics = self.metrics();
        if !metrics.is_empty() {
            let Limits { max_series, max_histograms, .. } = self.limits;
            let mut meters = Provider::new(provider::METRICS, TIME_SERIES_VALUES, Level::Informational);
            meters.arguments = format!(
                "SessionId={};Metrics={};RefreshInterval={seconds};MaxTimeSeries={max_series};\
                 MaxHistograms={max_histograms};ClientId={}",
                self.session,
                quoted(&metrics),
                self.client
            );
            providers.push(meters);
        }
        TraceRequest { rundown: Rundown::None, stacks: false, ..TraceRequest::new(BUFFER_MB, providers) }
    }

    /// `Meter` or `Meter\instrument` for each: what is not asked for costs the target nothing.
    fn metrics(&self) -> String {
        let mut specs: Vec<String> = Vec::new();
        for group in self.selection.groups() {
            if group.source == GroupSource::EventCounters {
                continue;
            }
            if group.counters.is_empty() {
                specs.push(group.provider.clone());
            }
            specs.extend(group.counters.iter().map(|counter| format!("{}\\{counter}", group.provider)));
        }
        specs.join(",")
    }
}

/// A value within the arguments of a provider; the grammar of names keeps quotes out.
fn quoted(value: &str) -> String {
    if value.contains([';', '=']) { format!("\"{value}\"") } else { value.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(selection: &str, runtime: Option<u32>) -> Vec<(String, u64, String)> {
        let selection = Selection::parse(selection).unwrap();
        let plan = Plan::new(selection, Limits::default(), runtime, "ours");
        let providers = plan.request().providers.into_iter();
        providers.map(|provider| (provider.name, provider.keywords, provider.arguments)).collect()
    }

    #[test]
    fn both_kinds_are_asked_for() {
        let shared = "SessionId=SHARED;Metrics=System.Runtime;RefreshInterval=1;MaxTimeSeries=1000;\
                      MaxHistograms=10;ClientId=ours";
        assert_eq!(
            asked("System.Runtime", Some(9)),
            [
                ("System.Runtime".into(), 0, "EventCounterIntervalSec=1".into()),
                ("System.Diagnostics.Metrics".into(), 2, shared.into())
            ]
        );
        let old = asked("System.Runtime", None);
        assert!(old[1].2.starts_with("SessionId=ours;"), "{old:?}");
    }

    #[test]
    fn only_what_is_named_is_asked_for() {
        let asked = asked("A[x,y],EventCounters\\B,C;D", Some(8));
        assert_eq!(asked.len(), 4);
        assert!(asked[3].2.contains("Metrics=\"A\\x,A\\y,C;D\";"), "{asked:?}");
    }
}
