//! `drdotnet ps`

mod row;

use discovery::{DotnetProcess, Options, Scan, scan};
use model::{Cell, Column, Table, Unit};
use reports::{LastColumn, printable};

pub use row::ProcessRow;

use super::json;
use crate::args::PsArgs;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// Lists the .NET processes.
pub fn ps(args: &PsArgs, screen: &Screen) -> Result<(), Failure> {
    let scan = scan(&Options::default());
    if args.json {
        return output::to_stdout(&json(&row::List::from(&scan))?);
    }
    output::to_stdout(&text(&scan, screen))
}

fn text(scan: &Scan, screen: &Screen) -> String {
    if scan.processes.is_empty() {
        return "No .NET process was found that this user can see. As root you may see more.\n".to_owned();
    }
    let mut text =
        reports::terminal::render_table(&table(&scan.processes), &screen.list_style(), LastColumn::Fills);
    let troubled: Vec<String> = scan.processes.iter().filter_map(trouble).collect();
    if !troubled.is_empty() {
        text += "\n";
        for line in troubled {
            text += &format!("! {}\n", printable(&line));
        }
    }
    text
}

fn table(processes: &[DotnetProcess]) -> Table {
    // A column that says nothing about any process is not worth its place on a narrow screen.
    let contained = processes.iter().any(|process| process.container.is_some());
    let mut columns = vec![
        Column::new("pid", "PID", Unit::Id),
        Column::new("name", "Name", Unit::Text),
        Column::new("runtime", ".NET", Unit::Text),
        Column::new("architecture", "Arch", Unit::Text),
        Column::new("user", "User", Unit::Text),
        Column::new("uptime", "Up", Unit::Text),
        Column::new("cpu", "CPU", Unit::Percent),
        Column::new("memory", "Memory", Unit::Bytes),
    ];
    if contained {
        columns.push(Column::new("container", "Container", Unit::Text));
    }
    columns.push(Column::new("command", "Command", Unit::Text));
    let mut table = Table::new(columns);
    for process in processes {
        let mark = if trouble(process).is_some() { "!" } else { "" };
        let mut cells = vec![
            Cell::from(process.pid.0),
            Cell::from(format!("{mark}{}", process.name)),
            Cell::from(process.runtime_version.clone()),
            Cell::from(process.architecture.clone()),
            Cell::from(process.user.as_ref().map(discovery::User::shown)),
            Cell::from(process.uptime.map(row::short_age)),
            Cell::from(process.cpu_percent()),
            Cell::from(process.memory),
        ];
        if contained {
            cells.push(Cell::from(process.container.clone()));
        }
        cells.push(Cell::from(process.command_line.clone()));
        table.push(cells);
    }
    table
}

/// One line on a process that cannot be asked: what is wrong, and what it needs.
fn trouble(process: &DotnetProcess) -> Option<String> {
    let problem = row::reach_words(process)?;
    Some(format!("{} {}: {problem}", process.pid, process.name))
}
