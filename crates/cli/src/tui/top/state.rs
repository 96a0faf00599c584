//! What is known, and what the user wants to see of it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use stacks::Profile;

use super::rows::{self, Fold, MethodRow};

/// Intervals that a trend goes back.
const HISTORY: usize = 60;

/// Which time of threads is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Running.
    OnCpu,
    /// Waiting.
    OffCpu,
}

impl Side {
    /// Its words.
    pub fn words(self) -> &'static str {
        match self {
            Side::OnCpu => "on CPU",
            Side::OffCpu => "waiting",
        }
    }
}

/// In which order methods are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// Most time in the method itself first.
    Own,
    /// Most time with all it calls first.
    Total,
    /// By name.
    Name,
}

impl Sort {
    /// The next one.
    pub fn next(self) -> Sort {
        match self {
            Sort::Own => Sort::Total,
            Sort::Total => Sort::Name,
            Sort::Name => Sort::Own,
        }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Own => "self",
            Sort::Total => "total",
            Sort::Name => "name",
        }
    }
}

/// What happened between two pictures.
#[derive(Clone, Debug)]
pub struct Interval {
    /// How long it was.
    pub took: Duration,
    /// Time on the CPU.
    pub on_cpu: Profile,
    /// Time waiting, without waits that mean nothing.
    pub off_cpu: Profile,
    /// Time that threads waited for work to come, which `off_cpu` leaves out.
    pub idle: Duration,
    /// Samples that came.
    pub samples: u64,
    /// Samples that the kernel dropped.
    pub lost: u64,
}

impl Interval {
    /// The profile of a side.
    pub fn profile(&self, side: Side) -> &Profile {
        match side {
            Side::OnCpu => &self.on_cpu,
            Side::OffCpu => &self.off_cpu,
        }
    }
}

/// How the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It runs.
    Running,
    /// It has ended; what it did last stays.
    Ended,
}

/// A thread that was picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picked {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// Time in methods themselves in the last intervals, oldest first.
type History = VecDeque<HashMap<(Side, String), u64>>;

/// What is known, and what the user wants to see of it.
pub struct State {
    /// The process: name, pid, runtime.
    pub title: String,
    /// What a reader must know to trust the numbers.
    pub notes: Vec<String>,
    /// How it is.
    pub status: Status,
    latest: Option<Interval>,
    history: History,
    /// What is shown while the user paused.
    frozen: Option<(Interval, History)>,
    /// Whether waits can be shown at all.
    pub has_waits: bool,
    /// Which time is shown.
    pub side: Side,
    /// The order of methods.
    pub sort: Sort,
    /// Whether framework code counts as its caller's.
    pub folded: bool,
    /// The only thread that is shown.
    pub picked: Option<Picked>,
    /// Whether the keys move the choice of a thread.
    pub picking: bool,
    /// The thread that Enter picks.
    pub cursor: usize,
    /// What must be in a method's name for it to be shown.
    pub filter: String,
    /// Whether the filter is being typed.
    pub editing: bool,
    /// Rows above the first that is shown.
    pub scroll: usize,
    /// Rows that a page has, as last drawn.
    pub page: usize,
    /// Whether there is colour.
    pub colour: bool,
    /// When it began.
    pub begin: Instant,
}

impl State {
    /// Of a process, before anything is known.
    pub fn new(title: String, begin: Instant) -> State {
        State {
            title,
            notes: Vec::new(),
            status: Status::Running,
            latest: None,
            history: History::new(),
            frozen: None,
            has_waits: true,
            side: Side::OnCpu,
            sort: Sort::Own,
            folded: false,
            picked: None,
            picking: false,
            cursor: 0,
            filter: String::new(),
            editing: false,
            scroll: 0,
            page: 1,
            colour: false,
            begin,
        }
    }

    /// Takes in what happened since the last picture.
    pub fn take(&mut self, interval: Interval) {
        let mut own = HashMap::new();
        for side in [Side::OnCpu, Side::OffCpu] {
            // As it is shown when nothing is picked; a trend of something else would need all of the past.
            for MethodRow { name, own: weight, .. } in
                rows::methods_of(interval.profile(side), None, Fold::of(side, self.folded))
            {
                if weight > 0 {
                    *own.entry((side, name)).or_default() += weight;
                }
            }
        }
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(own);
        self.latest = Some(interval);
    }

    /// What is shown.
    pub fn shown(&self) -> Option<&Interval> {
        self.frozen.as_ref().map(|(interval, _)| interval).or(self.latest.as_ref())
    }

    /// Time in a method itself, in the last intervals.
    pub fn history(&self, method: &str) -> Vec<f64> {
        let key = (self.side, method.to_owned());
        #[expect(clippy::cast_precision_loss, reason = "bars are drawn from it")]
        let past = self
            .frozen
            .as_ref()
            .map_or(&self.history, |(_, history)| history)
            .iter()
            .map(|own| own.get(&key).copied().unwrap_or(0) as f64);
        past.collect()
    }

    /// What counts as its caller's changes the past, too.
    pub fn forget_history(&mut self) {
        self.history.clear();
    }

    /// Whether the screen stands still.
    pub fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// Stops the screen; time is still looked at.
    pub fn pause(&mut self) {
        self.frozen = self.latest.clone().map(|interval| (interval, self.history.clone()));
    }

    /// Lets the screen go on.
    pub fn resume(&mut self) {
        self.frozen = None;
    }
}
