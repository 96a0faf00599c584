//! `--when`: conditions on which a flight recorder saves what it has.
//!
//! ```text
//! cpu>80% [for 10s]                    processor time, 100 % is one core
//! memory>2GB [for 10s]                 resident memory
//! heap>500MB [for 10s]                 the garbage collector's heap
//! gc-pause>200ms                       all threads stopped for a collection
//! exception[=Name.Space.Type]          an exception is thrown; the type may end with *
//! counter=Provider/name>100 [for 10s]  a counter of any provider
//! ```

use std::fmt;
use std::time::Duration;

use diagnostics_ipc::{Level, Provider};
use model::{format_duration, parse_duration};
use runtime_events::{keyword, provider};

use crate::keep::parse_bytes;
use crate::syntax::{Piece, SyntaxError};

const OPTION: &str = "--when";
const KINDS: &str =
    "cpu>80%, memory>2GB, heap>500MB, gc-pause>200ms, exception=Type or counter=Provider/name>100";
/// Once a second is often enough to act upon, and costs the target next to nothing.
const COUNTERS_EVERY_SECOND: &str = "EventCounterIntervalSec=1";
/// The counter of the heap, which counts in millions of bytes.
const HEAP: (&str, &str) = ("System.Runtime", "gc-heap-size");

/// Which side of the threshold is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `>`
    Above,
    /// `<`
    Below,
}

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Something that has a value at every moment.
    Level {
        /// What has the value.
        gauge: Gauge,
        /// Which side of the threshold.
        side: Side,
        /// In percent, bytes, or what the counter counts.
        threshold: f64,
        /// How long it must be so.
        lasting: Duration,
    },
    /// All threads were stopped for a collection for longer than this.
    GcPause(Duration),
    /// An exception is thrown whose type has this name; one that ends with `*` stands for all that begin so.
    Exception(String),
}

/// What has a value at every moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Processor time in percent of one core.
    Cpu,
    /// Resident memory in bytes.
    Memory,
    /// The collector's heap in bytes.
    Heap,
    /// A counter.
    Counter {
        /// Its provider.
        provider: String,
        /// Its name.
        name: String,
    },
}

impl Gauge {
    /// The counter that tells it, if one does, and what its value is to be multiplied with.
    pub(crate) fn counter(&self) -> Option<(&str, &str, f64)> {
        match self {
            Gauge::Cpu | Gauge::Memory => None,
            Gauge::Heap => Some((HEAP.0, HEAP.1, 1e6)),
            Gauge::Counter { provider, name } => Some((provider, name, 1.0)),
        }
    }
}

impl Condition {
    /// Reads one condition.
    pub fn parse(text: &str) -> Result<Condition, SyntaxError> {
        let whole = Piece::whole(OPTION, text).trim();
        let end = whole.text().find(['>', '<', '=']).unwrap_or(whole.text().len());
        let kind = whole.part(0..end).trim();
        let rest = whole.part(end..whole.text().len());
        match kind.text() {
            "cpu" => level(Gauge::Cpu, rest, percent),
            "memory" => level(Gauge::Memory, rest, bytes),
            "heap" => level(Gauge::Heap, rest, bytes),
            "counter" => counter(rest),
            "exception" => exception(rest),
            "gc-pause" => {
                let (side, value) = comparison(rest, "200ms")?;
                if side == Side::Below {
                    return Err(rest
                        .part(0..1)
                        .wrong("short pauses are no reason to save", "gc-pause>200ms"));
                }
                Ok(Condition::GcPause(duration(value)?))
            }
            "" => Err(kind.wrong("a condition is missing", KINDS)),
            other => Err(kind.wrong(format!("there is no condition '{other}'"), KINDS)),
        }
    }

    /// The provider that must be on for the condition to be seen; none if the kernel tells.
    #[must_use]
    pub fn needs(&self) -> Option<Provider> {
        match self {
            Condition::Level { gauge, .. } => {
                let (name, ..) = gauge.counter()?;
                // No keyword and the least detail: counters come all the same, and nothing else does.
                let plain = Provider::new(name, 0, Level::Critical);
                Some(Provider { arguments: COUNTERS_EVERY_SECOND.to_owned(), ..plain })
            }
            Condition::GcPause(_) => {
                Some(Provider::new(provider::RUNTIME, keyword::GC, Level::Informational))
            }
            Condition::Exception(_) => {
                Some(Provider::new(provider::RUNTIME, keyword::EXCEPTION, Level::Error))
            }
        }
    }
}

