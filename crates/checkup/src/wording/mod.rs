//! From verdicts to findings in words. What a look found has its words already; what a rule put together gets them here.

mod signs;

use facts::{CallsKind, Doubt, Fact, Sign, method_name};
use judgement::{Ground, RULES, Verdict};
use model::{Evidence, Finding, Report, awaited_by};

/// What findings are put into words with.
pub(crate) struct Wording<'a> {
    /// The reports of the looks that verdicts refer to, in their order.
    pub(crate) reports: &'a [&'a Report],
    /// The process.
    pub(crate) pid: model::ProcessId,
}

impl Wording<'_> {
    /// A verdict as a finding, with the one command that digs deeper.
    pub(crate) fn finding(&self, verdict: &Verdict) -> Finding {
        let observed = &verdict.finding;
        let original = self.original(verdict);
        let mut finding = Finding::new(
            observed.id.clone(),
            observed.severity,
            observed.confidence,
            self.title(verdict, original),
        );
        finding.culprit.clone_from(&observed.culprit);
        finding.facts.clone_from(&observed.facts);
        finding.evidence = self.evidence(verdict, original);
        finding.advice = advice(verdict, original);
        for advice in &mut finding.advice {
            *advice =
                advice.replace("-p PID", &format!("-p {}", self.pid)).replace("PID", &self.pid.to_string());
        }
        finding.command = self.command(verdict);
        finding
    }

    /// What a look says, if it found this.
    fn original(&self, verdict: &Verdict) -> Option<&Finding> {
        match verdict.ground {
            Ground::Look { look, finding } => self.reports.get(look)?.findings.get(finding),
            Ground::Signs => None,
        }
    }

    fn title(&self, verdict: &Verdict, original: Option<&Finding>) -> String {
        if let Some(sign) = verdict.sign() {
            return signs::title(sign, verdict);
        }
        let Some(original) = original else { return String::new() };
        // The method that uses the processor may be a part of the one to blame.
        let name = |culprit: &Option<model::Culprit>| {
            culprit.as_ref().map(|culprit| method_name(&culprit.name).to_owned())
        };
        match name(&verdict.finding.culprit) {
            Some(blamed) if Some(&blamed) != name(&original.culprit).as_ref() => {
                format!("{blamed} keeps processors busy: {}", original.title)
            }
            _ => original.title.clone(),
        }
    }

    fn evidence(&self, verdict: &Verdict, original: Option<&Finding>) -> Vec<Evidence> {
        let mut lines = original.map(|original| original.evidence.clone()).unwrap_or_default();
        // What is said of a finding that a look made stands there already.
        if original.is_none() {
            lines.extend(verdict.sign().into_iter().flat_map(signs::evidence));
        }
        for cause in &verdict.causes {
            let what = match verdict.sign() {
                Some(Sign::FinalizerWaits { .. }) => "It waits because",
                _ => "Its owner meanwhile",
            };
            lines.push(line(what, self.title(cause, self.original(cause))));
        }
        let known = original.map_or(&[][..], |original| &original.facts);
        lines.extend(verdict.finding.facts.iter().filter(|fact| !known.contains(fact)).filter_map(of_fact));
        for symptom in &verdict.symptoms {
            lines.push(line("It also shows as", self.title(symptom, self.original(symptom))));
        }
        lines
    }

    fn command(&self, verdict: &Verdict) -> Option<String> {
        let rule = RULES.iter().find(|rule| rule.id == verdict.finding.id)?;
        let look =
            verdict.look().and_then(|look| self.reports.get(look)).map(|report| report.profiler.id.as_str());
        let deeper = match look.filter(|look| rule.deeper_by.contains(look)) {
            Some(look) => format!("run {look}"),
            None => rule.deeper.to_owned(),
        };
        Some(format!("drdotnet {deeper} -p {}", self.pid))
    }
}

fn line(what: impl Into<String>, seen: impl Into<String>) -> Evidence {
    Evidence { what: what.into(), seen: seen.into() }
}

/// What a rule adds to what a look found.
fn of_fact(fact: &Fact) -> Option<Evidence> {
    Some(match fact {
        Fact::AwaitedBy { method: Some(method), callers } => {
            line(format!("{method} is awaited by"), awaited_by(callers))
        }
        Fact::Doubt(doubt) => line("Against it", doubt_words(*doubt)),
        Fact::Opened { count, of } => line("Opened by it and left open", format!("{count} of {of}")),
        Fact::CallsTo { begun, .. } => line("Begun by it", begun.to_string()),
        _ => return None,
    })
}

fn doubt_words(doubt: Doubt) -> String {
    match doubt {
        Doubt::Crowded => "the machine is crowded, so it may only be behind with its work".to_owned(),
        Doubt::Sends => "most of it goes into sending, so it may only have much to answer".to_owned(),
        Doubt::NoProcessors { threads } => {
            format!("{threads:.0} of its threads wait for a processor at any time")
        }
    }
}

fn advice(verdict: &Verdict, original: Option<&Finding>) -> Vec<String> {
    let own = verdict.sign().map(signs::advice).unwrap_or_default();
    match original {
        Some(original) if own.is_empty() => original.advice.clone(),
        _ => own.into_iter().map(str::to_owned).collect(),
    }
}

/// The words for calls of a kind.
pub(crate) fn calls(kind: CallsKind) -> &'static str {
    match kind {
        CallsKind::Http => "outgoing HTTP calls",
        CallsKind::Database => "database commands",
    }
}

/// What to do about calls that are slow, or else fail.
pub(crate) fn call_advice(kind: CallsKind, is_slow: bool, all_under_way: bool) -> Vec<&'static str> {
    let mut advice = match (kind, is_slow) {
        (CallsKind::Http, true) => vec![
            "The time is lost in the other service, or on the way there: ask its owner.",
            "Until then: a timeout, a cache, or calls side by side instead of one after the other.",
        ],
        (CallsKind::Http, false) => vec![
            "Look at the other service, or at the way there: address, certificate, proxy, its load.",
            "Try again only after a growing pause, and stop asking for a while when most calls fail.",
        ],
        (CallsKind::Database, true) => vec![
            "Look at the statement's plan: a missing index, a lock of another transaction, too many rows.",
            "Until then: a shorter CommandTimeout, so that callers do not pile up behind it.",
        ],
        (CallsKind::Database, false) => {
            vec!["Look at what the server answers: timeouts, deadlocks, or a statement that no longer fits."]
        }
    };
    if all_under_way {
        advice.push("If these calls are meant to wait, as long polls are, nothing is wrong.");
    }
    advice
}

#[cfg(test)]
mod tests;
