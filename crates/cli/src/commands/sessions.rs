//! `drdotnet sessions`

mod archive;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use model::{Cell, Column, Report, Table, Timestamp, Unit, parse_duration};
use reports::{FORMATS, Format, LastColumn};
use serde::Serialize;
use sessions::{Entry, Session, Status, Store};

use super::json;
use crate::args::{SessionCommand, SessionsArgs};
use crate::exit_code::Code;
use crate::explain::Failure;
use crate::output;
use crate::redaction;
use crate::screen::Screen;

/// What the archive of everything is called among the formats.
const ARCHIVE: &str = "zip";
/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.sessions/1";

/// Looks at earlier runs.
pub fn sessions(args: &SessionsArgs, screen: &Screen) -> Result<(), Failure> {
    let store = Store::of_user();
    let listing = |json| if json { list_json(&store) } else { list(&store, screen) };
    let Some(command) = &args.command else { return listing(args.list.json) };
    match command {
        SessionCommand::List(args) => listing(args.json),
        SessionCommand::Show(args) => {
            let report = find(&store, &args.session)?.report()?;
            let style = screen.report_style();
            output::to_stdout(&if args.json {
                reports::json::render(&report)
            } else {
                reports::terminal::render(&report, &style)
            })
        }
        SessionCommand::Open(args) => open(&find(&store, &args.session)?),
        SessionCommand::Export(args) => {
            let Some(format) = format_of(args.format.as_deref(), args.output.as_deref())? else {
                return archive::export(&find(&store, &args.session)?, args.output.as_deref());
            };
            let text = format.render(&find(&store, &args.session)?.report()?);
            match &args.output {
                Some(path) => {
                    output::to_file(path, &text)?;
                    output::to_stderr(&format!("wrote {} ({})\n", path.display(), format.description));
                    Ok(())
                }
                None => output::to_stdout(&text),
            }
        }
        SessionCommand::Rm(args) => {
            let older_than = args.older_than.as_deref().map(parse_duration).transpose()?;
            let chosen = if args.all || older_than.is_some() {
                ended(&store, older_than)?
            } else {
                args.sessions.clone()
            };
            for id in &chosen {
                let folder = store.remove(id)?;
                output::to_stderr(&format!("removed {}\n", folder.display()));
            }
            if chosen.is_empty() {
                output::to_stderr("nothing to remove\n");
            }
            Ok(())
        }
    }
}

/// A session whose report may be shown.
fn find(store: &Store, wanted: &str) -> Result<Session, Failure> {
    let session = store.find(wanted)?;
    redaction::refuse_kept(&session)?;
    Ok(session)
}

/// The format of a report that was asked for, or that the file's name asks for; none is the archive of everything.
fn format_of(id: Option<&str>, file: Option<&Path>) -> Result<Option<&'static Format>, Failure> {
    let extension = file.and_then(|file| file.extension()).and_then(|extension| extension.to_str());
    let by_file = FORMATS.iter().find(|format| Some(format.extension) == extension);
    let id = match (id, by_file) {
        (Some(id), _) => id,
        (None, Some(format)) => return Ok(Some(format)),
        (None, None) if file.is_none() || extension == Some(ARCHIVE) => ARCHIVE,
        (None, None) => "markdown",
    };
    if id == ARCHIVE {
        return Ok(None);
    }
    Format::by_id(id).map(Some).ok_or_else(|| {
        let ids: Vec<&str> = [ARCHIVE].into_iter().chain(FORMATS.iter().map(|format| format.id)).collect();
        let failure = Failure::new(Code::UnknownProfiler, format!("there is no format '{id}'"));
        match profilers::closest(id, ids.iter().copied()) {
            Some(near) => failure.next(format!("did you mean '{near}'?")),
            None => failure.next(format!("choose one of: {}", ids.join(", "))),
        }
    })
}