/// `>80%`: which side, and the value.
fn comparison<'a>(rest: Piece<'a>, example: &str) -> Result<(Side, Piece<'a>), SyntaxError> {
    let side = match rest.text().chars().next() {
        Some('>') => Side::Above,
        Some('<') => Side::Below,
        _ => {
            return Err(rest
                .part(0..rest.text().len().min(1))
                .wrong("'>' or '<' is missing", format!(">{example}")));
        }
    };
    let value = rest.part(1..rest.text().len()).trim();
    if value.is_empty() {
        return Err(value.wrong("the value is missing", example));
    }
    Ok((side, value))
}

/// A value and, behind ` for `, how long it must hold.
fn level(
    gauge: Gauge,
    rest: Piece<'_>,
    read: fn(Piece<'_>) -> Result<f64, SyntaxError>,
) -> Result<Condition, SyntaxError> {
    let example = if gauge == Gauge::Cpu { "80%" } else { "500MB" };
    let (side, value) = comparison(rest, example)?;
    let (value, lasting) = match value.text().find(" for ") {
        Some(at) => {
            let time = value.part(at + " for ".len()..value.text().len()).trim();
            (value.part(0..at).trim(), duration(time)?)
        }
        None => (value, Duration::ZERO),
    };
    Ok(Condition::Level { gauge, side, threshold: read(value)?, lasting })
}

fn percent(value: Piece<'_>) -> Result<f64, SyntaxError> {
    let number = value.text().strip_suffix('%').unwrap_or(value.text()).trim();
    number.parse().ok().filter(|number| f64::is_finite(*number) && *number >= 0.0).ok_or_else(|| {
        value.wrong(format!("'{}' is no share of a core", value.text()), "a number with %: 80%, 150%")
    })
}

fn bytes(value: Piece<'_>) -> Result<f64, SyntaxError> {
    #[expect(clippy::cast_precision_loss, reason = "a threshold")]
    parse_bytes(value.text()).map(|bytes| bytes as f64).ok_or_else(|| {
        value.wrong(format!("'{}' is no size", value.text()), "a number with its unit: 500MB, 2GB")
    })
}

fn number(value: Piece<'_>) -> Result<f64, SyntaxError> {
    value
        .text()
        .parse()
        .ok()
        .filter(|number| f64::is_finite(*number))
        .ok_or_else(|| value.wrong(format!("'{}' is no number", value.text()), "a number: 100, 0.5"))
}

fn duration(value: Piece<'_>) -> Result<Duration, SyntaxError> {
    parse_duration(value.text()).map_err(|error| value.wrong(error.to_string(), "a time: 200ms, 10s"))
}

/// `=Provider/name>100`
fn counter(rest: Piece<'_>) -> Result<Condition, SyntaxError> {
    let example = "counter=System.Runtime/threadpool-queue-length>100";
    let Some(behind) = rest.text().strip_prefix('=') else {
        return Err(rest.part(0..0).wrong("'=' is missing", example));
    };
    let end = 1 + behind.find(['>', '<']).unwrap_or(behind.len());
    let place = rest.part(1..end).trim();
    let (provider, name) = place.cut('/');
    let Some(name) = name.filter(|name| !name.is_empty() && !provider.is_empty()) else {
        return Err(place.wrong(format!("'{}' names no counter", place.text()), "Provider/name"));
    };
    let gauge =
        Gauge::Counter { provider: provider.trim().text().to_owned(), name: name.trim().text().to_owned() };
    level(gauge, rest.part(end..rest.text().len()), number)
}

/// `=Type`, or nothing for every exception.
fn exception(rest: Piece<'_>) -> Result<Condition, SyntaxError> {
    let example = "exception=System.TimeoutException";
    let name = match rest.text().chars().next() {
        None => return Ok(Condition::Exception("*".to_owned())),
        Some('=') => rest.part(1..rest.text().len()).trim(),
        Some(_) => return Err(rest.part(0..1).wrong("an exception has no size", example)),
    };
    let plain = name.text().strip_suffix('*').unwrap_or(name.text());
    if name.is_empty() {
        return Err(name.wrong("the type is missing", example));
    }
    if let Some((at, c)) = plain.char_indices().find(|(_, c)| *c == '*' || c.is_whitespace()) {
        return Err(name
            .part(at..at + c.len_utf8())
            .wrong("a type has a * at its end only, and no spaces", example));
    }
    Ok(Condition::Exception(name.text().to_owned()))
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Exception(name) if name == "*" => f.write_str("exception"),
            Condition::Exception(name) => write!(f, "exception={name}"),
            Condition::GcPause(time) => write!(f, "gc-pause>{}", format_duration(*time).replace(' ', "")),
            Condition::Level { gauge, side, threshold, lasting } => {
                let sign = if *side == Side::Above { '>' } else { '<' };
                match gauge {
                    Gauge::Cpu => write!(f, "cpu{sign}{threshold}%")?,
                    Gauge::Memory => write!(f, "memory{sign}{}MB", threshold / 1e6)?,
                    Gauge::Heap => write!(f, "heap{sign}{}MB", threshold / 1e6)?,
                    Gauge::Counter { provider, name } => {
                        write!(f, "counter={provider}/{name}{sign}{threshold}")?
                    }
                }
                if lasting.is_zero() { Ok(()) } else { write!(f, " for {}", format_duration(*lasting)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_printed() {
        for (text, printed) in [
            ("cpu>80%", "cpu>80%"),
            (" cpu > 150 ", "cpu>150%"),
            ("cpu<5% for 1m", "cpu<5% for 1 m 0 s"),
            ("memory>2GB", "memory>2000MB"),
            ("heap>500MB for 10s", "heap>500MB for 10 s"),
            ("gc-pause>200ms", "gc-pause>200ms"),
            ("exception", "exception"),
            ("exception=System.InvalidOperationException", "exception=System.InvalidOperationException"),
            ("exception=Shop.*", "exception=Shop.*"),
            (
                "counter=System.Runtime/threadpool-queue-length>100",
                "counter=System.Runtime/threadpool-queue-length>100",
            ),
            ("counter=My.Source/rate<0.5 for 30s", "counter=My.Source/rate<0.5 for 30 s"),
        ] {
            assert_eq!(Condition::parse(text).unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, at, problem) in [
            ("", 0..0, "a condition is missing"),
            ("cpu", 3..3, "'>' or '<' is missing"),
            ("cpu=80%", 3..4, "'>' or '<' is missing"),
            ("cpu>", 4..4, "the value is missing"),
            ("cpu>lots", 4..8, "'lots' is no share of a core"),
            ("cpu>80% for ever", 12..16, "'ever' is not a duration"),
            ("load>3", 0..4, "there is no condition 'load'"),
            ("heap>500", 5..8, "'500' is no size"),
            ("gc-pause<1ms", 8..9, "short pauses are no reason to save"),
            ("gc-pause>x", 9..10, "'x' is not a duration"),
            ("exception>3", 9..10, "an exception has no size"),
            ("exception=", 10..10, "the type is missing"),
            ("exception=A*B", 11..12, "a type has a * at its end only, and no spaces"),
            ("counter>3", 7..7, "'=' is missing"),
            ("counter=queue>3", 8..13, "'queue' names no counter"),
            ("counter=A/b", 11..11, "'>' or '<' is missing"),
            ("counter=A/b>many", 12..16, "'many' is no number"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert_eq!((error.at, error.problem.as_str()), (at, problem), "{text}");
        }
    }

    #[test]
    fn what_the_kernel_tells_needs_no_provider() {
        let needs = |text| Condition::parse(text).unwrap().needs();
        assert_eq!(needs("cpu>80%"), None);
        assert_eq!(needs("memory>1GB"), None);
        assert_eq!(needs("heap>1GB").unwrap().arguments, "EventCounterIntervalSec=1");
        assert_eq!(needs("counter=A.B/c>1").unwrap().name, "A.B");
        assert_eq!(needs("gc-pause>1s").unwrap().keywords, 1);
        assert_eq!(needs("exception=X").unwrap().keywords, 0x8000);
    }
}
