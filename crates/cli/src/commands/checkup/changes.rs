//! What came, what went, and what is still there.

use model::{Finding, Report};
use reports::printable;

/// In a few lines, against the examination before.
pub(super) fn told(before: &Report, now: &Report) -> String {
    let missing = |from: &Report, finding: &Finding| !from.findings.iter().any(|other| same(finding, other));
    let mut lines =
        vec![format!("{}  {}", reports::value::format_time(now.window.started_at), printable(&now.summary))];
    for finding in &now.findings {
        let is_new = missing(before, finding);
        let word = if is_new { "new" } else { "still" };
        lines.push(format!("  {word:<5}  {:<8}  {}", finding.severity.word(), printable(&finding.title)));
        if let Some(culprit) = finding.culprit.as_ref().filter(|_| is_new) {
            let place = culprit.file.as_ref().map(|file| match culprit.line {
                Some(line) => format!(" ({file}:{line})"),
                None => format!(" ({file})"),
            });
            let text = format!("{}{}", culprit.name, place.unwrap_or_default());
            lines.push(format!("{:19}{}", "", printable(&text)));
        }
        if let Some(command) = finding.command.as_ref().filter(|_| is_new) {
            lines.push(format!("{:19}$ {}", "", printable(command)));
        }
    }
    for finding in before.findings.iter().filter(|finding| missing(now, finding)) {
        lines.push(format!("  gone   {:<8}  {}", finding.severity.word(), printable(&finding.title)));
    }
    lines.join("\n")
}

/// Whether two findings are of one illness with one culprit. Its line may be another: it is where the code was seen.
fn same(one: &Finding, other: &Finding) -> bool {
    let name = |finding: &Finding| finding.culprit.as_ref().map(|culprit| culprit.name.clone());
    one.id == other.id && name(one) == name(other)
}

#[cfg(test)]
pub(super) mod tests {
    use model::{Confidence, Culprit, CulpritKind, Severity};

    use super::*;

    fn finding(id: &str, culprit: &str, line: u32) -> Finding {
        let culprit = Culprit { line: Some(line), ..Culprit::new(CulpritKind::Method, culprit) };
        let finding =
            Finding::new(id, Severity::Warning, Confidence::High, format!("{id} of {}", culprit.name));
        finding.culprit(culprit).command("drdotnet cpu -p 7")
    }

    pub fn report(findings: Vec<Finding>) -> Report {
        let text = r#"{"schema": "drdotnet.report/1", "tool_version": "0", "summary": "", "findings": [], "sections": [],
            "profiler": {"id": "checkup", "name": "Checkup", "question": "", "parameters": {}}, "notes": [],
            "target": {"pid": 7, "name": "App"},
            "window": {"started_at": "1970-01-01T00:00:00Z", "requested_ns": 1, "measured_ns": 1, "end": "completed"},
            "cost": {"method": "", "pauses": {"count": 0, "total_ns": 0, "longest_ns": 0}, "bytes": 0, "events": 0,
            "events_lost": 0, "host": {"cpu_ns": 0, "peak_memory_bytes": 0}}}"#;
        Report { findings, ..Report::from_json(text).unwrap() }
    }

    #[test]
    fn findings_are_told_as_new_still_there_and_gone() {
        let before = report(vec![finding("hot-method", "A.Run", 7), finding("deadlock", "B.Take", 1)]);
        let now = report(vec![finding("hot-method", "A.Run", 9), finding("deadlock", "C.Take", 1)]);
        let text = told(&before, &now);
        assert!(text.contains("still  warning   hot-method of A.Run"), "{text}");
        assert!(text.contains("new    warning   deadlock of C.Take"), "{text}");
        assert!(text.contains("gone   warning   deadlock of B.Take"), "{text}");
        assert_eq!(text.matches("$ drdotnet").count(), 1, "{text}");
    }
}
