//! CSV in the layout of dotnet-counters.

use std::time::Duration;

use super::number;
use super::rows::rows;
use super::time::Zone;
use crate::counter::Update;

/// The first line.
pub const HEADER: &str = "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n";

/// Appends the lines of an update; hands out how many.
pub fn append(out: &mut String, update: &Update, interval: Duration, zone: &Zone) -> usize {
    let time = zone.short(update.at);
    let rows = rows(update, interval);
    for row in &rows {
        let mut name = row.name.clone();
        let tags = row.all_tags();
        if !tags.is_empty() {
            // A comma would end the field for those who split at commas.
            name += &format!("[{}]", tags.replace(',', ";"));
        }
        let (provider, name) = (field(&row.counter.provider), field(&name));
        *out += &format!("{time},{provider},{name},{},{}\n", row.kind.word(), number::dotnet(row.value));
    }
    rows.len()
}

/// A field: quoted where it must be, and without characters that steer a terminal.
fn field(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() || is_reordering(c) => out.extend(c.escape_unicode()),
            '"' => out.push_str("\"\""),
            c => out.push(c),
        }
    }
    if text.contains([',', '"']) { format!("\"{out}\"") } else { out }
}

/// Characters that show the rest of a line backwards.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_quoted_and_harmless() {
        assert_eq!(field("plain (B / 1 sec)"), "plain (B / 1 sec)");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("a\n\u{1b}[31m\u{202e}"), "a\\u{a}\\u{1b}[31m\\u{202e}");
    }
}
