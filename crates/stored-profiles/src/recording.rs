//! What is kept.

use std::time::SystemTime;

use stacks::Profile;

/// Which time of a thread a profile shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// It ran.
    OnCpu,
    /// It waited.
    OffCpu,
    /// It could have run, but others had the processors.
    Ready,
}

impl Side {
    /// All, in the order in which they are shown.
    pub const ALL: [Side; 3] = [Side::OnCpu, Side::OffCpu, Side::Ready];

    /// A short name, also for files.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Side::OnCpu => "on-cpu",
            Side::OffCpu => "off-cpu",
            Side::Ready => "ready",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Side::OnCpu => "On-CPU",
            Side::OffCpu => "Off-CPU",
            Side::Ready => "Ready",
        }
    }
}

/// A process and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessName {
    /// Its id.
    pub pid: u64,
    /// Its name.
    pub name: String,
}

/// Profiles of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The version of the tool that made it.
    pub tool_version: String,
    /// What was recorded: the name of the process, or how many there are.
    pub name: String,
    /// When it began, when known.
    pub started: Option<SystemTime>,
    /// How long it took, in nanoseconds; zero if not known.
    pub duration_ns: u64,
    /// Samples a second that were asked for, when it was sampled.
    pub rate_hz: Option<u32>,
    /// The processes.
    pub processes: Vec<ProcessName>,
    /// The profiles: one for each side of each process.
    pub profiles: Vec<(Side, Profile)>,
}

impl Recording {
    /// A recording of one profile.
    #[must_use]
    pub fn of(side: Side, profile: Profile) -> Recording {
        Recording {
            name: profile.title.clone(),
            started: profile.started,
            duration_ns: profile.duration_ns,
            profiles: vec![(side, profile)],
            ..Recording::default()
        }
    }

    /// The sides that have samples, each once.
    #[must_use]
    pub fn sides(&self) -> Vec<Side> {
        let has_samples = |wanted: &Side| {
            self.profiles.iter().any(|(side, profile)| side == wanted && !profile.samples.is_empty())
        };
        Side::ALL.into_iter().filter(has_samples).collect()
    }

    /// The profiles of one side.
    pub fn of_side(&self, wanted: Side) -> impl Iterator<Item = &Profile> {
        self.profiles.iter().filter(move |(side, _)| *side == wanted).map(|(_, profile)| profile)
    }

    /// What a process is called, when known.
    #[must_use]
    pub fn process_name(&self, pid: u64) -> Option<&str> {
        self.processes.iter().find(|process| process.pid == pid).map(|process| process.name.as_str())
    }
}
