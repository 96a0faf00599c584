//! The processed profile of the Firefox Profiler.

use std::io::{self, BufWriter, Write};
use std::time::{Duration, UNIX_EPOCH};

use fxprof_processed_profile as fx;
use model::FrameKind;
use stacks::{Profile, ProfileThread, Sample, StackKey, ThreadSamples, Weight};

use crate::label;
use crate::registry::Grouping;

/// The viewer shows a sample at its moment only, so a long one is cut into pieces of this length...
const PIECE_NS: u64 = 10_000_000;
/// ...or longer ones, where that would make more pieces than this.
const MOST_PIECES: u64 = 300_000;

const MS: u64 = 1_000_000;

pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let start = profile.started.and_then(|started| started.duration_since(UNIX_EPOCH).ok());
    let start = fx::ReferenceTimestamp::from_duration_since_unix_epoch(start.unwrap_or(Duration::ZERO));
    let interval = fx::SamplingInterval::from_millis(1);
    let mut writer = Writer::new(profile, fx::Profile::new(&profile.title, start, interval));
    let samples = ThreadSamples::new(profile);
    match grouping {
        Grouping::PerThread => {
            for (slot, thread) in label::threads(profile) {
                let handle = writer.thread(thread);
                writer.samples(handle, samples.of(slot));
            }
        }
        Grouping::Merged => {
            let all = ProfileThread { id: 0, name: Some("All threads".to_owned()) };
            let handle = writer.thread(&all);
            // The viewer wants them in the order of time.
            let mut order: Vec<&Sample> = profile.samples.iter().collect();
            order.sort_by_key(|sample| sample.at_ns);
            writer.samples(handle, order.into_iter());
        }
    }
    let mut to = BufWriter::new(to);
    serde_json::to_writer(&mut to, &writer.out).map_err(io::Error::from)?;
    to.flush()
}

struct Writer<'a> {
    profile: &'a Profile,
    out: fx::Profile,
    process: fx::ProcessHandle,
    names: Vec<fx::StringHandle>,
    categories: Categories,
    piece_ns: u64,
}

struct Categories {
    managed: fx::CategoryHandle,
    other: fx::CategoryHandle,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, mut out: fx::Profile) -> Writer<'a> {
        out.set_symbolicated(true);
        let process = u32::try_from(profile.process.unwrap_or(0)).unwrap_or(0);
        let process = out.add_process(&profile.title, process, at(0));
        out.set_process_end_time(process, at(profile.duration_ns));
        let names = profile.frames.iter().map(|frame| out.intern_string(&label::frame(frame))).collect();
        let categories = Categories {
            managed: out.add_category("Managed", fx::CategoryColor::Blue),
            other: out.add_category("Unmanaged", fx::CategoryColor::LightRed),
        };
        let piece_ns = PIECE_NS.max(profile.total() / MOST_PIECES);
        Writer { profile, out, process, names, categories, piece_ns }
    }

    fn thread(&mut self, thread: &ProfileThread) -> fx::ThreadHandle {
        let id = u32::try_from(thread.id).unwrap_or(0);
        let handle = self.out.add_thread(self.process, id, at(0), false);
        self.out.set_thread_name(handle, &label::thread(thread));
        self.out.set_thread_samples_weight_type(
            handle,
            match self.profile.weight {
                Weight::Nanoseconds => fx::WeightType::TracingMs,
                Weight::Bytes => fx::WeightType::Bytes,
                Weight::Count => fx::WeightType::Samples,
            },
        );
        handle
    }

    fn samples<'s>(&mut self, thread: fx::ThreadHandle, samples: impl Iterator<Item = &'s Sample>) {
        // Handles belong to a thread.
        let mut stacks: Vec<Option<fx::StackHandle>> = vec![None; self.profile.nodes.len()];
        // Weights are whole milliseconds here; what rounding takes from one sample is given to the next.
        let mut owed = 0;
        for sample in samples {
            let stack = self.stack(thread, sample.stack, &mut stacks);
            if self.profile.weight != Weight::Nanoseconds {
                self.add(thread, sample.at_ns, stack, sample.weight);
                continue;
            }
            let mut done = 0;
            while done < sample.weight {
                let piece = self.piece_ns.min(sample.weight - done);
                owed += piece;
                self.add(thread, sample.at_ns.saturating_add(done), stack, owed / MS);
                owed %= MS;
                done += piece;
            }
        }
    }

    fn add(&mut self, thread: fx::ThreadHandle, at_ns: u64, stack: Option<fx::StackHandle>, weight: u64) {
        let weight = i32::try_from(weight).unwrap_or(i32::MAX);
        self.out.add_sample(thread, at(at_ns), stack, fx::CpuDelta::ZERO, weight);
    }

    fn stack(
        &mut self,
        thread: fx::ThreadHandle,
        stack: Option<StackKey>,
        known: &mut [Option<fx::StackHandle>],
    ) -> Option<fx::StackHandle> {
        // Outwards until something is known, then inwards again.
        let mut path = Vec::new();
        let mut handle = None;
        let mut next = stack;
        while let Some(key) = next {
            let place = key.0 as usize;
            let Some(node) = self.profile.nodes.get(place) else { break };
            handle = known[place];
            if handle.is_some() {
                break;
            }
            path.push((place, node.frame.0 as usize));
            next = node.caller;
        }
        for (place, frame) in path.into_iter().rev() {
            let Some((name, model)) = self.names.get(frame).zip(self.profile.frames.get(frame)) else {
                continue;
            };
            let is_managed = model.kind == FrameKind::Managed;
            let category = if is_managed { self.categories.managed } else { self.categories.other };
            let info = fx::FrameInfo {
                frame: fx::Frame::Label(*name),
                category_pair: category.into(),
                flags: fx::FrameFlags::empty(),
            };
            let frame = self.out.intern_frame(thread, info);
            handle = Some(self.out.intern_stack(thread, handle, frame));
            known[place] = handle;
        }
        handle
    }
}

fn at(nanos: u64) -> fx::Timestamp {
    fx::Timestamp::from_nanos_since_reference(nanos)
}
