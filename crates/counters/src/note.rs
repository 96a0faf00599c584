//! What a user should know beside the values, in words.

use std::fmt;

/// What a user should know beside the values. Texts come from the target: hostile input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The runtime reports no further series.
    SeriesLimit {
        /// The limit that was asked for.
        limit: u32,
    },
    /// The runtime reports no further histograms.
    HistogramLimit {
        /// The limit that was asked for.
        limit: u32,
    },
    /// This tool keeps no further series.
    BoardFull {
        /// How many it keeps.
        limit: usize,
    },
    /// This tool keeps no further instruments.
    TooManyCounters {
        /// How many it keeps.
        limit: usize,
    },
    /// The session for meters failed in the target.
    MetersFailed {
        /// What the runtime says.
        message: String,
    },
    /// An instrument could not be asked for its value.
    CallbackFailed {
        /// What the runtime says.
        message: String,
    },
    /// Somebody else collects meters there, and this runtime allows one only.
    OtherSession {
        /// The session that is running.
        session: String,
    },
    /// Somebody else collects meters there with other settings.
    OtherSettings {
        /// What differs, as setting, value in force, value asked for.
        differences: Vec<(&'static str, String, String)>,
    },
    /// The target could not hand over all events in time.
    Lost {
        /// How many are missing.
        events: u64,
    },
}

impl Note {
    /// Whether no values of meters will come.
    #[must_use]
    pub fn ends_meters(&self) -> bool {
        matches!(self, Note::MetersFailed { .. } | Note::OtherSession { .. } | Note::OtherSettings { .. })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::SeriesLimit { limit } => write!(
                f,
                "the limit of {limit} time series is reached, further ones are not shown; --maxTimeSeries raises it, \
                 at a cost of memory in the target"
            ),
            Note::HistogramLimit { limit } => write!(
                f,
                "the limit of {limit} histograms is reached, further ones are not shown; --maxHistograms raises it, \
                 at a cost of memory in the target"
            ),
            Note::BoardFull { limit } => write!(
                f,
                "there are more than {limit} series, or their names are very long; further ones are not shown. \
                 --counters \"Provider[name,...]\" selects fewer"
            ),
            Note::TooManyCounters { limit } => write!(
                f,
                "there are more than {limit} instruments, or their names are very long; further ones are not shown. \
                 --counters \"Provider[name,...]\" selects fewer"
            ),
            Note::MetersFailed { message } => {
                write!(f, "the runtime could not report meters: {}", first_line(message))
            }
            Note::CallbackFailed { message } => {
                write!(f, "an instrument of the program failed to give its value: {}", first_line(message))
            }
            Note::OtherSession { session } => write!(
                f,
                "another tool collects meters from this process (session {session}), and this runtime serves one at \
                 a time: no meters until that one ends"
            ),
            Note::OtherSettings { differences } => {
                write!(f, "another tool collects meters from this process with other settings (")?;
                for (index, (setting, there, asked)) in differences.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{setting} {there}, asked for {asked}")?;
                }
                write!(f, "): no meters, unless the same settings are given here")
            }
            Note::Lost { events } => {
                write!(f, "the runtime could not hand over {events} events in time: values are missing")
            }
        }
    }
}

/// Exceptions come with their stack; the first line says what happened.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default().trim()
}
