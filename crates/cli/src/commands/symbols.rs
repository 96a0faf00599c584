//! `drdotnet symbols`: names of native code, and getting what is missing of them.

mod row;
mod screen;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use discovery::DotnetProcess;
use model::parse_duration;
use native_symbols::{DebugFolders, MemoryMap, mapped_libraries, user_cache};
use process_view::Process;
use profilers::ProfilerError;
use reports::printable;
use reports::value::format_bytes;
use symbol_server::{Cache, FetchError, Fetcher, Limits, Outcome, Proxies, Server, chosen_servers};

pub use row::State;
use row::{List, Row};

use crate::args::Which;
use crate::args::symbols::{CacheArg, SymbolsArgs, SymbolsCommand, SymbolsFetchArgs, SymbolsListArgs};
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::{Failure, no_fetch, no_libraries, nothing_came};
use crate::output::{to_stderr, to_stdout};
use crate::screen::Screen;
use crate::selection::select;

/// Without a terminal, one line in this time.
const PLAIN_PERIOD: Duration = Duration::from_secs(10);

/// Does what was asked.
pub fn symbols(args: &SymbolsArgs, screen: &Screen) -> Result<(), Failure> {
    match &args.command {
        SymbolsCommand::Fetch(args) => fetch(args, screen),
        SymbolsCommand::List(args) => list(args, screen),
        SymbolsCommand::Path(args) => path(&args.cache),
    }
}

fn path(cache: &CacheArg) -> Result<(), Failure> {
    let folder = folder_of(cache)?;
    let contents = Cache::contents(&folder);
    to_stdout(&format!("{}\n", folder.display()))?;
    to_stderr(&format!("{}\n", screen::amount(contents.files, contents.bytes)));
    Ok(())
}

fn list(args: &SymbolsListArgs, screen: &Screen) -> Result<(), Failure> {
    let folder = args.cache.cache.clone().or_else(user_cache);
    let (process, rows) = look(&args.target.which(), folder.as_deref())?;
    let list = List::new(&process, folder.as_deref(), &[], &rows);
    if args.json {
        return to_stdout(&super::json(&list)?);
    }
    to_stdout(&screen::listed(&list, screen))
}

fn fetch(args: &SymbolsFetchArgs, screen: &Screen) -> Result<(), Failure> {
    let whole = parse_duration(&args.timeout)?;
    let servers = chosen_servers(&args.servers, |name| std::env::var(name).ok()).map_err(no_fetch)?;
    let folder = folder_of(&args.cache)?;
    let (process, mut rows) = look(&args.target.which(), Some(&folder))?;
    for row in &mut rows {
        row.find_addresses(&servers, &folder);
    }
    if !args.dry_run && rows.iter().any(Row::is_wanted) {
        let limits = Limits { whole, ..Limits::default() };
        get(&mut rows, servers.clone(), limits, &folder, screen)?;
    }
    let list = List::new(&process, Some(&folder), &servers, &rows);
    if args.json {
        to_stdout(&super::json(&list)?)?;
    } else {
        to_stdout(&screen::fetched(&list, args.dry_run, screen))?;
    }
    match args.dry_run {
        true => Ok(()),
        false => nothing_came(&rows.iter().map(|row| &row.state).collect::<Vec<_>>(), &servers, &folder),
    }
}

/// The process and its libraries.
fn look(which: &Which, cache: Option<&Path>) -> Result<(DotnetProcess, Vec<Row>), Failure> {
    let process = select(which)?;
    if !process.visible {
        return Err(ProfilerError::NotVisible { profiler: "symbols" }.into());
    }
    let map = MemoryMap::of_process(process.pid).map_err(|error| no_libraries(error, &process))?;
    let root = Process::new(process.pid).root();
    let folders = DebugFolders { root: root.clone(), cache: cache.map(Path::to_owned) };
    let libraries = mapped_libraries(&map, &folders);
    let rows = libraries.into_iter().map(|library| Row::new(library, &root, cache)).collect();
    Ok((process, rows))
}

fn folder_of(cache: &CacheArg) -> Result<PathBuf, Failure> {
    cache.cache.clone().or_else(user_cache).ok_or_else(|| {
        Failure::new(Code::Disk, "there is no folder for fetched symbols")
            .why("DRDOTNET_SYMBOL_CACHE, XDG_CACHE_HOME and HOME are not set")
            .next("choose one with --cache DIR, or set DRDOTNET_SYMBOL_CACHE=DIR for all commands")
    })
}

/// Asks for each library that has no symbols.
fn get(
    rows: &mut [Row],
    servers: Vec<Server>,
    limits: Limits,
    folder: &Path,
    screen: &Screen,
) -> Result<(), Failure> {
    let interrupt = Interrupt::listen(Second::EndsAtOnce)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let wanted = rows.iter().filter(|row| row.is_wanted()).count();
    if !servers.is_empty() {
        let names: Vec<String> = servers.iter().map(Server::to_string).collect();
        to_stderr(&format!("asking {} for {wanted} files\n", printable(&names.join(", "))));
    }
    let cache = Cache::create(folder.to_owned()).map_err(no_fetch)?;
    let mut fetcher = Fetcher::new(servers, limits, Proxies::FromEnvironment).map_err(no_fetch)?;
    for row in rows {
        let Some(wanted) = row.wanted() else { continue };
        let mut progress = Progress { screen, name: &wanted.name, last: Instant::now(), live: false };
        let outcome = fetcher.fetch(&wanted, &cache, &mut |bytes| {
            progress.show(bytes);
            if interrupt.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        progress.end();
        match outcome.map_err(no_fetch)? {
            Outcome::Fetched(fetched) => row.state = State::Fetched(fetched),
            Outcome::Missing(tries) => row.state = State::Missing { tries },
        }
        // A stop between two files.
        if interrupt.is_asked() {
            return Err(no_fetch(FetchError::Interrupted));
        }
    }
    Ok(())
}

struct Progress<'a> {
    screen: &'a Screen,
    name: &'a str,
    last: Instant,
    live: bool,
}

impl Progress<'_> {
    fn show(&mut self, bytes: u64) {
        let text = || format!("{}: {}", printable(self.name), format_bytes(bytes));
        if self.screen.live_progress {
            to_stderr(&format!("\r{}\x1b[K", text()));
            self.live = true;
        } else if self.last.elapsed() >= PLAIN_PERIOD {
            to_stderr(&format!("{}\n", text()));
            self.last = Instant::now();
        }
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.live) {
            to_stderr("\r\x1b[K");
        }
    }
}