/// Sessions that are not running and began longer ago than that.
fn ended(store: &Store, older_than: Option<Duration>) -> Result<Vec<String>, Failure> {
    let now = Timestamp::now();
    let is_old = |session: &Session| match older_than {
        Some(age) => now.checked_sub(age).is_ok_and(|limit| session.manifest.started_at < limit),
        None => true,
    };
    Ok(store
        .list()?
        .into_iter()
        .filter(|entry| match &entry.session {
            Ok(session) => session.status != Status::Running && is_old(session),
            // When a damaged one began is not known; only a sweep of all takes it.
            Err(_) => older_than.is_none(),
        })
        .map(|entry| entry.id)
        .collect())
}

fn list(store: &Store, screen: &Screen) -> Result<(), Failure> {
    let entries = store.list()?;
    if entries.is_empty() {
        return output::to_stdout("No sessions yet. drdotnet run NAME -p PID makes one.\n");
    }
    let mut table = Table::new([
        Column::new("id", "Session", Unit::Id),
        Column::new("status", "Status", Unit::Text),
        Column::new("target", "Process", Unit::Text),
        Column::new("summary", "Answer", Unit::Text),
    ]);
    for Entry { id, session } in &entries {
        match session {
            Ok(session) => table.push([
                Cell::from(id.as_str()),
                Cell::from(session.status.word()),
                Cell::from(session.manifest.target.name.as_str()),
                Cell::from(summary(session)),
            ]),
            Err(error) => table.push([
                Cell::from(id.as_str()),
                Cell::from("corrupt"),
                Cell::Missing,
                Cell::from(error.to_string()),
            ]),
        }
    }
    output::to_stdout(&reports::terminal::render_table(&table, &screen.list_style(), LastColumn::Fills))
}

fn summary(session: &Session) -> String {
    match session.status {
        Status::Done | Status::Cancelled => match session.report() {
            Ok(report) => headline(&report),
            Err(error) => error.to_string(),
        },
        _ => session.outcome.as_ref().and_then(|outcome| outcome.error.clone()).unwrap_or_default(),
    }
}

fn headline(report: &Report) -> String {
    report.findings.first().map_or_else(|| report.summary.clone(), |finding| finding.title.clone())
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    sessions: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    id: String,
    status: &'static str,
    folder: Option<String>,
    profiler: Option<String>,
    target: Option<model::Target>,
    started_at: Option<String>,
    ended_at: Option<String>,
    error: Option<String>,
}

fn list_json(store: &Store) -> Result<(), Failure> {
    let sessions = store.list()?.into_iter().map(|Entry { id, session }| match session {
        Ok(session) => Row {
            id,
            status: session.status.word(),
            folder: Some(session.folder.display().to_string()),
            profiler: Some(session.manifest.profiler.clone()),
            target: Some(shown_target(&session)),
            started_at: Some(session.manifest.started_at.to_string()),
            ended_at: session.outcome.as_ref().map(|outcome| outcome.ended_at.to_string()),
            error: session.outcome.and_then(|outcome| outcome.error),
        },
        Err(error) => Row {
            id,
            status: "corrupt",
            folder: None,
            profiler: None,
            target: None,
            started_at: None,
            ended_at: None,
            error: Some(error.to_string()),
        },
    });
    output::to_stdout(&json(&List { schema: SCHEMA, sessions: sessions.collect() })?)
}

fn shown_target(session: &Session) -> model::Target {
    let mut target = session.manifest.target.clone();
    if !redaction::is_redacted(session) {
        target.command_line = target.command_line.as_deref().map(redaction::command_line);
    }
    target
}

/// Writes the page beside the report and hands it to the desktop, where there is one.
fn open(session: &Session) -> Result<(), Failure> {
    let page = session.folder.join("report.html");
    output::to_file(&page, &reports::html::render(&session.report()?))?;
    let desktop = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    let opened = desktop
        && Command::new("xdg-open")
            .arg(&page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
    if !opened {
        output::to_stderr("no browser here; open this file:\n");
    }
    output::to_stdout(&format!("{}\n", page.display()))
}
