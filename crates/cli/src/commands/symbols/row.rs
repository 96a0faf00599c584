//! What is known of a library's symbols.

use std::path::{Path, PathBuf};

use discovery::DotnetProcess;
use model::ProcessId;
use native_symbols::{MappedLibrary, Symbols};
use serde::Serialize;
use symbol_server::{Cache, Fetched, Server, Try, Wanted};

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.symbols/1";

/// Where a library's symbols are.
pub enum State {
    /// In the library itself.
    Own,
    /// In a file on the machine.
    DebugFile(PathBuf),
    /// In a file that was fetched before.
    Cached(PathBuf),
    /// In a file that was fetched now.
    Fetched(Fetched),
    /// Nowhere; these addresses were asked.
    Missing { tries: Vec<Try> },
    /// Nowhere, and nobody can be asked.
    NoBuildId,
    /// The library cannot be read.
    Unreadable(String),
}

impl State {
    /// As it stands in JSON.
    fn word(&self) -> &'static str {
        match self {
            State::Own => "own",
            State::DebugFile(_) => "debug-file",
            State::Cached(_) => "cached",
            State::Fetched(_) => "fetched",
            State::Missing { .. } | State::NoBuildId => "missing",
            State::Unreadable(_) => "unreadable",
        }
    }
}

/// How to get a debug file by hand.
pub struct Elsewhere {
    /// Servers, and where on them it may be.
    pub servers: Vec<(String, Vec<String>)>,
    /// Where it belongs.
    pub file: PathBuf,
}

/// A library.
pub struct Row {
    pub library: MappedLibrary,
    pub state: State,
    pub functions: Option<usize>,
    /// How to get its debug file by hand.
    pub elsewhere: Option<Elsewhere>,
    /// A file that stands where its debug file would be, and is none.
    pub impostor: Option<PathBuf>,
}

impl Row {
    /// A library as it was found, in a file system with this root.
    pub fn new(library: MappedLibrary, root: &Path, cache: Option<&Path>) -> Row {
        let (state, functions) = match &library.symbols {
            Symbols::Own { functions } => (State::Own, Some(*functions)),
            Symbols::DebugFile { file, functions } => {
                let is_cached = cache.is_some_and(|cache| file.parent() == Some(cache));
                let state = match file.strip_prefix(root) {
                    _ if is_cached => State::Cached(file.clone()),
                    Ok(inside) => State::DebugFile(Path::new("/").join(inside)),
                    Err(_) => State::DebugFile(file.clone()),
                };
                (state, Some(*functions))
            }
            Symbols::Missing { exported } => {
                let known = library.build_id.as_ref().and_then(|id| Wanted::new("", id));
                let state = known.map_or(State::NoBuildId, |_| State::Missing { tries: Vec::new() });
                (state, Some(*exported))
            }
            Symbols::Unreadable { problem } => (State::Unreadable(problem.clone()), None),
        };
        let impostor = match (&state, &library.build_id, cache) {
            (State::Missing { .. }, Some(id), Some(cache)) => {
                Some(id.in_cache(cache)).filter(|file| file.exists())
            }
            _ => None,
        };
        Row { library, state, functions, elsewhere: None, impostor }
    }

    /// Whether its symbols could be fetched.
    pub fn is_wanted(&self) -> bool {
        matches!(self.state, State::Missing { .. })
    }

    /// What to ask for.
    pub fn wanted(&self) -> Option<Wanted> {
        let id = self.library.build_id.as_ref().filter(|_| self.is_wanted())?;
        Wanted::new(&self.name(), id)
    }

    /// Finds out where its symbols could be had by hand.
    pub fn find_addresses(&mut self, servers: &[Server], cache: &Path) {
        let Some(wanted) = self.wanted() else { return };
        let addresses = servers.iter().map(|server| (server.to_string(), server.shown_addresses(&wanted)));
        let file = wanted.build_id.in_cache(cache);
        self.elsewhere = Some(Elsewhere { servers: addresses.collect(), file });
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        self.library.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// All libraries of a process.
#[derive(Serialize)]
pub struct List<'a> {
    schema: &'static str,
    pub pid: ProcessId,
    pub name: &'a str,
    pub cache: Option<CacheRow>,
    servers: Vec<String>,
    libraries: Vec<Entry>,
    #[serde(skip)]
    pub rows: &'a [Row],
}

/// The folder of fetched files.
#[derive(Serialize)]
pub struct CacheRow {
    pub folder: PathBuf,
    pub files: u64,
    pub bytes: u64,
}

#[derive(Serialize)]
struct Entry {
    path: PathBuf,
    build_id: Option<String>,
    symbols: &'static str,
    functions: Option<usize>,
    file: Option<PathBuf>,
    fetched_bytes: Option<u64>,
    fetched_from: Option<String>,
    problem: Option<String>,
    tries: Vec<TryRow>,
    /// For who downloads it by hand.
    download: Option<Download>,
}

#[derive(Serialize)]
struct TryRow {
    address: String,
    problem: String,
}

#[derive(Serialize)]
struct Download {
    addresses: Vec<String>,
    put_at: PathBuf,
}

impl<'a> List<'a> {
    pub fn new(
        process: &'a DotnetProcess,
        cache: Option<&Path>,
        servers: &[Server],
        rows: &'a [Row],
    ) -> List<'a> {
        let cache = cache.map(|folder| {
            let contents = Cache::contents(folder);
            CacheRow { folder: folder.to_owned(), files: contents.files, bytes: contents.bytes }
        });
        List {
            schema: SCHEMA,
            pid: process.pid,
            name: &process.name,
            cache,
            servers: servers.iter().map(Server::to_string).collect(),
            libraries: rows.iter().map(Entry::new).collect(),
            rows,
        }
    }
}

impl Entry {
    fn new(row: &Row) -> Entry {
        let fetched = match &row.state {
            State::Fetched(fetched) => Some(fetched),
            _ => None,
        };
        let tries = match &row.state {
            State::Missing { tries } => tries.as_slice(),
            _ => &[],
        };
        let problem = match &row.state {
            State::Unreadable(problem) => Some(problem.clone()),
            State::NoBuildId => Some("it has no build id to ask by".to_owned()),
            _ => None,
        };
        let file = match &row.state {
            State::DebugFile(file) | State::Cached(file) => Some(file.clone()),
            State::Fetched(fetched) => Some(fetched.file.clone()),
            _ => None,
        };
        Entry {
            path: row.library.path.clone(),
            build_id: row.library.build_id.as_ref().map(ToString::to_string),
            symbols: row.state.word(),
            functions: fetched.map(|fetched| fetched.functions).or(row.functions),
            file,
            fetched_bytes: fetched.map(|fetched| fetched.bytes),
            fetched_from: fetched.map(|fetched| fetched.address.clone()),
            problem,
            tries: tries
                .iter()
                .map(|one| TryRow { address: one.address.clone(), problem: one.problem.to_string() })
                .collect(),
            download: row.elsewhere.as_ref().filter(|_| row.is_wanted()).map(|elsewhere| Download {
                addresses: elsewhere.servers.iter().flat_map(|(_, addresses)| addresses.clone()).collect(),
                put_at: elsewhere.file.clone(),
            }),
        }
    }
}
