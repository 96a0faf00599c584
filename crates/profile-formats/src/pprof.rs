//! pprof: the profile of <https://github.com/google/pprof>, a message of protocol buffers in gzip.
//!
//! The messages are public so that a profile can be read back.

use std::io::{self, Write};
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use model::FrameKind;
use prost::Message;
use prost::encoding::{WireType, encode_key};
use stacks::{CallTree, Profile, ProfileThread, ThreadSamples, Weight};

use crate::label;
use crate::registry::Grouping;

/// What was measured, and where.
#[derive(Clone, PartialEq, Message)]
pub struct PprofProfile {
    /// What the values of samples are.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// The samples.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<PprofSample>,
    /// Modules.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places in code.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Methods.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts; the first one is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// When it began, in nanoseconds since 1970.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// How long it took.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// Words about it, as places in the table of texts.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    /// What is counted.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// In which unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack and its weight.
#[derive(Clone, PartialEq, Message)]
pub struct PprofSample {
    /// The stack, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// Its weights.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// Something known about a sample.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Label {
    /// What it is.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// A text.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Or a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
}

/// A module.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Mapping {
    /// Its number, from 1.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its file.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Whether its locations have functions: if not, pprof looks for the file.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
}

/// A place in code.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Its number, from 1.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its module; 0 if not known.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Its method and line.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A line of a method.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Line {
    /// The method.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// The line; 0 if not known.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A method.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    /// Its number, from 1.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name as the system knows it.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
}

/// The field of [`PprofProfile`] that holds samples.
const SAMPLE: u32 = 2;

pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut out = GzEncoder::new(to, Compression::fast());
    let mut texts = Texts::default();
    let mut head = describe(profile, &mut texts);
    // Samples are the bulk: each is written by itself, which is the same message.
    let samples = ThreadSamples::new(profile);
    match grouping {
        Grouping::Merged => {
            write_samples(&CallTree::new(profile, &profile.samples), &[], &mut out)?;
        }
        Grouping::PerThread => {
            for (slot, thread) in label::threads(profile) {
                let labels = labels(thread, &mut texts);
                write_samples(&CallTree::new(profile, samples.of(slot)), &labels, &mut out)?;
            }
        }
    }
    head.string_table = texts.rows;
    out.write_all(&head.encode_to_vec())?;
    out.finish()?;
    Ok(())
}

fn write_samples(tree: &CallTree, labels: &[Label], out: &mut impl Write) -> io::Result<()> {
    let mut buffer = Vec::new();
    let stacks = (0..).zip(&tree.nodes).filter(|(_, node)| node.own > 0);
    let stacks = stacks.map(|(place, node)| {
        (tree.path(place).map(|frame| u64::from(frame.0) + 1).collect::<Vec<u64>>(), node.own)
    });
    let unknown = Some((Vec::new(), tree.without_stack)).filter(|(_, weight)| *weight > 0);
    for (location_id, weight) in stacks.chain(unknown) {
        let value = vec![i64::try_from(weight).unwrap_or(i64::MAX)];
        buffer.clear();
        encode_key(SAMPLE, WireType::LengthDelimited, &mut buffer);
        let sample = PprofSample { location_id, value, label: labels.to_vec() };
        sample.encode_length_delimited(&mut buffer).map_err(io::Error::other)?;
        out.write_all(&buffer)?;
    }
    Ok(())
}

/// Everything but the samples and the texts.
fn describe(profile: &Profile, texts: &mut Texts) -> PprofProfile {
    let (kind, unit) = match profile.weight {
        Weight::Nanoseconds => ("time", "nanoseconds"),
        Weight::Bytes => ("space", "bytes"),
        Weight::Count => ("events", "count"),
    };
    let mut message = PprofProfile {
        sample_type: vec![ValueType { r#type: texts.number(kind), unit: texts.number(unit) }],
        time_nanos: profile
            .started
            .and_then(|started| i64::try_from(started.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok())
            .unwrap_or(0),
        duration_nanos: i64::try_from(profile.duration_ns).unwrap_or(i64::MAX),
        comment: vec![texts.number(&profile.title)],
        ..PprofProfile::default()
    };
    let mut modules = HashMap::<&str, u64, RandomState>::default();
    // A method may have several frames, one for each line.
    let mut functions = HashMap::<(&str, Option<&str>), u64, RandomState>::default();
    for (number, frame) in (1_u64..).zip(&profile.frames) {
        let mapping_id = frame.module.as_deref().map_or(0, |module| {
            let next = modules.len() as u64 + 1;
            *modules.entry(module).or_insert_with(|| {
                let filename = texts.number(module);
                message.mapping.push(Mapping { id: next, filename, has_functions: true });
                next
            })
        });
        let next = functions.len() as u64 + 1;
        let function_id = *functions.entry((&frame.name, frame.module.as_deref())).or_insert_with(|| {
            let name = if frame.kind == FrameKind::Managed { &frame.name } else { &label::frame(frame) };
            let name = texts.number(name);
            let filename = frame.file.as_deref().map_or(0, |file| texts.number(file));
            message.function.push(Function { id: next, name, system_name: name, filename });
            next
        });
        let line = vec![Line { function_id, line: frame.line.map_or(0, i64::from) }];
        message.location.push(Location { id: number, mapping_id, line });
    }
    message
}

fn labels(thread: &ProfileThread, texts: &mut Texts) -> Vec<Label> {
    let name = texts.number(&label::thread(thread));
    let id = i64::try_from(thread.id).unwrap_or(i64::MAX);
    vec![
        Label { key: texts.number("thread"), str: name, num: 0 },
        Label { key: texts.number("thread_id"), str: 0, num: id },
    ]
}

/// Texts by number; the first is empty.
struct Texts {
    rows: Vec<String>,
    numbers: HashMap<String, i64, RandomState>,
}

impl Default for Texts {
    fn default() -> Texts {
        let mut texts = Texts { rows: Vec::new(), numbers: HashMap::default() };
        texts.number("");
        texts
    }
}

impl Texts {
    fn number(&mut self, text: &str) -> i64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = i64::try_from(self.rows.len()).unwrap_or(i64::MAX);
        self.rows.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
