//! Text as `perf script` prints it, for FlameScope, stackcollapse-perf.pl, Speedscope and what else reads it.
//!
//! ```text
//! comm  pid/tid [cpu] seconds: period event:
//!         address symbol (module)
//!
//! ```
//!
//! Profiles have no addresses; the number of a frame stands for it, so that readers that tell frames apart by their
//! addresses do. Which processor it was is not known either: it is always 0.

use std::io::{self, Write};

use model::{Frame, FrameKind};
use stacks::{Profile, Sample, ThreadSlot, Weight};

use crate::folded;
use crate::registry::Grouping;
use crate::sink::Sink;

/// Readers that count events would take a long sample for one of the usual length, so it is cut into pieces of about
/// this length...
const PIECE_NS: u64 = 10_000_000;
/// ...or longer ones, where that would make more pieces than this.
const MOST_PIECES: u64 = 1_000_000;
/// Longest name of a thread.
const LONGEST_COMM: usize = 64;

pub(crate) fn write(profile: &Profile, _: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut sink = Sink::new(to);
    let comms: Vec<String> = profile.threads.iter().map(|thread| comm(thread.name.as_deref())).collect();
    let frames: Vec<String> =
        folded::names(profile).into_iter().zip(&profile.frames).enumerate().map(line).collect();
    let event = event(&profile.title);
    let pieces = Pieces::of(profile);
    let process = profile.process.unwrap_or(0);
    for (at_ns, weight, sample) in pieces.in_order() {
        let ThreadSlot(thread) = sample.thread;
        let Some((comm, thread)) = comms.get(thread as usize).zip(profile.threads.get(thread as usize))
        else {
            continue;
        };
        sink.raw(comm).raw(" ").number(process).raw("/").number(thread.id).raw(" [000] ");
        sink.seconds(at_ns).raw(": ").number(weight).raw(" ").raw(&event).raw(":\n");
        let mut has_frames = false;
        for frame in sample.stack.into_iter().flat_map(|stack| profile.stack(stack)) {
            if let Some(line) = frames.get(frame.0 as usize) {
                sink.raw(line);
                has_frames = true;
            }
        }
        if !has_frames {
            sink.raw("\t               0 [unknown] ([unknown])\n");
        }
        sink.raw("\n");
        sink.spill()?;
    }
    sink.finish()
}

/// The line of a frame. Readers leave out those whose name begins with a parenthesis.
fn line((number, (name, frame)): (usize, (String, &Frame))) -> String {
    let mark = if name.trim_start().starts_with('(') { "_" } else { "" };
    format!("\t{:16x} {mark}{name} ({})\n", number + 1, module(frame))
}

/// What perf would call the file that a frame is in; readers end it at the first space.
fn module(frame: &Frame) -> String {
    match (frame.kind, frame.module.as_deref()) {
        (FrameKind::Kernel, _) => "[kernel.kallsyms]".to_owned(),
        (_, Some(module)) if !module.trim().is_empty() => reports::printable_within(module, 200)
            .replace(|c: char| c.is_whitespace() || "()".contains(c), "_"),
        (_, _) => "[unknown]".to_owned(),
    }
}

/// A thread's name from which readers find their way to the numbers behind it: they look for the first number.
fn comm(name: Option<&str>) -> String {
    let name = reports::printable_within(name.unwrap_or("thread").trim(), LONGEST_COMM);
    let mut comm = String::new();
    for c in name.chars() {
        match c {
            ':' | '#' | ';' | '/' => comm.push('_'),
            c if c.is_ascii_digit() && comm.ends_with(' ') => {
                comm.pop();
                comm.push('_');
                comm.push(c);
            }
            // A name that is nothing but a number.
            c if c.is_ascii_digit() && comm.is_empty() => {
                comm.push('_');
                comm.push(c);
            }
            c => comm.push(c),
        }
    }
    while comm.chars().count() < 2 {
        comm.push('_');
    }
    comm
}

/// A title as the name of an event.
fn event(title: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let event: String = title.chars().take(60).map(word).collect();
    let event = event.trim_matches('-');
    if event.is_empty() { "samples".to_owned() } else { event.to_owned() }
}

/// Samples, long ones in pieces.
struct Pieces<'a> {
    profile: &'a Profile,
    piece_ns: u64,
}

impl<'a> Pieces<'a> {
    fn of(profile: &'a Profile) -> Pieces<'a> {
        let piece_ns = match profile.weight {
            Weight::Nanoseconds => PIECE_NS.max(profile.total() / MOST_PIECES),
            Weight::Bytes | Weight::Count => u64::MAX,
        };
        Pieces { profile, piece_ns }
    }

    /// When, how much and of which sample, in the order of time.
    fn in_order(&self) -> impl Iterator<Item = (u64, u64, &'a Sample)> {
        let cut = |sample: &'a Sample| {
            // To the nearest number of pieces, so that a sample of a little more than the usual length stays whole.
            let rest = u64::from(sample.weight % self.piece_ns >= self.piece_ns.div_ceil(2));
            let count = (sample.weight / self.piece_ns + rest).max(1);
            let share = move |piece: u64| u128::from(sample.weight) * u128::from(piece) / u128::from(count);
            let share = move |piece| u64::try_from(share(piece)).unwrap_or(u64::MAX);
            (0..count).map(move |piece| {
                let start = share(piece);
                (sample.at_ns.saturating_add(start), share(piece + 1) - start, sample)
            })
        };
        let mut pieces: Vec<(u64, u64, &Sample)> =
            self.profile.samples.iter().filter(|sample| sample.weight > 0).flat_map(cut).collect();
        pieces.sort_by_key(|(at_ns, _, _)| *at_ns);
        pieces.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_have_no_number_that_stands_alone() {
        assert_eq!(comm(Some(".NET TP Worker")), ".NET TP Worker");
        assert_eq!(comm(Some("worker 12 of 3")), "worker_12 of_3");
        assert_eq!(comm(Some("12: x")), "_12_ x");
        assert_eq!(comm(Some("a\nb")), r"a\nb");
        assert_eq!(comm(Some("x")), "x_");
        assert_eq!(comm(Some("#")), "__");
        assert_eq!(comm(None), "thread");
    }

    #[test]
    fn titles_become_events() {
        assert_eq!(event("time on the CPU"), "time-on-the-cpu");
        assert_eq!(event("::"), "samples");
    }
}
