//! Writing.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use model::{Frame, FrameKind};
use stacks::{Profile, Sample, StackNode, Weight};

use crate::text::{Texts, shortened};
use crate::{END, Limits, MAGIC, Recording, Side, VERSION};

/// How much is gathered before it is compressed.
const CHUNK: usize = 64 << 10;

/// Writes a recording. An error of the kind `InvalidInput` says that it holds more than can be read back, or refers to
/// frames, stacks or threads that it does not have.
pub fn write(to: &mut impl Write, recording: &Recording) -> io::Result<()> {
    check_size(recording)?;
    to.write_all(MAGIC)?;
    to.write_all(&[VERSION])?;
    let mut out = Out {
        to: ZlibEncoder::new(to, Compression::default()),
        buffer: Vec::with_capacity(CHUNK + 64),
        texts: Texts::default(),
    };
    out.recording(recording)?;
    let mut before: Option<&Profile> = None;
    for (side, profile) in &recording.profiles {
        out.profile(*side, profile, before)?;
        before = Some(profile);
    }
    out.number(END);
    out.to.write_all(&out.buffer)?;
    out.to.finish()?.flush()
}

fn invalid(problem: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, problem)
}

/// What could not be read back must not be written.
fn check_size(recording: &Recording) -> io::Result<()> {
    let most = Limits::default();
    let sum = |count: fn(&Profile) -> usize| {
        recording.profiles.iter().map(|(_, profile)| count(profile) as u64).sum::<u64>()
    };
    let text_of = |profile: &Profile| {
        let frames = profile.frames.iter().map(|frame| {
            frame.name.len()
                + frame.module.as_deref().map_or(0, str::len)
                + frame.file.as_deref().map_or(0, str::len)
        });
        let threads = profile.threads.iter().map(|thread| thread.name.as_deref().map_or(0, str::len));
        profile.title.len() + frames.sum::<usize>() + threads.sum::<usize>()
    };
    let names = recording.processes.iter().map(|process| process.name.len() as u64).sum::<u64>();
    let texts = names + sum(text_of) + (recording.name.len() + recording.tool_version.len()) as u64;
    let fits = recording.profiles.len() as u64 <= most.profiles
        && recording.processes.len() as u64 <= most.processes
        && sum(|profile| profile.frames.len()) <= most.frames
        && sum(|profile| profile.nodes.len()) <= most.nodes
        && sum(|profile| profile.threads.len()) <= most.threads
        && sum(|profile| profile.samples.len()) <= most.samples
        && texts <= most.text_bytes;
    if fits { Ok(()) } else { Err(invalid("the recording is too large to be kept")) }
}

struct Out<'a, W: Write> {
    to: ZlibEncoder<W>,
    buffer: Vec<u8>,
    texts: Texts<'a>,
}

