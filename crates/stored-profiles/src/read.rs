//! Reading, from a file that may hold anything.

use std::io::{self, BufRead, BufReader, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::bufread::ZlibDecoder;
use model::{Frame, FrameKind};
use stacks::{FrameId, Profile, ProfileThread, Sample, StackKey, StackNode, ThreadSlot, Weight};

use crate::text::LONGEST;
use crate::{END, Limits, MAGIC, ProcessName, ReadError, Recording, Side, VERSION};

/// Whether these first bytes of a file are those of a stored profile.
#[must_use]
pub fn is_stored_profile(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Reads a recording.
pub fn read(from: impl Read) -> Result<Recording, ReadError> {
    read_within(from, Limits::default())
}

/// The same with other limits.
pub fn read_within(from: impl Read, limits: Limits) -> Result<Recording, ReadError> {
    let mut from = BufReader::new(from);
    let mut head = [0; MAGIC.len() + 1];
    from.read_exact(&mut head).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadError::NotAProfile,
        _ => ReadError::Io(error),
    })?;
    if !is_stored_profile(&head) {
        return Err(ReadError::NotAProfile);
    }
    match head[MAGIC.len()] {
        VERSION => {}
        found => return Err(ReadError::Version { found }),
    }
    let body = BufReader::new(ZlibDecoder::new(from));
    let mut input = Input { body, part: "its head", texts: Vec::new(), left: limits, limits };
    input.recording()
}

struct Input<R> {
    body: R,
    /// What is being read, for errors.
    part: &'static str,
    texts: Vec<Box<str>>,
    /// How much more there may be.
    left: Limits,
    limits: Limits,
}

impl<R: BufRead> Input<R> {
    fn damaged(&self, problem: &'static str) -> ReadError {
        ReadError::Damaged { problem, part: self.part }
    }

