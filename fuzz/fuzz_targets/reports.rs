//! Whatever a session's report.json holds, reading it does not panic, and what was read can be rendered in every
//! format without a control character reaching the terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::Report;

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(report) = Report::from_json(text) else { return };
    for format in reports::FORMATS {
        let shown = format.render(&report);
        if format.id == "terminal" {
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "a control character came through");
        }
    }
});
