//! The documented JSON schema is the one these types have, and reports survive a round trip.

use std::collections::BTreeMap;

use model::*;

fn sample() -> Report {
    let mut table =
        Table::new([Column::new("name", "Name", Unit::Text), Column::new("cpu", "CPU", Unit::Percent)]);
    table.push([Cell::from("main"), Cell::from(12.5)]);
    table.push([Cell::from("lost"), Cell::from(f64::NAN)]);
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        tool_version: "0.0.0".to_owned(),
        profiler: ProfilerInfo {
            id: "sample".into(),
            name: "Sample".into(),
            question: "Is it there?".into(),
            parameters: BTreeMap::new(),
        },
        target: Target {
            pid: ProcessId(7),
            name: "App".into(),
            runtime_version: None,
            architecture: None,
            started_at: None,
            command_line: None,
        },
        window: Window {
            started_at: Timestamp::UNIX_EPOCH,
            requested_ns: 1,
            measured_ns: 1,
            end: WindowEnd::Completed,
        },
        outcome: None,
        summary: "It is there.".into(),
        findings: vec![
            Finding::new("b", Severity::Info, Confidence::High, "b"),
            Finding::new("a", Severity::Critical, Confidence::Low, "a"),
        ],
        sections: vec![Section::new("rows", "Rows", Body::Table(table))],
        notes: vec![],
        cost: Cost::default(),
    }
}

#[test]
fn the_schema_in_docs_is_fresh() {
    let schema = schemars::schema_for!(Report);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    golden::check(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json"), &text);
}

#[test]
fn a_report_survives_a_round_trip() {
    let report = sample();
    let text = report.to_json().unwrap();
    assert_eq!(Report::from_json(&text).unwrap(), report);
}

#[test]
fn a_report_with_unknown_values_can_be_read_back() {
    let mut report = sample();
    let points = vec![Point { at_ns: 0, value: 1.0 }, Point { at_ns: 1, value: f64::NAN }];
    let series = Series { unit: Unit::Count, lines: vec![Line { label: "x".into(), points }] };
    report.sections.push(Section::new("x", "X", Body::Series(series)));
    let read = Report::from_json(&report.to_json().unwrap()).unwrap();
    let Body::Series(series) = &read.sections[1].body else { panic!("a series") };
    assert!(series.lines[0].points[1].value.is_nan());
}

#[test]
fn findings_are_ranked_worst_first() {
    let mut report = sample();
    report.rank_findings();
    assert_eq!(report.findings[0].id, "a");
}

#[test]
fn another_version_and_a_ragged_table_are_refused() {
    let newer = sample().to_json().unwrap().replace("report/2", "report/3");
    assert!(
        matches!(Report::from_json(&newer), Err(SchemaError::Version { found }) if found.ends_with("/3"))
    );
    // The first version has neither facts nor an outcome; what it has is read.
    let mut older: serde_json::Value = serde_json::from_str(&sample().to_json().unwrap()).unwrap();
    older["schema"] = "drdotnet.report/1".into();
    older["findings"].as_array_mut().unwrap().iter_mut().for_each(|finding| {
        finding.as_object_mut().unwrap().remove("facts");
    });
    let read = Report::from_json(&older.to_string()).unwrap();
    assert_eq!((read.outcome, read.findings), (None, sample().findings));
    let mut ragged = sample();
    let Body::Table(table) = &mut ragged.sections[0].body else { unreachable!() };
    table.rows[0].pop();
    let text = ragged.to_json().unwrap();
    assert!(matches!(Report::from_json(&text), Err(SchemaError::Ragged { cells: 1, columns: 2, .. })));
}