    fn failed(&self, error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => ReadError::Cut { part: self.part },
            // What the decompressor says of bytes that it did not write.
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                self.damaged("bytes that cannot be unpacked")
            }
            _ => ReadError::Io(error),
        }
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        let mut byte = [0];
        self.body.read_exact(&mut byte).map_err(|error| self.failed(error))?;
        Ok(byte[0])
    }

    fn number(&mut self) -> Result<u64, ReadError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged("a number that is too long"))
    }

    fn number32(&mut self) -> Result<u32, ReadError> {
        u32::try_from(self.number()?).map_err(|_| self.damaged("a number that is too large"))
    }

    fn is_there(&mut self) -> Result<bool, ReadError> {
        match self.number()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.damaged("neither yes nor no")),
        }
    }

    /// A number of things that there may still be so many of.
    fn amount(&mut self, what: &'static str, of: fn(&mut Limits) -> &mut u64) -> Result<u64, ReadError> {
        let count = self.number()?;
        self.take(count, what, of)?;
        Ok(count)
    }

    fn take(
        &mut self,
        count: u64,
        what: &'static str,
        of: fn(&mut Limits) -> &mut u64,
    ) -> Result<(), ReadError> {
        let left = of(&mut self.left);
        *left = left
            .checked_sub(count)
            .ok_or_else(|| ReadError::TooLarge { what, most: *of(&mut self.limits) })?;
        Ok(())
    }

    fn take_text(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.take(bytes as u64, "bytes of text", |limits| &mut limits.text_bytes)
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let number = self.number()?;
        if let Some(before) = number.checked_sub(1) {
            let before = usize::try_from(before).ok().and_then(|before| self.texts.get(before)).cloned();
            let text = before.ok_or_else(|| self.damaged("a text that is not there"))?;
            self.take_text(text.len())?;
            return Ok(text.into());
        }
        let length = usize::try_from(self.number()?).ok().filter(|length| *length <= LONGEST);
        let length = length.ok_or_else(|| self.damaged("a text that is too long"))?;
        self.take_text(length)?;
        let mut bytes = vec![0; length];
        self.body.read_exact(&mut bytes).map_err(|error| self.failed(error))?;
        let text = String::from_utf8(bytes).map_err(|_| self.damaged("a text that is none"))?;
        self.texts.push(text.as_str().into());
        Ok(text)
    }

    fn maybe<T>(&mut self, read: fn(&mut Self) -> Result<T, ReadError>) -> Result<Option<T>, ReadError> {
        if self.is_there()? { read(self).map(Some) } else { Ok(None) }
    }

    fn time(&mut self) -> Result<Option<SystemTime>, ReadError> {
        let nanos = self.maybe(Self::number)?;
        Ok(nanos.and_then(|nanos| UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))))
    }

    fn recording(&mut self) -> Result<Recording, ReadError> {
        let tool_version = self.text()?;
        let name = self.text()?;
        let started = self.time()?;
        let duration_ns = self.number()?;
        let rate_hz = self.maybe(Self::number32)?;
        let mut processes = Vec::new();
        for _ in 0..self.amount("processes", |limits| &mut limits.processes)? {
            processes.push(ProcessName { pid: self.number()?, name: self.text()? });
        }
        let mut profiles: Vec<(Side, Profile)> = Vec::new();
        for _ in 0..self.amount("profiles", |limits| &mut limits.profiles)? {
            let profile = self.profile(profiles.last().map(|(_, profile)| profile))?;
            profiles.push(profile);
        }
        self.end()?;
        Ok(Recording { tool_version, name, started, duration_ns, rate_hz, processes, profiles })
    }

    fn end(&mut self) -> Result<(), ReadError> {
        self.part = "its end";
        if self.number()? != END {
            return Err(self.damaged("no mark of the end"));
        }
        // The checksum is looked at when there is nothing more to unpack.
        match self.body.fill_buf() {
            Ok([]) => Ok(()),
            Ok(_) => Err(self.damaged("more than there should be")),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn profile(&mut self, before: Option<&Profile>) -> Result<(Side, Profile), ReadError> {
        self.part = "a profile";
        let side = match self.number()? {
            0 => Side::OnCpu,
            1 => Side::OffCpu,
            2 => Side::Ready,
            _ => return Err(self.damaged("a side that is none")),
        };
        let weight = match self.number()? {
            0 => Weight::Nanoseconds,
            1 => Weight::Bytes,
            2 => Weight::Count,
            _ => return Err(self.damaged("a weight that is none")),
        };
        let title = self.text()?;
        let started = self.time()?;
        let duration_ns = self.number()?;
        let process = self.maybe(Self::number)?;
        let (frames, nodes) = match (self.is_there()?, before) {
            (false, _) => {
                let frames = self.frames()?;
                let nodes = self.nodes(frames.len())?;
                (frames, nodes)
            }
            (true, Some(before)) => self.same_tables(before)?,
            (true, None) => return Err(self.damaged("stacks of a profile that is not there")),
        };
        let threads = self.threads()?;
        let samples = self.samples(threads.len(), nodes.len())?;
        let profile =
            Profile { title, weight, started, duration_ns, process, frames, nodes, threads, samples };
        Ok((side, profile))
    }

    /// Copies take room, too.
    fn same_tables(&mut self, before: &Profile) -> Result<(Vec<Frame>, Vec<StackNode>), ReadError> {
        self.take(before.frames.len() as u64, "frames", |limits| &mut limits.frames)?;
        self.take(before.nodes.len() as u64, "stacks", |limits| &mut limits.nodes)?;
        for frame in &before.frames {
            let rest = [&frame.module, &frame.file].into_iter().flatten().map(String::len).sum::<usize>();
            self.take_text(frame.name.len() + rest)?;
        }
        Ok((before.frames.clone(), before.nodes.clone()))
    }

    fn frames(&mut self) -> Result<Vec<Frame>, ReadError> {
        self.part = "its frames";
        let mut frames = Vec::new();
        for _ in 0..self.amount("frames", |limits| &mut limits.frames)? {
            let kind = match self.number()? {
                0 => FrameKind::Managed,
                1 => FrameKind::Runtime,
                2 => FrameKind::Native,
                3 => FrameKind::Kernel,
                4 => FrameKind::Stub,
                _ => return Err(self.damaged("a kind that is none")),
            };
            let name = self.text()?;
            let module = self.maybe(Self::text)?;
            let file = self.maybe(Self::text)?;
            let line = self.number()?.checked_sub(1).map(u32::try_from).transpose();
            let line = line.map_err(|_| self.damaged("a line that is too large"))?;
            frames.push(Frame { kind, name, module, file, line });
        }
        Ok(frames)
    }

    fn nodes(&mut self, frames: usize) -> Result<Vec<StackNode>, ReadError> {
        self.part = "its stacks";
        let mut nodes = Vec::new();
        let count = self.amount("stacks", |limits| &mut limits.nodes)?;
        for place in 0..count {
            let caller = match self.number()? {
                0 => None,
                back => {
                    let caller = place.checked_sub(back).and_then(|caller| u32::try_from(caller).ok());
                    Some(StackKey(caller.ok_or_else(|| self.damaged("a caller that is not there"))?))
                }
            };
            let frame = self.number32()?;
            if frame as usize >= frames {
                return Err(self.damaged("a frame that is not there"));
            }
            nodes.push(StackNode { caller, frame: FrameId(frame) });
        }
        Ok(nodes)
    }

    fn threads(&mut self) -> Result<Vec<ProfileThread>, ReadError> {
        self.part = "its threads";
        let mut threads = Vec::new();
        for _ in 0..self.amount("threads", |limits| &mut limits.threads)? {
            threads.push(ProfileThread { id: self.number()?, name: self.maybe(Self::text)? });
        }
        Ok(threads)
    }

    fn samples(&mut self, threads: usize, nodes: usize) -> Result<Vec<Sample>, ReadError> {
        self.part = "its samples";
        let mut samples = Vec::new();
        let mut numbers = [0_u64; 4];
        for _ in 0..self.amount("samples", |limits| &mut limits.samples)? {
            for number in &mut numbers {
                let step = self.number()?;
                let step = (step >> 1) ^ (step & 1).wrapping_neg();
                *number = number.wrapping_add(step);
            }
            let [at_ns, weight, thread, stack] = numbers;
            if thread >= threads as u64 || stack > nodes as u64 {
                return Err(self.damaged("a sample with a thread or a stack that is not there"));
            }
            let small =
                |number: u64| u32::try_from(number).map_err(|_| self.damaged("a number that is too large"));
            let stack = stack.checked_sub(1).map(small).transpose()?.map(StackKey);
            samples.push(Sample { at_ns, weight, thread: ThreadSlot(small(thread)?), stack });
        }
        Ok(samples)
    }
}
