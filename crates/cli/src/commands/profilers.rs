//! `drdotnet profilers`

use model::{Cell, Column, Table, Unit, format_duration};
use profilers::{PROFILERS, Profiler, by_id};
use reports::LastColumn;
use serde::Serialize;

use super::json;
use crate::args::ProfilersArgs;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output;
use crate::screen::Screen;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.profilers/1";

/// Lists the profilers, or describes one.
pub fn profilers(args: &ProfilersArgs, screen: &Screen) -> Result<(), Failure> {
    let chosen: Vec<&'static dyn Profiler> = match &args.profiler {
        Some(id) => vec![by_id(id)?],
        None => PROFILERS.to_vec(),
    };
    if args.json {
        let list =
            List { schema: SCHEMA, profilers: chosen.iter().map(|profiler| Row::new(*profiler)).collect() };
        return output::to_stdout(&json(&list)?);
    }
    let text = match &args.profiler {
        Some(_) => chosen.iter().map(|profiler| description(*profiler, screen)).collect(),
        None => table(&chosen, screen),
    };
    output::to_stdout(&text)
}

fn table(profilers: &[&dyn Profiler], screen: &Screen) -> String {
    let mut table = Table::new([
        Column::new("id", "Profiler", Unit::Text),
        Column::new("question", "The question it answers", Unit::Text),
    ]);
    for profiler in profilers {
        let spec = profiler.spec();
        table.push([Cell::from(spec.id), Cell::from(spec.question)]);
    }
    let list = reports::terminal::render_table(&table, &screen.report_style(), LastColumn::Fills);
    format!("{list}\ndrdotnet profilers NAME   describes one; drdotnet run NAME -p PID   asks it\n")
}

/// Everything about one profiler.
fn description(profiler: &dyn Profiler, screen: &Screen) -> String {
    let spec = profiler.spec();
    let fit = |indent, text: &str| hanging(indent, text, Some(screen.report_style().width));
    let mut text = format!("{}: {}\n  {}\n\n", spec.id, spec.name, spec.question);
    text += &format!("  Source    {}\n", spec.engine.words());
    text += &format!("  Pause     {}\n", spec.pause.words());
    text += &format!("  Cost      {}\n", fit(12, spec.cost));
    text += &format!("  Runtimes  .NET {} and newer\n", spec.since);
    text += &format!("  Duration  {} unless --duration says otherwise\n", format_duration(spec.duration));
    if !spec.parameters.is_empty() {
        text += "\n  Parameters (--set NAME=VALUE)\n";
        for parameter in spec.parameters {
            let help = format!(
                "{} [{}; default {}]",
                parameter.help,
                parameter.range_text(),
                parameter.default_text()
            );
            text += &format!("    {:<8}{}\n", parameter.name, fit(12, &help));
        }
    }
    text
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    profilers: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: &'static str,
    name: &'static str,
    question: &'static str,
    engine: &'static str,
    pause: &'static str,
    cost: &'static str,
    since_runtime: &'static str,
    duration_seconds: f64,
    parameters: Vec<ParameterRow>,
}

#[derive(Serialize)]
struct ParameterRow {
    name: &'static str,
    help: &'static str,
    takes: String,
    default: String,
}

impl Row {
    fn new(profiler: &dyn Profiler) -> Row {
        let spec = profiler.spec();
        Row {
            id: spec.id,
            name: spec.name,
            question: spec.question,
            engine: spec.engine.words(),
            pause: spec.pause.words(),
            cost: spec.cost,
            since_runtime: spec.since,
            duration_seconds: spec.duration.as_secs_f64(),
            parameters: spec
                .parameters
                .iter()
                .map(|parameter| ParameterRow {
                    name: parameter.name,
                    help: parameter.help,
                    takes: parameter.range_text(),
                    default: parameter.default_text(),
                })
                .collect(),
        }
    }
}