impl<'a, W: Write> Out<'a, W> {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.buffer.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.buffer.push(number.to_le_bytes()[0]);
    }

    /// A difference: small ones, up or down, are short.
    fn difference(&mut self, from: u64, to: u64) {
        let step = to.wrapping_sub(from).cast_signed();
        self.number(((step << 1) ^ (step >> 63)).cast_unsigned());
    }

    fn text(&mut self, text: &'a str) {
        let text = shortened(text);
        if let Some(number) = self.texts.number(text) {
            return self.number(number);
        }
        self.number(0);
        self.number(text.len() as u64);
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// Nothing, or something that follows.
    fn is_there(&mut self, is_there: bool) {
        self.number(u64::from(is_there));
    }

    fn maybe_text(&mut self, text: Option<&'a str>) {
        self.is_there(text.is_some());
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn time(&mut self, time: Option<SystemTime>) {
        let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let nanos = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        self.is_there(nanos.is_some());
        if let Some(nanos) = nanos {
            self.number(nanos);
        }
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= CHUNK {
            self.to.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    fn recording(&mut self, recording: &'a Recording) -> io::Result<()> {
        self.text(&recording.tool_version);
        self.text(&recording.name);
        self.time(recording.started);
        self.number(recording.duration_ns);
        self.is_there(recording.rate_hz.is_some());
        if let Some(rate) = recording.rate_hz {
            self.number(rate.into());
        }
        self.number(recording.processes.len() as u64);
        for process in &recording.processes {
            self.number(process.pid);
            self.text(&process.name);
            self.spill()?;
        }
        self.number(recording.profiles.len() as u64);
        Ok(())
    }

    fn profile(&mut self, side: Side, profile: &'a Profile, before: Option<&Profile>) -> io::Result<()> {
        self.number(side_number(side));
        self.number(weight_number(profile.weight));
        self.text(&profile.title);
        self.time(profile.started);
        self.number(profile.duration_ns);
        self.is_there(profile.process.is_some());
        if let Some(process) = profile.process {
            self.number(process);
        }
        // The sides of one process are usually on one set of stacks.
        let is_same =
            before.is_some_and(|before| before.nodes == profile.nodes && before.frames == profile.frames);
        self.is_there(is_same);
        if !is_same {
            self.frames(&profile.frames)?;
            self.nodes(&profile.nodes, profile.frames.len())?;
        }
        self.number(profile.threads.len() as u64);
        for thread in &profile.threads {
            self.number(thread.id);
            self.maybe_text(thread.name.as_deref());
            self.spill()?;
        }
        self.samples(profile)
    }

    fn frames(&mut self, frames: &'a [Frame]) -> io::Result<()> {
        self.number(frames.len() as u64);
        for frame in frames {
            self.number(kind_number(frame.kind));
            self.text(&frame.name);
            self.maybe_text(frame.module.as_deref());
            self.maybe_text(frame.file.as_deref());
            self.number(frame.line.map_or(0, |line| u64::from(line) + 1));
            self.spill()?;
        }
        Ok(())
    }

    fn nodes(&mut self, nodes: &[StackNode], frames: usize) -> io::Result<()> {
        self.number(nodes.len() as u64);
        for (place, node) in (0_u64..).zip(nodes) {
            let back = match node.caller {
                None => 0,
                Some(caller) => place
                    .checked_sub(caller.0.into())
                    .filter(|back| *back > 0)
                    .ok_or_else(|| invalid("a stack has a caller that is not before it"))?,
            };
            if node.frame.0 as usize >= frames {
                return Err(invalid("a stack has a frame that is not there"));
            }
            self.number(back);
            self.number(node.frame.0.into());
            self.spill()?;
        }
        Ok(())
    }

    fn samples(&mut self, profile: &Profile) -> io::Result<()> {
        self.number(profile.samples.len() as u64);
        let mut before = [0; 4];
        for sample in &profile.samples {
            let next = sample_numbers(sample);
            if sample.thread.0 as usize >= profile.threads.len() || next[3] > profile.nodes.len() as u64 {
                return Err(invalid("a sample has a thread or a stack that is not there"));
            }
            for (from, to) in before.into_iter().zip(next) {
                self.difference(from, to);
            }
            before = next;
            self.spill()?;
        }
        Ok(())
    }
}

fn sample_numbers(sample: &Sample) -> [u64; 4] {
    let stack = sample.stack.map_or(0, |stack| u64::from(stack.0) + 1);
    [sample.at_ns, sample.weight, sample.thread.0.into(), stack]
}

fn side_number(side: Side) -> u64 {
    match side {
        Side::OnCpu => 0,
        Side::OffCpu => 1,
        Side::Ready => 2,
    }
}

fn weight_number(weight: Weight) -> u64 {
    match weight {
        Weight::Nanoseconds => 0,
        Weight::Bytes => 1,
        Weight::Count => 2,
    }
}

fn kind_number(kind: FrameKind) -> u64 {
    match kind {
        FrameKind::Managed => 0,
        FrameKind::Runtime => 1,
        FrameKind::Native => 2,
        FrameKind::Kernel => 3,
        FrameKind::Stub => 4,
    }
}
