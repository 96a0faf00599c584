//! What is known, and what the user wants to see of it.

use std::time::{Duration, Instant};

use counters::{Board, Told};

/// Without a value for this long, or five intervals, a process counts as silent.
const SILENCE: Duration = Duration::from_secs(5);

/// How a process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its session begins.
    Waiting,
    /// Values come.
    Running,
    /// It has ended; its last values stay.
    Ended,
    /// Its session could not go on.
    Failed(String),
}

/// A process and its values.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Version of its runtime.
    pub runtime: Option<String>,
    /// How it is.
    pub status: Status,
    /// Its values.
    pub board: Board,
    /// When the last value came.
    pub heard: Instant,
}

/// In which order the series of a provider are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By name.
    Name,
    /// The largest value first.
    Value,
    /// The largest change first.
    Change,
}

impl Sort {
    /// The next one.
    pub fn next(self) -> Sort {
        match self {
            Sort::Name => Sort::Value,
            Sort::Value => Sort::Change,
            Sort::Change => Sort::Name,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Name => "name",
            Sort::Value => "value",
            Sort::Change => "change",
        }
    }
}

/// What is known, and what the user wants to see of it.
#[derive(Debug)]
pub struct State {
    /// The processes.
    pub subjects: Vec<Subject>,
    /// The values as they were when the user paused.
    frozen: Option<Vec<Board>>,
    /// Time between two values.
    pub interval: Duration,
    /// When it began.
    pub begin: Instant,
    /// What must be in a row for it to be shown.
    pub filter: String,
    /// Whether the filter is being typed.
    pub editing: bool,
    /// The order.
    pub sort: Sort,
    /// Whether changes are shown.
    pub deltas: bool,
    /// Rows above the first that is shown.
    pub scroll: usize,
    /// Rows that a page has, as last drawn.
    pub page: usize,
    /// Whether there is colour.
    pub colour: bool,
}

impl State {
    /// Of these processes: pid, name, version of the runtime.
    pub fn new(
        processes: impl IntoIterator<Item = (u32, String, Option<String>)>,
        interval: Duration,
        now: Instant,
    ) -> State {
        let subject = |(pid, name, runtime)| Subject {
            pid,
            name,
            runtime,
            status: Status::Waiting,
            board: Board::default(),
            heard: now,
        };
        State {
            subjects: processes.into_iter().map(subject).collect(),
            frozen: None,
            interval,
            begin: now,
            filter: String::new(),
            editing: false,
            sort: Sort::Name,
            deltas: false,
            scroll: 0,
            page: 1,
            colour: false,
        }
    }

    /// Takes in what a process told.
    pub fn take(&mut self, index: usize, told: Told, now: Instant) {
        let Some(subject) = self.subjects.get_mut(index) else { return };
        subject.heard = now;
        if subject.status == Status::Waiting && matches!(told, Told::Update(_)) {
            subject.status = Status::Running;
        }
        subject.board.take(told);
    }

    /// A session is over.
    pub fn end(&mut self, index: usize, status: Status) {
        if let Some(subject) = self.subjects.get_mut(index) {
            subject.status = status;
        }
    }

    /// Whether the screen stands still.
    pub fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// Stops the screen; values still come in.
    pub fn pause(&mut self) {
        self.frozen
            .get_or_insert_with(|| self.subjects.iter().map(|subject| subject.board.clone()).collect());
    }

    /// Lets the screen go on.
    pub fn resume(&mut self) {
        self.frozen = None;
    }

    /// The values of a process as they are shown.
    pub fn shown(&self, index: usize) -> Option<&Board> {
        match &self.frozen {
            Some(boards) => boards.get(index),
            None => self.subjects.get(index).map(|subject| &subject.board),
        }
    }

    /// How long a process that should have told something has told nothing.
    pub fn silent(&self, subject: &Subject, now: Instant) -> Option<Duration> {
        let silent = now.saturating_duration_since(subject.heard);
        let live = matches!(subject.status, Status::Waiting | Status::Running);
        (live && silent > SILENCE.max(self.interval * 5)).then_some(silent)
    }
}
