//! What can go wrong on the way in and out.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use agent_wire::{Damage, Reason, Stage};
use diagnostics_ipc::{HResult, IpcError};
use model::ProcessId;
use process_view::ViewError;
use thiserror::Error;

/// The variable that names another folder for the agent.
pub(crate) const FOLDER_SETTING: &str = "DRDOTNET_AGENT_FOLDER";

/// Why the agent could not come, answer or leave.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The target cannot be looked at.
    #[error(transparent)]
    View(#[from] ViewError),
    /// It is stopped: nothing can be loaded by a process that does not run.
    #[error("{}", stopped(*by))]
    Stopped {
        /// The debugger that holds it; `None` if a signal stopped it.
        by: Option<ProcessId>,
    },
    /// It has ended, and only its entry in the process table is left.
    #[error("the process has ended; only its entry in the process table is left")]
    Ended,
    /// Its owner does not want profilers.
    #[error(
        "profilers are switched off in the process by {variable}; only a restart without it lets an agent in"
    )]
    SwitchedOff {
        /// The variable of its environment.
        variable: String,
    },
    /// It runs on another kind of processor.
    #[error(
        "the process is built for {theirs}, this drdotnet for {ours}; use the one that is built for {theirs}"
    )]
    OtherMachine {
        /// Its architecture.
        theirs: &'static str,
        /// Ours.
        ours: &'static str,
    },
    /// It has another C library.
    #[error(
        "the process uses {theirs}, this drdotnet is built for {ours}; use the one that is built for {theirs}"
    )]
    OtherLibrary {
        /// Its C library.
        theirs: &'static str,
        /// Ours.
        ours: &'static str,
    },
    /// The folder does not exist, or may not be entered.
    #[error(
        "the folder {} of the process cannot be opened: {source}; another one can be named with {FOLDER_SETTING}",
        folder.display()
    )]
    NoFolder {
        /// The folder, as the target sees it.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can be run from the folder.
    #[error(
        "the folder {} of the process is mounted noexec, so that no library can be loaded from it; name one that allows \
         it with {FOLDER_SETTING}",
        folder.display()
    )]
    NoExec {
        /// The folder, as the target sees it.
        folder: PathBuf,
    },
    /// Nothing can be written into the folder.
    #[error(
        "the folder {} of the process is mounted read-only; name one that can be written to with {FOLDER_SETTING}",
        folder.display()
    )]
    ReadOnly {
        /// The folder, as the target sees it.
        folder: PathBuf,
    },
    /// A file could not be made in the folder.
    #[error(
        "{what} cannot be written into the folder {} of the process: {source}; another folder can be named with \
         {FOLDER_SETTING}",
        folder.display()
    )]
    Unwritable {
        /// What was to be written.
        what: &'static str,
        /// The folder, as the target sees it.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else's file has the name of ours.
    #[error(
        "{} belongs to user {owner}, not to the user of the process: somebody may want to have it loaded; remove it, or \
         name another folder with {FOLDER_SETTING}",
        path.display()
    )]
    Planted {
        /// The file, as the target sees it.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The path of the socket would be too long for the operating system.
    #[error(
        "the folder {} of the process has too long a path for a socket; name another with {FOLDER_SETTING}",
        folder.display()
    )]
    LongPath {
        /// The folder, as the target sees it.
        folder: PathBuf,
    },
    /// The one place for a profiler is taken.
    #[error(
        "another profiler is attached, and this runtime has room for one; detach it or ask a question that needs no \
         agent (.NET 6 and newer have room for both)"
    )]
    Taken,
    /// The runtime refused the library.
    #[error(
        "the runtime could not load the agent from {}: {code}; if the user of the process cannot read there, name another \
         folder with {FOLDER_SETTING}",
        path.display()
    )]
    NotLoaded {
        /// The library, as the target sees it.
        path: PathBuf,
        /// What the runtime answered.
        code: HResult,
    },
    /// The runtime did not do what it was asked.
    #[error(transparent)]
    Ipc(#[from] IpcError),
    /// The runtime loaded the agent, but it never called.
    #[error(
        "the agent was loaded but did not call within {waited:?}: the process gets no processor time, or the runtime \
         overlooks its profilers; it leaves by itself, so try again"
    )]
    Silent {
        /// How long we waited.
        waited: Duration,
    },
    /// It is of another version.
    #[error(
        "the agent in the process is of another drdotnet: it speaks version {theirs} of the protocol, not {ours}; it \
         leaves by itself, so try again"
    )]
    Version {
        /// Its version.
        theirs: u16,
        /// Our version.
        ours: u16,
    },
    /// The connection broke.
    #[error("the connection to the agent broke: {source}; the process may have ended")]
    Lost {
        /// What the system says.
        source: io::Error,
    },
    /// It left instead of an answer.
    #[error("the agent left before it had answered: {}", left(*reason))]
    Left {
        /// Why, in its own words.
        reason: Reason,
    },
    /// It said something senseless.
    #[error("the agent sent what is no answer ({0}); it is asked no more and leaves by itself")]
    Damaged(Damage),
    /// It could not answer.
    #[error("{}: {code}; the process is not harmed, and it may go better in a moment", refused(*stage))]
    Refused {
        /// Where it failed.
        stage: Stage,
        /// The runtime's result code.
        code: HResult,
    },
    /// Something of our own system failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// What the agent could not do.
fn refused(stage: Stage) -> &'static str {
    match stage {
        Stage::Suspend => {
            "the runtime could not be stopped for a look, since it is stopped for something else all the time"
        }
        Stage::Threads => "the runtime did not list its threads",
        Stage::Turn => "another drdotnet looks at the process and did not come to an end",
        Stage::Heap => "the runtime did not show its heap",
        Stage::Stalled => "the heap was not read as fast as it was told, so the process was let go on",
        Stage::TooLong => "telling the heap took longer than the process may stand still",
        Stage::Stopped => "telling the heap was stopped",
        Stage::Memory => "the agent could not use the memory that it was to share",
        Stage::Panic => "the agent failed at the answer, which is a fault of drdotnet",
    }
}

/// Why an agent left that was still asked.
fn left(reason: Reason) -> &'static str {
    match reason {
        Reason::Deadline => "its time was over; ask again",
        Reason::Shutdown => "the process ends",
        Reason::Lost => "it heard nothing from this drdotnet for too long, or could not send; ask again",
        Reason::Told => "it was told to",
        Reason::Nonsense => "it did not understand what it was asked, which is a fault of drdotnet",
        Reason::Panic => "it failed, which is a fault of drdotnet; the process is not harmed",
    }
}

fn stopped(by: Option<ProcessId>) -> String {
    match by {
        None => "the process is stopped by a signal, so that no agent can come; let it go on with kill -CONT"
            .to_owned(),
        Some(pid) => {
            format!("the process is held by a debugger, process {pid}; let it go on there, then ask again")
        }
    }
}
