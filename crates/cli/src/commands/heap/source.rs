//! From what was typed to a heap.

use std::path::{Path, PathBuf};

use heap_reports::{Look, Origin};
use model::{ProcessId, Section};
use sessions::{RunningSession, Session, SessionError, Store};

use super::core;
use super::live::{self, Question};
use super::which;
use crate::args::Which;
use crate::args::heap::Taking;
use crate::commands::gcdump;
use crate::control::{Interrupt, Second};
use crate::exit_code::Code;
use crate::explain::{Failure, unreachable};
use crate::screen::Screen;
use crate::selection::select;

/// No process has a higher id on any Linux; a longer number is the beginning of a session's.
const HIGHEST_PID: u32 = 1 << 22;

/// Where a heap is.
pub enum Source {
    /// In a running process.
    Process(Which),
    /// In a running process, as nothing else has this name.
    Named(String),
    /// In a session, with its file.
    Session(Box<Session>, PathBuf),
    /// In a file.
    File(PathBuf),
}

/// A heap, and where it is from.
pub struct Opened {
    pub look: Look,
    pub origin: Origin,
    /// How a later command names it: a session's id or folder, or a file.
    pub name: String,
    /// The process, when it was running a moment ago.
    pub pid: Option<ProcessId>,
    /// The session that was begun for it.
    pub session: Option<RunningSession>,
    /// What is known of the memory around it.
    pub beside: Vec<Section>,
    /// Why the heap itself could not be kept.
    pub not_kept: Option<Failure>,
}

impl Opened {
    /// There is a heap, but no answer to the question: what was wrong with it, with where the heap is.
    pub fn kept_without_answer(self, failure: Failure) -> Failure {
        let Some(session) = self.session else { return failure };
        let _ = session.fail(&failure.what());
        failure
            .also(&format!("the heap itself is kept: ask again with {} in place of the process", self.name))
    }
}

/// The heap that is meant.
pub fn find(word: Option<&str>, pid: Option<ProcessId>, name: Option<&str>) -> Result<Source, Failure> {
    match which(pid, name) {
        Some(which) => Ok(Source::Process(which)),
        None => of_word(word.unwrap_or_default()),
    }
}

/// The heap that is meant with a word: a file, a session, or a process, in this order but for short numbers.
pub fn of_word(word: &str) -> Result<Source, Failure> {
    let path = Path::new(word);
    if path.is_file() {
        return Ok(Source::File(path.to_owned()));
    }
    if let Ok(pid) = word.parse::<u32>()
        && pid <= HIGHEST_PID
    {
        return Ok(Source::Process(Which::Pid(ProcessId(pid))));
    }
    let store = Store::of_user();
    if word == "last" {
        return newest(&store);
    }
    match store.find(word) {
        Ok(session) => of_session(session, &store),
        // A name with a slash or with the ending of a file can be nothing else.
        Err(SessionError::NotFound { .. }) if word.contains('/') || word.ends_with(".gcdump") => {
            Ok(Source::File(path.to_owned()))
        }
        Err(SessionError::NotFound { .. }) => Ok(Source::Named(word.to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn of_session(session: Session, store: &Store) -> Result<Source, Failure> {
    if let Some(heap) = last_heap(&session) {
        return Ok(Source::Session(Box::new(session), heap));
    }
    let what = format!("session '{}' has no heap", session.id);
    let failure = Failure::new(Code::NoSuchSession, what)
        .why(format!("it was made by {}, or did not come to its end", session.manifest.profiler));
    Err(match newest(store) {
        Ok(Source::Session(found, _)) => {
            failure.next(format!("drdotnet heap {}   is the latest with one", found.id))
        }
        _ => failure.next("drdotnet heap -p PID   takes one"),
    })
}

/// The latest heap of a session, which may have taken several.
fn last_heap(session: &Session) -> Option<PathBuf> {
    session.heaps().ok()?.pop()
}

/// The latest session that has a heap.
fn newest(store: &Store) -> Result<Source, Failure> {
    let sessions = store.list()?.into_iter().filter_map(|entry| entry.session.ok());
    let with_heap = sessions.filter_map(|session| last_heap(&session).map(|heap| (session, heap)));
    let newest = with_heap.max_by_key(|(session, _)| (session.manifest.started_at, session.id.clone()));
    newest.map(|(session, heap)| Source::Session(Box::new(session), heap)).ok_or_else(|| {
        Failure::new(Code::NoSuchSession, "no session has a heap yet")
            .next("drdotnet heap -p PID   takes one and keeps it")
    })
}

impl Source {
    /// Whether it is in a running process.
    pub fn is_live(&self) -> bool {
        matches!(self, Source::Process(_) | Source::Named(_))
    }

    /// The heap. One of a process is taken, and kept in a session about the question.
    pub fn open(self, taking: &Taking, question: &Question, screen: &Screen) -> Result<Opened, Failure> {
        match self {
            Source::Process(which) => of_process(&which, taking, question, screen),
            Source::Named(name) => {
                let opened = of_process(&Which::Name(name), taking, question, screen);
                opened.map_err(|failure| match failure.code {
                    Code::NoSuchName => failure.also("no file and no session is called so either"),
                    _ => failure,
                })
            }
            Source::Session(session, file) => {
                let (look, mut origin) = gcdump::open(&file)?;
                origin.target = session.manifest.target.clone();
                origin.taken_at = session.manifest.started_at;
                let name = Store::of_user()
                    .find(&session.id)
                    .map_or_else(|_| session.folder.display().to_string(), |_| session.id.clone());
                Ok(Opened::kept(look, origin, name))
            }
            Source::File(path) => {
                let (look, origin) =
                    if core::is_core(&path) { core::open(&path) } else { gcdump::open(&path) }?;
                Ok(Opened::kept(look, origin, path.display().to_string()))
            }
        }
    }
}

fn of_process(
    which: &Which,
    taking: &Taking,
    question: &Question,
    screen: &Screen,
) -> Result<Opened, Failure> {
    live::check(taking)?;
    // The runtime cannot be stopped in the middle: one Ctrl+C is enough.
    let interrupt = Interrupt::listen(Second::IsIgnored)
        .map_err(|error| Failure::new(Code::Unexpected, error.to_string()))?;
    let process = select(which)?;
    if let Some(failure) = unreachable(&process) {
        return Err(failure);
    }
    live::take(process, taking, question, &interrupt, screen)
}

impl Opened {
    fn kept(look: Look, origin: Origin, name: String) -> Opened {
        Opened { look, origin, name, pid: None, session: None, beside: Vec::new(), not_kept: None }
    }
}
