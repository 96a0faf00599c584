//! The folder that holds all sessions of a user.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::files::{self, MANIFEST, write_error};
use crate::makeshift::{self, Makeshift};
use crate::{Manifest, RunningSession, Session, SessionError, Status};

/// Prefix of a folder in which a session is being begun.
const DRAFT: &str = ".new-";
/// How many sessions may begin in the same second with the same profiler and target.
const MOST_TWINS: u32 = 1000;

/// One folder of the store.
#[derive(Debug)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// The session, or why it cannot be read.
    pub session: Result<Session, SessionError>,
}

/// The folder that holds all sessions of a user.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
    /// The folder that stands in for a home folder that cannot be written.
    makeshift: Option<Makeshift>,
}

impl Store {
    /// The store in this folder, which need not exist yet.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Store { root, makeshift: None }
    }

    /// The user's own: `DRDOTNET_SESSIONS`, or `drdotnet/sessions` under `XDG_STATE_HOME` or `~/.local/state`.
    /// Where there is no home folder, or a read-only one, as in many containers, a folder of the user in the
    /// temporary folder stands in for it.
    #[must_use]
    pub fn of_user() -> Self {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(chosen) = folder("DRDOTNET_SESSIONS") {
            return Store::at(chosen);
        }
        let home = folder("XDG_STATE_HOME")
            .or_else(|| folder("HOME").map(|home| home.join(".local/state")))
            .map(|state| state.join("drdotnet/sessions"))
            // One that is there is read also when it can no longer be written; `begin` then says so.
            .filter(|home| home.is_dir() || makeshift::can_be_written(home));
        match home {
            Some(root) => Store::at(root),
            None => {
                let makeshift = Makeshift::of_user();
                Store { root: makeshift.sessions(), makeshift: Some(makeshift) }
            }
        }
    }

    /// Whether it is in the temporary folder because the home folder cannot be written.
    #[must_use]
    pub fn is_makeshift(&self) -> bool {
        self.makeshift.is_some()
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Begins a session under an id made from the time, the profiler and the pid.
    pub fn begin(&self, manifest: &Manifest) -> Result<RunningSession, SessionError> {
        if let Some(makeshift) = &self.makeshift {
            makeshift.create()?;
        }
        files::private_store(&self.root).map_err(write_error(&self.root))?;
        let stamp: String =
            manifest.started_at.to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
        let base = format!("{}-{}-{}", stamp.replace('T', "-"), manifest.profiler, manifest.target.pid);
        for twin in 1..=MOST_TWINS {
            let id = if twin == 1 { base.clone() } else { format!("{base}-{twin}") };
            let draft = self.root.join(format!("{DRAFT}{id}-{}", std::process::id()));
            let folder = self.root.join(&id);
            if folder.exists() {
                continue;
            }
            let session = RunningSession::begin_in(&draft, manifest).map_err(|error| {
                let _ = fs::remove_dir_all(&draft);
                match error {
                    // Nobody knows the draft by its name.
                    SessionError::Write { source, .. } => {
                        SessionError::Write { path: folder.clone(), source }
                    }
                    error => error,
                }
            })?;
            match fs::rename(&draft, &folder) {
                Ok(()) => return Ok(session.moved_to(folder)),
                // Somebody else took the id since.
                Err(error)
                    if matches!(error.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) =>
                {
                    let _ = fs::remove_dir_all(&draft);
                }
                Err(error) => {
                    let _ = fs::remove_dir_all(&draft);
                    return Err(write_error(&folder)(error));
                }
            }
        }
        let source = std::io::Error::from(ErrorKind::AlreadyExists);
        Err(SessionError::Write { path: self.root.join(base), source })
    }

    /// All sessions, newest first. A damaged one is in the list with its error.
    pub fn list(&self) -> Result<Vec<Entry>, SessionError> {
        if let Some(makeshift) = &self.makeshift {
            makeshift.check()?;
        }
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(files::read_error(&self.root)(error)),
        };
        let mut list: Vec<Entry> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|id| self.is_session(id))
            .map(|id| Entry { session: Session::read(&self.root.join(&id)), id })
            .collect();
        list.sort_by(|a, b| b.id.cmp(&a.id));
        Ok(list)
    }

    /// Whether a folder of the store is a session, damaged perhaps. Anything else in it is somebody's own.
    fn is_session(&self, name: &str) -> bool {
        is_id(name) || (!name.starts_with('.') && self.root.join(name).join(MANIFEST).exists())
    }

    /// The session a user means: an id, its unique beginning, `last`, or the path of a session's folder.
    pub fn find(&self, wanted: &str) -> Result<Session, SessionError> {
        Session::read(&self.folder_of(wanted)?)
    }

    fn folder_of(&self, wanted: &str) -> Result<PathBuf, SessionError> {
        let not_found = || SessionError::NotFound { id: wanted.to_owned(), store: self.root.clone() };
        if wanted.contains('/') || wanted == "." || wanted == ".." {
            let path = PathBuf::from(wanted);
            return if path.is_dir() { Ok(path) } else { Err(not_found()) };
        }
        let entries = self.list()?;
        if wanted == "last" {
            let begun =
                |entry: &Entry| entry.session.as_ref().ok().map(|session| session.manifest.started_at);
            let newest = entries.iter().max_by_key(|entry| (begun(entry), &entry.id));
            return newest.map(|entry| self.root.join(&entry.id)).ok_or_else(not_found);
        }
        let ids: Vec<String> = entries.into_iter().map(|entry| entry.id).collect();
        if let Some(exact) = ids.iter().find(|id| *id == wanted) {
            return Ok(self.root.join(exact));
        }
        let mut candidates: Vec<String> = ids.into_iter().filter(|id| id.starts_with(wanted)).collect();
        match candidates.len() {
            // A folder given with -o, named without a slash.
            0 if Path::new(wanted).join(MANIFEST).exists() => Ok(PathBuf::from(wanted)),
            0 => Err(not_found()),
            1 => Ok(self.root.join(candidates.swap_remove(0))),
            _ => Err(SessionError::Ambiguous { id: wanted.to_owned(), candidates }),
        }
    }

    /// Removes a session that is not running. A damaged one is removed only from the store itself, and only if its
    /// name is that of a session: everything else is somebody's own.
    pub fn remove(&self, wanted: &str) -> Result<PathBuf, SessionError> {
        let folder = self.folder_of(wanted)?;
        match Session::read(&folder) {
            Ok(session) if session.status == Status::Running => {
                return Err(SessionError::Running { id: session.id });
            }
            Err(error) if folder.parent() != Some(&self.root) || !has_id(&folder) => return Err(error),
            _ => {}
        }
        files::remove_session(&folder).map_err(write_error(&folder))?;
        Ok(folder)
    }
}

fn has_id(folder: &Path) -> bool {
    folder.file_name().and_then(|name| name.to_str()).is_some_and(is_id)
}

/// Whether a name is of the form `20261115-051200-...`.
fn is_id(name: &str) -> bool {
    let mut parts = name.splitn(3, '-');
    let digits = |part: Option<&str>, count: usize| {
        part.is_some_and(|part| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    digits(parts.next(), 8) && digits(parts.next(), 6) && parts.next().is_some()
}
