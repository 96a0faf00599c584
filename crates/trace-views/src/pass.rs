//! One pass over a trace.

mod events;

use std::io::Read;

use nettrace::{Item, Reader, Timestamp, TraceInfo};
use stacks::{Profile, Sample, StackTable, Weight};
use symbols::CodeMap;

use crate::collected::Collected;
use crate::event_kinds::EventKinds;
use crate::marker::{self, Markers};
use crate::outside;
use crate::request::{Lines, Request, Wanted};
use crate::sampler::Sampler;
use crate::stack_ids::StackIds;
use crate::summary::{Names, Summary, ViewCount};
use crate::threads::Threads;
use crate::view::View;
use crate::waits::Waits;

/// What the sampler's interval is if a trace does not say.
const USUAL_INTERVAL_NS: u64 = 1_000_000;

/// Why nothing could be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The stream is no nettrace stream, or its head is damaged.
    #[error(transparent)]
    Stream(#[from] nettrace::Error),
    /// The stream has no byte.
    #[error("the trace is empty")]
    Empty,
}

/// What was read.
#[derive(Debug)]
pub struct Reading {
    /// The stacks that were asked for; none if the trace has none of them.
    pub profile: Option<Profile>,
    /// Which view the profile is; none for a single event.
    pub view: Option<View>,
    /// What the trace holds.
    pub summary: Summary,
}

/// Reads a trace from its first byte to its last, or to where it is damaged.
pub fn read(input: impl Read, request: &Request) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(input);
    let mut pass: Option<Pass> = None;
    let damage = loop {
        match (reader.next(), &mut pass) {
            (Ok(Some(Item::Trace(info))), None) => pass = Some(Pass::new(info.clone(), request)),
            (Ok(Some(Item::Event(event))), Some(pass)) => pass.event(&event),
            (Ok(Some(Item::Metadata(metadata))), Some(pass)) => pass.kinds.describe(metadata),
            (Ok(Some(Item::Stacks(stacks))), Some(pass)) => pass.stack_ids.replaced(&stacks),
            (Ok(Some(Item::SequencePoint(_))), Some(pass)) => pass.stack_ids.clear(),
            (Ok(Some(_)), _) => {}
            (Ok(None), _) => break None,
            (Err(error), Some(_)) => break Some(error),
            (Err(error), None) => return Err(error.into()),
        }
    };
    let (bytes, losses) = (reader.offset(), reader.losses().clone());
    // The buffers of the reader are not needed for what follows.
    drop(reader);
    let pass = pass.ok_or(ReadError::Empty)?;
    Ok(pass.finish(request, |summary| {
        summary.bytes = bytes;
        summary.losses = losses;
        summary.damage = damage;
    }))
}

/// What is known in the middle of a trace.
struct Pass {
    info: TraceInfo,
    kinds: EventKinds,
    stack_ids: StackIds,
    table: StackTable,
    markers: Markers,
    threads: Threads,
    code: CodeMap,
    sampler: Sampler,
    contention: Waits,
    waits: Waits,
    /// Samples of each view, by its place; none if it is not wanted.
    views: Vec<Option<Collected>>,
    /// Ticks are about the same bytes as sampled allocations, which are better.
    has_sampled_allocations: bool,
    /// Samples of the event that was asked for.
    wanted_event: Option<Collected>,
    /// Whether views are only collected until it is known which is best.
    takes_best: bool,
    /// Only this thread.
    thread: Option<u64>,
    counts: Vec<u64>,
    events: u64,
    undecodable: u64,
    /// Samples that say they are of managed code.
    managed_samples: u64,
    end: Timestamp,
    command_line: Option<String>,
    runtime: Option<String>,
}

impl Pass {
    fn new(info: TraceInfo, request: &Request) -> Pass {
        let views = View::ALL.iter().map(|view| {
            let is_wanted = match &request.wanted {
                Wanted::Best => true,
                // Time in managed code is a part of thread time, which is told apart at the end.
                Wanted::View(View::ManagedTime) => *view == View::ThreadTime,
                Wanted::View(wanted) => wanted == view,
                Wanted::Event(_) | Wanted::Summary => false,
            };
            is_wanted.then(|| Collected::new(request.detail, view.weight()))
        });
        let (wanted, wanted_event) = match &request.wanted {
            Wanted::Event(name) => (Some(name.clone()), Some(Collected::new(request.detail, Weight::Count))),
            _ => (None, None),
        };
        Pass {
            end: info.start,
            info,
            kinds: EventKinds::new(wanted),
            stack_ids: StackIds::default(),
            table: StackTable::new(),
            markers: Markers::new(),
            threads: Threads::default(),
            code: CodeMap::new(),
            sampler: Sampler::default(),
            contention: Waits::default(),
            waits: Waits::default(),
            views: views.collect(),
            has_sampled_allocations: false,
            wanted_event,
            takes_best: request.wanted == Wanted::Best,
            thread: request.thread,
            counts: vec![0; View::ALL.len()],
            events: 0,
            undecodable: 0,
            managed_samples: 0,
            command_line: None,
            runtime: None,
        }
    }

