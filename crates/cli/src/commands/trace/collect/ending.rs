//! What is said at the end of a recording: where it is, what is in it, what is not.

use std::path::Path;

use diagnostics_ipc::Rundown;
use event_session::SessionEnd;
use model::format_duration;
use serde::Serialize;
use trace_recording::{Naming, Recorded, StreamEnd, Tally};

use crate::exit_code::Code;
use crate::explain::Failure;

/// Name and version of the JSON form.
const SCHEMA: &str = "drdotnet.trace-recording/1";
/// Threads that are named with what they lost.
const MOST_THREADS: usize = 3;
/// A buffer in the target beyond this needs a good reason.
const LARGEST_ADVISED_BUFFER: u32 = 1024;

/// A recording as it is told of.
pub struct Ending<'a> {
    pub path: &'a Path,
    pub recorded: &'a Recorded,
    pub naming: Option<Naming>,
    pub buffer_mb: u32,
    pub rundown: Rundown,
    /// Why it was saved, if a condition or a key asked for it.
    pub cause: Option<&'a str>,
}

impl Ending<'_> {
    /// For people.
    pub fn text(&self) -> String {
        let Recorded { tally, size: bytes, .. } = self.recorded;
        let mut text = format!("{}\n\n", self.path.display());
        if let Some(cause) = self.cause {
            text += &row("saved", &format!("because {cause}"));
        }
        text += &row("size", &size(*bytes));
        let naming = match tally.naming_events {
            0 => String::new(),
            events => format!(", and {} that name code", grouped(events)),
        };
        text +=
            &row("events", &format!("{} in {}{naming}", grouped(tally.events), format_duration(tally.span)));
        text += &row("lost", &self.lost());
        if tally.truncated_stacks > 0 {
            let (cut, all) = (grouped(tally.truncated_stacks), grouped(tally.with_stack));
            text +=
                &row("stacks", &format!("{cut} of {all} end after 100 frames: the runtime walks no further"));
        }
        if let Some(names) = self.names() {
            text += &row("names", &names);
        }
        text
    }

    fn lost(&self) -> String {
        let Tally { losses, events, .. } = &self.recorded.tally;
        let missing = losses.stacks_missing + losses.stacks_forgotten;
        if losses.events == 0 && missing == 0 {
            return "nothing".to_owned();
        }
        let mut parts = Vec::new();
        if losses.events > 0 {
            #[expect(clippy::cast_precision_loss, reason = "a percentage")]
            let share = losses.events as f64 * 100.0 / (losses.events + events) as f64;
            let mut threads: Vec<_> = losses.by_thread().collect();
            threads.sort_by_key(|(_, lost)| std::cmp::Reverse(*lost));
            let most: Vec<String> = threads
                .iter()
                .take(MOST_THREADS)
                .map(|(thread, lost)| format!("thread {thread}: {}", grouped(*lost)))
                .collect();
            let more = if threads.len() > MOST_THREADS { ", ..." } else { "" };
            parts.push(format!(
                "{} events ({share:.1} %; {}{more}): the buffer of {} MB in the target was full",
                grouped(losses.events),
                most.join(", "),
                self.buffer_mb
            ));
        }
        if missing > 0 {
            parts.push(format!("the stacks of {} events", grouped(missing)));
        }
        parts.join("; ")
    }

    fn names(&self) -> Option<String> {
        let Naming { addresses, unnamed } = self.naming?;
        if unnamed == 0 {
            return None;
        }
        let why = match (&self.recorded.tally.end, self.rundown) {
            _ if self.recorded.failure.is_some() => ": there was no room for them",
            (StreamEnd::Proper, Rundown::Default) => " (stubs of the runtime, or code that is gone)",
            (StreamEnd::Proper, _) => ": such events need no names; --rundown true asks for them",
            _ => ": the target could not name them at the end",
        };
        Some(format!("{unnamed} of {addresses} addresses in stacks have none{why}"))
    }

    /// What to do next, with one piece of advice per loss.
    pub fn next(&self) -> String {
        let mut text = String::new();
        if self.recorded.tally.losses.events > 0 {
            let larger = self.buffer_mb.saturating_mul(4).min(LARGEST_ADVISED_BUFFER);
            let buffer =
                if larger > self.buffer_mb { format!("--buffersize {larger}, or ") } else { String::new() };
            text +=
                &format!("to lose less: {buffer}fewer events (--profile dotnet-common, fewer keywords)\n");
        }
        text + &format!("next: drdotnet trace report {} topN\n", quoted(self.path))
    }

    /// For scripts.
    pub fn json(&self) -> impl Serialize + use<> {
        let tally = &self.recorded.tally;
        Summary {
            schema: SCHEMA,
            file: self.path.to_string_lossy().into_owned(),
            bytes: self.recorded.size,
            cause: self.cause.map(str::to_owned),
            end: end_word(self.recorded),
            recorded_seconds: self.recorded.elapsed.as_secs_f64(),
            span_seconds: tally.span.as_secs_f64(),
            events: tally.events,
            naming_events: tally.naming_events,
            events_with_stack: tally.with_stack,
            stacks_cut_at_100_frames: tally.truncated_stacks,
            lost_events: tally.losses.events,
            lost_stacks: tally.losses.stacks_missing + tally.losses.stacks_forgotten,
            lost_by_thread: tally
                .losses
                .by_thread()
                .map(|(thread, lost)| Lost { thread: thread.0, lost })
                .collect(),
            addresses: self.naming.map(|naming| naming.addresses),
            addresses_without_name: self.naming.map(|naming| naming.unnamed),
        }
    }
}

