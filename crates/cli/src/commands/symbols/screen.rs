//! What a person sees of symbols.

use model::{Cell, Column, Table, Unit};
use reports::value::format_bytes;
use reports::{LONGEST_PROSE, LastColumn, printable, printable_within};
use symbol_server::Problem;

use super::row::{List, Row, State};
use crate::layout::hanging;
use crate::screen::Screen;

/// `drdotnet symbols list`
pub fn listed(list: &List<'_>, screen: &Screen) -> String {
    let mut text = table(list, screen);
    for line in impostors(list.rows) {
        text += &format!("\n{}\n", hanging(0, &printable_within(&line, LONGEST_PROSE), screen.width()));
    }
    if list.rows.iter().any(Row::is_wanted) {
        text += &format!("\ndrdotnet symbols fetch -p {}   gets what is missing\n", list.pid);
    }
    text
}

/// `drdotnet symbols fetch`
pub fn fetched(list: &List<'_>, dry: bool, screen: &Screen) -> String {
    let mut text = table(list, screen);
    let came: Vec<u64> = list
        .rows
        .iter()
        .filter_map(|row| match &row.state {
            State::Fetched(fetched) => Some(fetched.bytes),
            _ => None,
        })
        .collect();
    let cache = list.cache.as_ref();
    let folder = cache.map_or_else(String::new, |cache| cache.folder.display().to_string());
    let mut lines = Vec::new();
    if !list.rows.iter().any(|row| row.is_wanted()) && came.is_empty() {
        lines.push("There is nothing to fetch.".to_owned());
    }
    if let Some(cache) = cache.filter(|_| !came.is_empty()) {
        let now = amount(u64::try_from(came.len()).unwrap_or(u64::MAX), came.iter().sum());
        let all = amount(cache.files, cache.bytes);
        lines.push(format!("Fetched {now}, into {folder}, which has {all} now."));
    }
    lines.extend(reasons(list.rows));
    lines.extend(impostors(list.rows));
    for line in lines {
        text += &format!("\n{}", hanging(0, &printable_within(&line, LONGEST_PROSE), screen.width()));
    }
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text + &recipe(list.rows, dry, &folder)
}

/// Files and how long they are.
pub fn amount(files: u64, bytes: u64) -> String {
    let plural = if files == 1 { "" } else { "s" };
    format!("{files} file{plural}, {}", format_bytes(bytes))
}

/// The libraries, the ones without symbols first: they are what this is about.
fn table(list: &List<'_>, screen: &Screen) -> String {
    let mut table = Table::new([
        Column::new("library", "Library", Unit::Text),
        Column::new("functions", "Named functions", Unit::Count),
        Column::new("symbols", "Symbols", Unit::Text),
    ]);
    let mut rows: Vec<&Row> = list.rows.iter().collect();
    rows.sort_by_key(|row| matches!(row.state, State::Own | State::DebugFile(_)));
    for row in rows {
        let functions = match &row.state {
            State::Fetched(fetched) => Some(fetched.functions),
            _ => row.functions,
        };
        let functions = functions.and_then(|functions| u64::try_from(functions).ok());
        table.push([Cell::from(row.name()), Cell::from(functions), Cell::from(words(&row.state))]);
    }
    let head = format!("Native code of {} (pid {})\n\n", printable(list.name), list.pid);
    head + &reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills)
}

fn words(state: &State) -> String {
    match state {
        State::Own => "own table".to_owned(),
        State::DebugFile(file) => format!("in {}", file.display()),
        State::Cached(_) => "fetched before".to_owned(),
        State::Fetched(fetched) => format!("fetched, {}", format_bytes(fetched.bytes)),
        State::Missing { .. } => "missing".to_owned(),
        State::NoBuildId => "missing, and no build id to ask by".to_owned(),
        State::Unreadable(problem) => format!("unreadable: {problem}"),
    }
}

/// One line for each reason, with the libraries it concerns.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for row in rows {
        let State::Missing { tries } = &row.state else { continue };
        // What every server says when it has nothing is one reason; anything else is told with its server.
        let mut reasons: Vec<String> = tries
            .iter()
            .filter(|one| one.problem != Problem::NotThere)
            .map(|one| format!("{}: {}", one.server, one.problem))
            .collect();
        reasons.dedup();
        if reasons.is_empty() && !tries.is_empty() {
            reasons.push("no server has them".to_owned());
        }
        for reason in reasons {
            match found.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(row.name()),
                None => found.push((reason, vec![row.name()])),
            }
        }
    }
    found.into_iter().map(|(reason, names)| format!("! {}: {reason}", names.join(", "))).collect()
}

/// Files that were put into the cache by hand, and are not what their names say.
fn impostors(rows: &[Row]) -> impl Iterator<Item = String> {
    rows.iter().filter(|row| row.is_wanted()).filter_map(|row| {
        let file = row.impostor.as_ref()?.display();
        Some(format!(
            "! {}: {file} is there, but is not its debug file (another build, or damaged)",
            row.name()
        ))
    })
}

/// What to download elsewhere, where servers could not be asked.
fn recipe(rows: &[Row], dry: bool, folder: &str) -> String {
    let mut lines = String::new();
    for row in rows {
        let (State::Missing { tries }, Some(elsewhere)) = (&row.state, &row.elsewhere) else { continue };
        let name = elsewhere.file.file_name().unwrap_or_default().to_string_lossy();
        // A server that has answered has nothing more to give.
        let is_open =
            |server: &str| tries.iter().all(|one| one.server != server || one.problem.is_unreachable());
        let open = elsewhere.servers.iter().filter(|(server, _)| is_open(server));
        let commands: Vec<String> = open
            .flat_map(|(_, addresses)| addresses)
            .map(|address| format!("curl -fLo {name} {}", printable(address)))
            .collect();
        if !commands.is_empty() {
            // Not wrapped: it is there to be copied.
            lines += &format!("  # {}\n  {}\n", printable(&row.name()), commands.join(" || "));
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let begin = if dry { "It would ask for these files." } else { "These can be downloaded elsewhere." };
    format!("\n{begin} Put them into {}\n{lines}", printable(folder))
}
