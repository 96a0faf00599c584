//! What a trace holds, in a few lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::Read;

use nettrace::{Error, Event, Field, FieldType, Item, Reader, Timestamp};

/// Counts of everything.
#[derive(Default)]
pub struct Summary {
    /// By provider and event: how often, how many bytes, how many with a stack.
    pub events: BTreeMap<(String, u32, String), (u64, usize, u64)>,
    pub stacks: usize,
    pub sequence_points: u64,
    threads: BTreeSet<u64>,
    capture_threads: BTreeSet<u64>,
    frames: usize,
    sorted: u64,
    fields: BTreeMap<(String, u32), String>,
    first: Option<Timestamp>,
    last: Timestamp,
}

impl Summary {
    pub fn add(&mut self, item: &Item<'_>) {
        match item {
            Item::Event(event) => self.add_event(event),
            Item::Stacks(stacks) => self.stacks += stacks.iter().count(),
            Item::SequencePoint(_) => self.sequence_points += 1,
            Item::Metadata(metadata) => {
                let fields = metadata.fields().iter().map(describe).collect::<Vec<_>>().join(", ");
                let text = format!(
                    "v{} level {} keywords {:#x} opcode {} ({fields})",
                    metadata.version, metadata.level, metadata.keywords.0, metadata.opcode
                );
                self.fields.insert((metadata.provider.clone(), metadata.event.0), text);
            }
            _ => {}
        }
    }

    fn add_event(&mut self, event: &Event<'_>) {
        let key = (event.metadata.provider.clone(), event.metadata.event.0, event.metadata.name.clone());
        let (count, bytes, stacks) = self.events.entry(key).or_default();
        *count += 1;
        *bytes += event.payload.len();
        *stacks += u64::from(event.stack.is_some());
        self.frames += event.stack.map_or(0, |stack| stack.frames().count());
        self.threads.insert(event.thread().0);
        self.capture_threads.insert(event.capture_thread().0);
        self.sorted += u64::from(event.header.order == nettrace::Order::Sorted);
        let time = event.header.timestamp;
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = self.last.max(time);
    }

    pub fn count(&self, provider: &str, event: u32) -> u64 {
        let of_kind = self.events.iter().filter(|((name, id, _), _)| name == provider && *id == event);
        of_kind.map(|(_, (count, _, _))| count).sum()
    }
}

fn describe(field: &Field) -> String {
    let Field { name, kind } = field;
    match kind {
        FieldType::Struct(fields) => {
            format!("{name}: {{{}}}", fields.iter().map(describe).collect::<Vec<_>>().join(", "))
        }
        kind => format!("{name}: {kind:?}"),
    }
}

/// Reads everything and tells what there was; the error, if there was one, comes at the end.
pub fn summarize(input: impl Read) -> (Summary, String, Option<Error>) {
    let mut reader = Reader::new(input);
    let mut summary = Summary::default();
    let error = loop {
        match reader.next() {
            Ok(Some(item)) => summary.add(&item),
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let mut text = String::new();
    if let Some(trace) = reader.trace() {
        let Summary { first, last, .. } = summary;
        writeln!(
            text,
            "format {:?}, {} processors, pointers of {} bytes",
            trace.version,
            trace.processors.unwrap_or(0),
            trace.pointer_size.bytes()
        )
        .expect("a string takes text");
        writeln!(
            text,
            "first event after {:?}, last after {:?}",
            trace.since_start(first.unwrap_or_default()),
            trace.since_start(last)
        )
        .expect("a string takes text");
    }
    let lines = [
        format!("{} threads, {} of them wrote", summary.threads.len(), summary.capture_threads.len()),
        format!(
            "{} stacks, {} frames in events, {} sequence points, {} sorted events",
            summary.stacks, summary.frames, summary.sequence_points, summary.sorted
        ),
        format!("losses: {:?}", reader.losses()),
        format!("end: {}", error.as_ref().map_or("proper".into(), ToString::to_string)),
        String::new(),
    ];
    text.push_str(&lines.join("\n"));
    for ((provider, id, name), (count, bytes, stacks)) in &summary.events {
        writeln!(text, "{count:6} {provider} {id} {name:?}: {bytes} bytes, {stacks} stacks")
            .expect("a string takes text");
    }
    for ((provider, id), fields) in &summary.fields {
        writeln!(text, "kind {provider} {id}: {fields}").expect("a string takes text");
    }
    (summary, text, error)
}