/// What went wrong with a recording that is nonetheless there.
pub fn failure(recorded: &mut Recorded, path: &Path, pid: model::ProcessId) -> Option<Failure> {
    let kept = match recorded.size {
        0 => "nothing was recorded until then".to_owned(),
        bytes => format!(
            "{} with {} events are kept, complete up to there",
            size(bytes),
            grouped(recorded.tally.events)
        ),
    };
    if let Some(error) = recorded.failure.take() {
        let mut failure = Failure::from(error).also(&kept);
        failure.code = Code::RecordingCut;
        return Some(failure);
    }
    let ended_well = matches!(recorded.tally.end, StreamEnd::Proper);
    match (recorded.end, &recorded.tally.end) {
        (SessionEnd::StoppedAnswering, _) => Some(
            Failure::new(Code::NoAnswer, format!("process {pid} does not answer any more"))
                .why(format!("it was told to stop and sent nothing for 10 s; {kept}"))
                .next(format!(
                    "drdotnet info -p {pid}   tells its state; a stopped process goes on with kill -CONT"
                )),
        ),
        (_, StreamEnd::Damaged(error)) => Some(
            Failure::new(Code::Unexpected, format!("the event stream makes no sense: {error}"))
                .why(kept)
                .next(format!("please report it, with {}", path.display())),
        ),
        (SessionEnd::TargetExited, _) if !ended_well => Some(
            Failure::new(Code::TargetEnded, format!("process {pid} ended in the middle of the recording"))
                .why(format!("it was killed or crashed, so it could not name its methods; {kept}"))
                .next(format!("drdotnet trace report {} topN   shows what there is", quoted(path))),
        ),
        _ => None,
    }
}

fn end_word(recorded: &Recorded) -> &'static str {
    match (recorded.end, &recorded.tally.end, &recorded.failure) {
        (_, _, Some(_)) => "disk",
        (SessionEnd::StoppedAnswering, ..) => "no-answer",
        (_, StreamEnd::Damaged(_), _) => "damaged",
        (SessionEnd::TargetExited, StreamEnd::CutOff, _) => "target-died",
        (SessionEnd::TargetExited, ..) => "target-exited",
        _ => "stopped",
    }
}

#[derive(Serialize)]
struct Summary {
    schema: &'static str,
    file: String,
    bytes: u64,
    cause: Option<String>,
    end: &'static str,
    recorded_seconds: f64,
    span_seconds: f64,
    events: u64,
    naming_events: u64,
    events_with_stack: u64,
    stacks_cut_at_100_frames: u64,
    lost_events: u64,
    lost_stacks: u64,
    lost_by_thread: Vec<Lost>,
    addresses: Option<usize>,
    addresses_without_name: Option<usize>,
}

#[derive(Serialize)]
struct Lost {
    thread: u64,
    lost: u64,
}

fn row(name: &str, value: &str) -> String {
    format!("  {name:<8} {value}\n")
}

/// `12.3 MB`
pub fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} KB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A path as it can be typed into a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '+' | ',' | ':' | '=' | '@');
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [999, 1500, 12_345_678, 2_500_000_000].map(size),
            ["999 B", "1.5 KB", "12.3 MB", "2.50 GB"]
        );
        assert_eq!(quoted(Path::new("a b.nettrace")), "'a b.nettrace'");
        assert_eq!(quoted(Path::new("/tmp/a.nettrace")), "/tmp/a.nettrace");
    }
}
