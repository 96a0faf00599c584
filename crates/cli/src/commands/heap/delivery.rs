//! Showing the report on a heap, then keeping it: if it cannot be kept, it has at least been seen.

use model::{Body, Cell, Column, Report, Section, Table, Unit};

use super::next_steps::Step;
use super::source::Opened;
use crate::args::heap::Taking;
use crate::commands::gcdump::host;
use crate::commands::keeping;
use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// Shows a report with the steps that may come next, and ends the session of a heap that was taken for it.
pub fn deliver(
    mut report: Report,
    opened: Opened,
    steps: &[Step],
    taking: &Taking,
    screen: &Screen,
) -> Result<(), Failure> {
    report.cost.host = host();
    // On the screen a command must not be cut, as a cell of a table may be.
    let shown = reports::terminal::render(&report, &screen.report_style()) + &lines(steps);
    if !steps.is_empty() {
        report.sections.push(section(steps));
    }
    let shown = output::to_stdout(&if taking.json { reports::json::render(&report) } else { shown });
    let Some(session) = opened.session else { return shown };
    let kept = keeping::kept_words(session.folder(), taking.output.is_some());
    session
        .finish(&report)
        .map_err(|error| Failure::from(error).also("the report above is complete, but it is not kept"))?;
    shown.map_err(|failure| failure.also(&kept))?;
    if let Some(failure) = opened.not_kept {
        return Err(failure.also("the report above is complete and kept, but not the heap itself"));
    }
    output::to_stderr(&format!("\n{kept}\n"));
    Ok(())
}

fn lines(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let lines = steps.iter().map(|step| format!("  {}\n      {}\n", step.command, step.what));
    format!("\nTo dig on\n{}", lines.collect::<String>())
}

fn section(steps: &[Step]) -> Section {
    let mut table = Table::new([
        Column::new("what", "What it tells", Unit::Text),
        Column::new("command", "Command", Unit::Id),
    ]);
    for step in steps {
        table.push([Cell::from(step.what.as_str()), Cell::from(step.command.as_str())]);
    }
    Section::new("next", "To dig on", Body::Table(table))
}
