//! `drdotnet counters list`

use counters::known::KNOWN;
use model::{Cell, Column, Table, Unit};
use reports::LastColumn;

use crate::explain::Failure;
use crate::output;
use crate::screen::Screen;

/// Lists providers that .NET itself has.
pub fn list(screen: &Screen) -> Result<(), Failure> {
    let column =
        |id: &str, title: &str| Column { id: id.to_owned(), title: title.to_owned(), unit: Unit::Text };
    let text = |text: &str| Cell::Text(text.to_owned());
    let rows = KNOWN.iter().map(|one| vec![text(one.provider), text(one.kind), text(one.what)]).collect();
    let columns =
        vec![column("provider", "Provider"), column("kind", "Kind"), column("what", "What it counts")];
    let table = Table { columns, rows, omitted_rows: 0 };
    let table = reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills);
    output::to_stdout(&format!(
        "{table}\nPrograms and libraries have more: any event source with counters, any meter.\n\
         drdotnet counters monitor -p PID --counters PROVIDER,PROVIDER\n"
    ))
}
