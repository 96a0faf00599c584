//! `drdotnet ps`

mod command;
mod row;

use discovery::{DotnetProcess, Options, Scan, scan};
use model::{Cell, Column, Table, Unit};
use reports::{Colour, LONGEST_PROSE, LastColumn, TerminalStyle, printable, printable_within};

use command::arguments;
pub use command::short_command;
pub use row::{ProcessRow, reach_words};

use super::json;
use crate::args::PsArgs;
use crate::explain::Failure;
use crate::layout::hanging;
use crate::output;
use crate::redaction;
use crate::screen::Screen;

/// On terminals narrower than this, even numbers would be cut.
const CRAMPED: usize = 70;

/// Lists the .NET processes.
pub fn ps(args: &PsArgs, screen: &Screen) -> Result<(), Failure> {
    let mut scan = scan(&Options::default());
    scan.processes = scan.processes.into_iter().map(redaction::shown).collect();
    scan.processes.iter_mut().for_each(DotnetProcess::conceal_secrets);
    if args.json {
        return output::to_stdout(&json(&row::List::from(&scan))?);
    }
    output::to_stdout(&text(&scan, screen))
}

fn text(scan: &Scan, screen: &Screen) -> String {
    if scan.processes.is_empty() {
        return if rustix::process::geteuid().is_root() {
            "No .NET process was found.\n".to_owned()
        } else {
            "No .NET process was found that this user can see. As root you may see more.\n".to_owned()
        };
    }
    let (table, left_out) = fitting(&scan.processes, screen.width());
    let mut text = reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills);
    let troubled = troubles(&scan.processes);
    if !left_out.is_empty() || !troubled.is_empty() {
        text += "\n";
    }
    if !left_out.is_empty() {
        text += &format!("{}\n", printable(&format!("All of them: {}", left_out.join(", "))));
    }
    for line in troubled {
        text += &format!("! {}\n", hanging(2, &printable_within(&line, LONGEST_PROSE), screen.width()));
    }
    text
}

/// How commands are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Commands {
    /// As typed, for a file or a pipe.
    Full,
    /// Without folders and host.
    Short,
    /// Only what comes after the name.
    Arguments,
    /// Not at all.
    Hidden,
}

/// What gives way on a narrow terminal.
#[derive(Clone, Copy)]
struct Layout {
    architecture: bool,
    user: bool,
    container: bool,
    commands: Commands,
}

/// The table, and what was left out of it: on a narrow terminal, columns that say the same of every process are
/// one line below it instead.
fn fitting(processes: &[DotnetProcess], width: Option<usize>) -> (Table, Vec<String>) {
    let container = processes.iter().any(|process| process.container.is_some());
    let full = Layout { architecture: true, user: true, container, commands: Commands::Full };
    let Some(width) = width else { return (table(processes, full), Vec::new()) };
    let architecture = same(processes, |process| process.architecture.clone());
    let user = same(processes, |process| process.user.as_ref().map(discovery::User::shown));
    let steps: [fn(&mut Layout); 5] = [
        |layout| layout.commands = Commands::Arguments,
        |layout| layout.architecture = false,
        |layout| layout.user = false,
        |layout| layout.container = false,
        |layout| layout.commands = Commands::Hidden,
    ];
    // The first three lose nothing. The last two are for terminals on which not even the numbers fit.
    let possible = [true, architecture.is_some(), user.is_some(), width < CRAMPED, width < CRAMPED];
    let mut layout = Layout { commands: Commands::Short, ..full };
    let mut chosen = table(processes, layout);
    for (step, _) in steps.iter().zip(possible).filter(|(_, possible)| *possible) {
        if natural_width(&chosen) <= width {
            break;
        }
        step(&mut layout);
        chosen = table(processes, layout);
    }
    let left_out = architecture
        .filter(|_| !layout.architecture)
        .into_iter()
        .chain(user.filter(|_| !layout.user).map(|name| format!("user {name}")));
    (chosen, left_out.collect())
}

fn natural_width(table: &Table) -> usize {
    let style = TerminalStyle { width: usize::MAX, colour: Colour::Never };
    let text = reports::terminal::render_table(table, &style, LastColumn::Fills);
    text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap_or(0)
}

/// What is the same of all.
fn same(processes: &[DotnetProcess], of: impl Fn(&DotnetProcess) -> Option<String>) -> Option<String> {
    let first = of(processes.first()?)?;
    processes.iter().all(|process| of(process).as_ref() == Some(&first)).then_some(first)
}

fn table(processes: &[DotnetProcess], layout: Layout) -> Table {
    let (command, is_command_shown) = match layout.commands {
        Commands::Arguments => ("Arguments", true),
        commands => ("Command", commands != Commands::Hidden),
    };
    let columns = [
        (true, Column::new("pid", "PID", Unit::Id)),
        (true, Column::new("name", "Name", Unit::Text)),
        (true, Column::new("runtime", ".NET", Unit::Text)),
        (layout.architecture, Column::new("architecture", "Arch", Unit::Text)),
        (layout.user, Column::new("user", "User", Unit::Text)),
        (true, Column::new("uptime", "Up", Unit::Text)),
        (true, Column::new("cpu", "CPU avg", Unit::Percent)),
        (true, Column::new("memory", "Memory", Unit::Bytes)),
        (layout.container, Column::new("container", "Container", Unit::Text)),
        (is_command_shown, Column::new("command", command, Unit::Text)),
    ];
    let shown: Vec<bool> = columns.iter().map(|(shown, _)| *shown).collect();
    let mut table = Table::new(columns.into_iter().filter(|(shown, _)| *shown).map(|(_, column)| column));
    for process in processes {
        let cells = cells(process, layout.commands);
        table.push(cells.into_iter().zip(&shown).filter(|(_, shown)| **shown).map(|(cell, _)| cell));
    }
    table
}

fn cells(process: &DotnetProcess, commands: Commands) -> [Cell; 10] {
    let mark = if row::reach_words(process).is_some() { "!" } else { "" };
    let container = process.container.as_deref();
    [
        Cell::from(process.pid.0),
        Cell::from(format!("{mark}{}", process.name)),
        Cell::from(process.runtime_version.clone()),
        Cell::from(process.architecture.clone()),
        Cell::from(process.user.as_ref().map(discovery::User::shown)),
        Cell::from(process.uptime.map(row::short_age)),
        Cell::from(process.cpu_percent()),
        Cell::from(process.memory),
        Cell::from(
            container.map(|id| if commands == Commands::Full { id.to_owned() } else { short_container(id) }),
        ),
        Cell::from(match commands {
            Commands::Full => process.command_line.clone(),
            Commands::Short => short_command(&process.command_line),
            Commands::Arguments | Commands::Hidden => arguments(&process.command_line, &process.name),
        }),
    ]
}

/// As container engines shorten their ids; of a namespace, what kind it is.
fn short_container(id: &str) -> String {
    id.split(':').next().unwrap_or(id).chars().take(12).collect()
}

/// One line for each thing that is wrong: with which processes, and what it needs.
fn troubles(processes: &[DotnetProcess]) -> Vec<String> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for process in processes {
        let Some(problem) = row::reach_words(process) else { continue };
        let who = format!("{} {}", process.pid, process.name);
        match lines.iter_mut().find(|(known, _)| *known == problem) {
            Some((_, whos)) => whos.push(who),
            None => lines.push((problem, vec![who])),
        }
    }
    lines.into_iter().map(|(problem, whos)| format!("{}: {problem}", whos.join(", "))).collect()
}
