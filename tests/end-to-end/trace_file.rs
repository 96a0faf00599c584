//! What is in a recording, read back from the file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use nettrace::{Item, Losses, Reader};
use runtime_events::{RuntimeEvent, decode};

/// The runtime's own provider.
pub const RUNTIME: &str = "Microsoft-Windows-DotNETRuntime";
/// The sampler's.
pub const SAMPLER: &str = "Microsoft-DotNETCore-SampleProfiler";
/// What names code at the end.
pub const RUNDOWN: &str = "Microsoft-Windows-DotNETRuntimeRundown";
/// Writes one event about the process.
pub const EVENT_PIPE: &str = "Microsoft-DotNETCore-EventPipe";

/// What is in a recording.
#[derive(Debug, Default)]
pub struct Contents {
    /// By provider and id.
    pub events: BTreeMap<(String, u32), u64>,
    /// What was lost.
    pub losses: Losses,
    /// Names of methods that stand in stacks.
    pub methods: BTreeSet<String>,
    /// From the first event to the last one that is not of the rundown.
    pub span: Duration,
    /// Between the start that the trace tells and its first event.
    pub until_first: Duration,
    /// When it says that it started.
    pub started: Option<SystemTime>,
}

impl Contents {
    /// Events of a provider.
    pub fn of(&self, provider: &str) -> u64 {
        self.events.iter().filter(|((name, _), _)| name == provider).map(|(_, count)| count).sum()
    }

    /// Events of a kind.
    pub fn count(&self, provider: &str, id: u32) -> u64 {
        self.events.get(&(provider.to_owned(), id)).copied().unwrap_or(0)
    }
}

/// Reads a recording that must be complete.
#[track_caller]
pub fn contents(path: &Path) -> Contents {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader::new(file);
    let mut contents = Contents::default();
    let mut addresses = BTreeSet::new();
    let mut methods: BTreeMap<u64, (u64, String)> = BTreeMap::new();
    let (mut first, mut last) = (None, None);
    loop {
        match reader.next() {
            Ok(None) => break,
            Err(error) => panic!("{}: {error}", path.display()),
            Ok(Some(Item::Event(event))) => {
                let kind = (event.metadata.provider.clone(), event.metadata.event.0);
                if kind.0 != RUNDOWN {
                    first =
                        Some(first.map_or(event.header.timestamp, |first| event.header.timestamp.min(first)));
                    last = Some(last.map_or(event.header.timestamp, |last| event.header.timestamp.max(last)));
                }
                *contents.events.entry(kind).or_default() += 1;
                addresses.extend(event.stack.iter().flat_map(|stack| stack.frames()).map(|frame| frame.0));
                if let Ok(Some(RuntimeEvent::MethodLoad(code) | RuntimeEvent::MethodRundown(code))) =
                    decode(&event)
                {
                    let end = code.start.0 + u64::from(code.code_bytes);
                    methods.insert(code.start.0, (end, format!("{}.{}", code.namespace, code.name)));
                }
            }
            Ok(Some(_)) => {}
        }
    }
    let method = |address: &u64| methods.range(..=address).next_back().filter(|(_, (end, _))| address <= end);
    contents.methods = addresses.iter().filter_map(|address| Some(method(address)?.1.1.clone())).collect();
    contents.losses = reader.losses().clone();
    let trace = reader.trace().expect("a trace tells what it is");
    contents.started = trace.started;
    if let (Some(first), Some(last)) = (first, last) {
        contents.span = trace.between(first, last);
        assert!(first >= trace.start, "an event is older than the trace");
        contents.until_first = trace.between(trace.start, first);
    }
    contents
}
