//! The trace event format of Chromium, as dotnet-trace writes it: calls as beginnings and ends, with their stacks.
//!
//! What has no length in time (bytes, counts) becomes an instant with its weight.

use std::io::{self, Write};

use stacks::{FrameId, Profile, StackKey, ThreadSamples, ThreadSlot, Weight};

use crate::label;
use crate::registry::Grouping;
use crate::sink::{Sink, json_string};
use crate::spans::{Edge, edges};

pub(crate) fn write(profile: &Profile, _: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer {
        profile,
        names: profile.frames.iter().map(|frame| json_string(&label::frame(frame))).collect(),
        sink: Sink::new(to),
        is_first: true,
    };
    writer.sink.raw("{\"otherData\":{\"name\":").string(&profile.title).raw(",\"exporter\":");
    writer.sink.string(&format!("drdotnet {}", env!("CARGO_PKG_VERSION"))).raw("},\n\"traceEvents\":[");
    writer.names_of_threads();
    let samples = ThreadSamples::new(profile);
    for (slot, thread) in label::threads(profile) {
        match profile.weight {
            Weight::Nanoseconds => writer.calls(&samples, slot, thread.id)?,
            Weight::Bytes | Weight::Count => writer.instants(&samples, slot, thread.id)?,
        }
    }
    writer.sink.raw("],\n\"displayTimeUnit\":\"ms\",\n\"stackFrames\":{");
    writer.stacks()?;
    writer.sink.raw("}}\n");
    writer.sink.finish()
}

struct Writer<'a> {
    profile: &'a Profile,
    /// Labels of frames, as JSON.
    names: Vec<String>,
    sink: Sink<'a>,
    is_first: bool,
}

impl Writer<'_> {
    fn head(&mut self, phase: &str, thread: u64) -> &mut Self {
        self.sink.comma(&mut self.is_first).raw("\n{\"ph\":\"").raw(phase).raw("\",\"pid\":");
        self.sink.number(self.profile.process.unwrap_or(0)).raw(",\"tid\":").number(thread);
        self
    }

    fn names_of_threads(&mut self) {
        for thread in &self.profile.threads {
            self.head("M", thread.id);
            self.sink
                .raw(",\"name\":\"thread_name\",\"args\":{\"name\":")
                .string(&label::thread(thread))
                .raw("}}");
        }
    }

    fn calls(&mut self, samples: &ThreadSamples<'_>, slot: ThreadSlot, thread: u64) -> io::Result<()> {
        edges(self.profile, samples.of(slot), |edge| {
            match edge {
                Edge::Open { frame, stack, at_ns } => {
                    self.head("B", thread).name_and_stack(Some(frame), Some(stack));
                    self.sink.raw(",\"ts\":").micros(at_ns).raw("}");
                }
                Edge::Close { at_ns, .. } => {
                    self.head("E", thread);
                    self.sink.raw(",\"ts\":").micros(at_ns).raw("}");
                }
            }
            self.sink.spill()
        })
    }

    fn instants(&mut self, samples: &ThreadSamples<'_>, slot: ThreadSlot, thread: u64) -> io::Result<()> {
        for sample in samples.of(slot) {
            let node = sample.stack.and_then(|stack| self.profile.nodes.get(stack.0 as usize));
            self.head("i", thread).name_and_stack(node.map(|node| node.frame), sample.stack);
            self.sink.raw(",\"s\":\"t\",\"ts\":").micros(sample.at_ns).raw(",\"args\":{\"");
            self.sink.raw(label::unit(self.profile.weight)).raw("\":").number(sample.weight).raw("}}");
            self.sink.spill()?;
        }
        Ok(())
    }

    fn name_and_stack(&mut self, frame: Option<FrameId>, stack: Option<StackKey>) {
        self.sink.raw(",\"cat\":\"sampleEvent\",\"name\":");
        match frame.and_then(|frame| self.names.get(frame.0 as usize)) {
            Some(name) => self.sink.raw(name),
            None => self.sink.string(label::NO_STACK),
        };
        if let Some(stack) = stack {
            self.sink.raw(",\"sf\":").number(stack.0.into());
        }
    }

    fn stacks(&mut self) -> io::Result<()> {
        let mut is_first = true;
        for (number, node) in (0_u64..).zip(&self.profile.nodes) {
            self.sink.comma(&mut is_first).raw("\n\"").number(number).raw("\":{\"name\":");
            let name = self.names.get(node.frame.0 as usize).map_or("\"\"", String::as_str);
            self.sink.raw(name).raw(",\"category\":");
            let module =
                self.profile.frames.get(node.frame.0 as usize).and_then(|frame| frame.module.as_deref());
            self.sink.string(module.map_or("", label::module));
            if let Some(caller) = node.caller {
                self.sink.raw(",\"parent\":").number(caller.0.into());
            }
            self.sink.raw("}");
            self.sink.spill()?;
        }
        Ok(())
    }
}
