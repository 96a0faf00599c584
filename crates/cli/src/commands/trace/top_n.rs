//! `drdotnet trace report FILE topN`: the methods that took most, in the layout of dotnet-trace.

use serde::Serialize;
use stacks::{CallTree, MethodWeight, Profile, top_methods};
use trace_views::{Detail, Lines, Reading, UNNAMED, View, is_marker};

use super::convert::weight;
use super::trace_file::{self, SummaryJson};
use crate::args::trace_convert::{ReportArgs, TopNArgs};
use crate::commands::json;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.trace-top/1";
/// Columns for names where nobody looks: those of dotnet-trace.
const NAME_COLUMNS: usize = 70;
/// Narrowest column for names.
const NARROWEST: usize = 24;
/// Columns for each percentage.
const PERCENT_COLUMNS: usize = 12;

/// Prints the methods that took most.
pub fn top_n(args: &ReportArgs, top: &TopNArgs, screen: &Screen) -> Result<(), Failure> {
    let (profile, reading) = trace_file::read_stacks(&args.file, &top.stacks, Detail::Totals, Lines::Merged)?;
    let tree = CallTree::new(&profile, &profile.samples);
    // What a thread did below its last method is that method's doing.
    let mut methods = top_methods(&profile, &tree, is_marker);
    if top.inclusive {
        methods.sort_by_key(|method| std::cmp::Reverse((method.total, method.own)));
    }
    methods.truncate(top.number);
    let rows: Vec<Row<'_>> = methods.iter().map(|method| Row::new(&profile, method)).collect();
    if args.json {
        let list = List {
            schema: SCHEMA,
            view: reading.view.map(View::id),
            total: profile.total(),
            sorted_by: if top.inclusive { "inclusive" } else { "exclusive" },
            methods: rows,
            trace: SummaryJson::new(&reading.summary),
        };
        return output::to_stdout(&json(&list)?);
    }
    output::to_stdout(&table(&rows, top, screen))?;
    output::to_stderr(&notes(&profile, &reading, screen));
    Ok(())
}

#[derive(Serialize)]
struct List<'a> {
    schema: &'static str,
    view: Option<&'static str>,
    total: u64,
    sorted_by: &'static str,
    methods: Vec<Row<'a>>,
    trace: SummaryJson,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'a str>,
    inclusive: u64,
    exclusive: u64,
    inclusive_percent: f64,
    exclusive_percent: f64,
}

impl<'a> Row<'a> {
    fn new(profile: &'a Profile, method: &MethodWeight) -> Row<'a> {
        let frame = profile.frames.get(method.frame.0 as usize);
        let name = frame.map_or(UNNAMED, |frame| frame.name.as_str());
        Row {
            name: if name == UNNAMED { "Missing Symbol" } else { name },
            module: frame.and_then(|frame| frame.module.as_deref()),
            inclusive: method.total,
            exclusive: method.own,
            inclusive_percent: percent(method.total, profile.total()),
            exclusive_percent: percent(method.own, profile.total()),
        }
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 10_000.0).round() / 100.0 }
}

/// The table: names that are too long lose their beginning, which says least, unless all is wanted.
fn table(rows: &[Row<'_>], top: &TopNArgs, screen: &Screen) -> String {
    let digits = rows.len().to_string().len();
    let lead = digits + 2;
    let room =
        screen.width().map_or(NAME_COLUMNS, |width| width.saturating_sub(lead + 2 + 2 * PERCENT_COLUMNS));
    let room = room.clamp(NARROWEST, NAME_COLUMNS);
    let kind = if top.inclusive { "Inclusive" } else { "Exclusive" };
    let header = format!("Top {} Functions ({kind})", rows.len());
    let mut text =
        format!("{header:<width$}  {:<PERCENT_COLUMNS$}Exclusive\n", "Inclusive", width = lead + room);
    for (number, row) in (1..).zip(rows) {
        let name = match row.module.filter(|_| top.verbose) {
            Some(module) => format!("{} in {module}", row.name),
            None => row.name.to_owned(),
        };
        let name = reports::printable_within(
            &name,
            if top.verbose { reports::LONGEST_PROSE } else { reports::LONGEST_NAME },
        );
        let lines = if top.verbose { broken(&name, room) } else { vec![cut(&name, room)] };
        let (inclusive, exclusive) =
            (format!("{}%", row.inclusive_percent), format!("{}%", row.exclusive_percent));
        for (place, line) in lines.iter().enumerate() {
            let pad = room.saturating_sub(unicode_width::UnicodeWidthStr::width(line.as_str()));
            if place == 0 {
                let lead = format!("{number}.");
                text += &format!(
                    "{lead:<width$}{line}{:pad$}  {inclusive:<PERCENT_COLUMNS$}{exclusive}\n",
                    "",
                    width = digits + 2
                );
            } else {
                text += &format!("{:lead$}{line}\n", "");
            }
        }
    }
    text
}

/// The end of a name that fits.
fn cut(name: &str, room: usize) -> String {
    let mut width = unicode_width::UnicodeWidthStr::width(name);
    if width <= room {
        return name.to_owned();
    }
    let mut rest = name.chars();
    while width + 1 > room {
        let Some(first) = rest.next() else { break };
        width -= unicode_width::UnicodeWidthChar::width(first).unwrap_or(0);
    }
    format!("…{}", rest.as_str())
}

/// A name on as many lines as it needs.
fn broken(name: &str, room: usize) -> Vec<String> {
    hanging(0, name, Some(room)).lines().map(str::to_owned).collect()
}

fn notes(profile: &Profile, reading: &Reading, screen: &Screen) -> String {
    let mut text = String::from("\n");
    let mut line = |words: String| {
        text += &format!("{}\n", hanging(0, &reports::printable_within(&words, 1000), screen.error_width()));
    };
    let title = &profile.title;
    line(format!(
        "of {}: {title}, {} threads",
        weight(profile.weight, profile.total()),
        profile.threads.len()
    ));
    if let Some(caveat) = trace_file::caveat(reading.view, &reading.summary) {
        line(caveat.to_owned());
    }
    if reading.view == Some(View::ThreadTime) {
        line("waiting threads count as well; --view managed-time leaves them out".to_owned());
    }
    for loss in trace_file::losses(&reading.summary) {
        line(format!("lost: {loss}"));
    }
    if let Some(advice) = trace_file::advice(&reading.summary) {
        line(advice.to_owned());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_beginning() {
        assert_eq!(cut("Shop.Cart.Add", 20), "Shop.Cart.Add");
        assert_eq!(cut("Company.Product.Shop.Cart.Add", 10), "….Cart.Add");
    }

    #[test]
    fn percentages_have_two_digits() {
        assert_eq!(percent(1, 3).to_string(), "33.33");
        assert_eq!(percent(1, 1).to_string(), "100");
        assert_eq!(percent(1, 0).to_string(), "0");
    }
}
