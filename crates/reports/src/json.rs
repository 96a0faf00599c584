//! JSON: the report itself, for scripts.

use model::Report;

use crate::hostile::must_be_shown_escaped;

/// The JSON form of a report; [`Report::from_json`] reads it back to the same report.
///
/// Characters that would steer a terminal are written as `\u009b` escapes. JSON itself asks for that only
/// below U+0020, but people do print JSON to terminals, and a reader sees the same string either way.
#[must_use]
pub fn render(report: &Report) -> String {
    harmless(report.to_json().expect("a report has string keys only, and writing to a String cannot fail"))
}

/// The same JSON with every character escaped that would steer a terminal.
#[must_use]
pub fn harmless(json: String) -> String {
    if !json.chars().any(steers) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if steers(c) {
            // Outside its strings JSON is plain ASCII, so this one is inside a string, where `\u` is allowed.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// The line feeds of the indentation are ours; inside strings they are escaped already.
fn steers(c: char) -> bool {
    c != '\n' && must_be_shown_escaped(c)
}