    fn nanos(&self, at: Timestamp) -> u64 {
        u64::try_from(self.info.since_start(at).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds to a view, if it is wanted and the thread is.
    fn add(&mut self, view: View, sample: Sample) {
        if self.thread.is_none_or(|wanted| self.threads.id(sample.thread) == Some(wanted))
            && let Some(Some(collected)) = self.views.get_mut(view.place())
        {
            collected.add(sample);
        }
    }

    fn finish(mut self, request: &Request, complete: impl FnOnce(&mut Summary)) -> Reading {
        let end_ns = self.nanos(self.end);
        self.finish_waits(end_ns);
        let samples = self.counts[View::ThreadTime.place()];
        self.counts[View::ManagedTime.place()] = samples;
        let samples_tell = outside::samples_tell(samples, self.managed_samples, self.runtime.as_deref());
        let chosen = self.choose(request);
        let counts = View::ALL.iter().zip(&self.counts);
        let views = counts.filter(|(_, events)| **events > 0);
        let mut summary = Summary {
            version: self.info.version,
            started: self.info.started,
            duration_ns: end_ns,
            process: self.info.process.map(|process| process.0),
            command_line: self.command_line,
            runtime: self.runtime,
            bytes: 0,
            events: self.events,
            views: views.map(|(view, events)| ViewCount { view: *view, events: *events }).collect(),
            kinds: self.kinds.into_counts(),
            threads: self.threads.len(),
            losses: nettrace::Losses::default(),
            undecodable: self.undecodable,
            unknown_ns: self.sampler.unknown_ns,
            samples_tell,
            names: Names::default(),
            damage: None,
        };
        complete(&mut summary);
        let (view, samples) =
            chosen.map_or((None, Vec::new()), |(view, collected)| (view, collected.into_samples()));
        self.views.clear();
        if samples.is_empty() {
            return Reading { profile: None, view: None, summary };
        }
        self.code.settle();
        let (code, markers, names) = (&self.code, &self.markers, &mut summary.names);
        let (frames, nodes) = self.table.into_named(|address| {
            if let Some(marker) = markers.frame(address) {
                return marker;
            }
            names.addresses += 1;
            let mut frame = code.frame(address).unwrap_or_else(|| {
                names.unnamed += 1;
                marker::unnamed()
            });
            if request.lines == Lines::Merged {
                frame.line = None;
            }
            frame
        });
        let (title, weight) = match (view, &request.wanted) {
            (Some(view), _) => (view.title().to_owned(), view.weight()),
            (None, Wanted::Event(name)) => (name.to_string(), Weight::Count),
            (None, _) => (String::new(), Weight::Count),
        };
        let mut profile = Profile {
            title,
            weight,
            started: summary.started,
            duration_ns: end_ns,
            process: summary.process,
            frames,
            nodes,
            threads: self.threads.into_rows(),
            samples,
        };
        if matches!(view, Some(View::ThreadTime | View::ManagedTime)) && !samples_tell {
            outside::guess(&mut profile);
        }
        if view == Some(View::ManagedTime) {
            outside::drop_outside(&mut profile);
        }
        profile.tidy();
        if profile.samples.is_empty() {
            return Reading { profile: None, view: None, summary };
        }
        Reading { profile: Some(profile), view, summary }
    }

    /// What has begun and not ended when the trace ends.
    fn finish_waits(&mut self, end_ns: u64) {
        let interval = self.info.sample_interval.and_then(|time| u64::try_from(time.as_nanos()).ok());
        self.finish_samples(interval.unwrap_or(USUAL_INTERVAL_NS), end_ns);
        for (view, waits) in [
            (View::Contention, std::mem::take(&mut self.contention)),
            (View::Waits, std::mem::take(&mut self.waits)),
        ] {
            for sample in waits.finish(end_ns) {
                self.add(view, sample);
            }
        }
    }

    /// The samples that become the profile.
    fn choose(&mut self, request: &Request) -> Option<(Option<View>, Collected)> {
        let view = match &request.wanted {
            Wanted::Summary => return None,
            Wanted::Event(_) => return self.wanted_event.take().map(|collected| (None, collected)),
            Wanted::View(view) => *view,
            Wanted::Best => {
                let has_samples =
                    |view: &View| matches!(self.views.get(view.place()), Some(Some(it)) if !it.is_empty());
                let mut there = View::ALL.iter().copied().filter(has_samples);
                let first = there.next()?;
                let most = there.fold(first, |best, view| {
                    if self.counts[view.place()] > self.counts[best.place()] { view } else { best }
                });
                if first == View::ThreadTime { first } else { most }
            }
        };
        let source = if view == View::ManagedTime { View::ThreadTime } else { view };
        Some((Some(view), self.views.get_mut(source.place())?.take()?))
    }
}
