//! JSON in the layout of dotnet-counters: one object, whose `Events` are appended one by one.

use std::time::{Duration, SystemTime};

use super::number;
use super::rows::rows;
use super::time::Zone;
use crate::counter::Update;

/// What closes the text.
pub const FOOTER: &str = "]}";

/// The beginning, up to the first event.
#[must_use]
pub fn header(process: &str, started: SystemTime, zone: &Zone) -> String {
    format!(
        "{{ \"TargetProcess\": {}, \"StartTime\": \"{}\", \"Events\": [",
        text(process),
        zone.round_trip(started)
    )
}

/// Appends the events of an update, with a comma before each unless it is the first of all; hands out how many.
pub fn append(out: &mut String, update: &Update, interval: Duration, zone: &Zone, first: bool) -> usize {
    let time = zone.round_trip(update.at);
    let rows = rows(update, interval);
    for (index, row) in rows.iter().enumerate() {
        if !first || index > 0 {
            out.push(',');
        }
        // JSON has no words for what is no number.
        let value = if row.value.is_finite() { number::dotnet(row.value) } else { "null".to_owned() };
        *out += &format!(
            "{{ \"timestamp\": \"{time}\",  \"provider\": {},  \"name\": {},  \"tags\": {},  \
             \"counterType\": \"{}\",  \"meterTags\": {},  \"instrumentTags\": {},  \"value\": {value} }}",
            text(&row.counter.provider),
            text(&row.name),
            text(&row.tags),
            row.kind.word(),
            text(&row.counter.meter_tags),
            text(&row.counter.instrument_tags),
        );
    }
    rows.len()
}

/// A string, with everything escaped that steers a terminal or reorders text.
fn text(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let mut out = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        match u32::from(c) {
            code @ (0x7f..=0x9f | 0x200e..=0x200f | 0x2028..=0x202e | 0x2066..=0x2069) => {
                out += &format!("\\u{code:04x}");
            }
            _ => out.push(c),
        }
    }
    out
}
