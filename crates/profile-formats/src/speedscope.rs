//! Speedscope: <https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources>.
//!
//! Time becomes an evented profile for each thread, as dotnet-trace writes it. Bytes and counts have no length in time, so
//! they become a sampled profile, whose axis is their sum; so does everything that is merged.

use std::io::{self, Write};

use model::FrameKind;
use stacks::{CallTree, FrameId, Profile, Sample, ThreadSamples, ThreadSlot, Weight};

use crate::label;
use crate::registry::Grouping;
use crate::sink::Sink;
use crate::spans::{Edge, edges};

pub(crate) fn write(profile: &Profile, grouping: Grouping, to: &mut dyn Write) -> io::Result<()> {
    let mut sink = Sink::new(to);
    sink.raw("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":");
    sink.string(&format!("drdotnet {}", env!("CARGO_PKG_VERSION")));
    sink.raw(",\"name\":").string(&profile.title).raw(",\"activeProfileIndex\":");
    let samples = ThreadSamples::new(profile);
    sink.number(match grouping {
        Grouping::PerThread => busiest(profile, &samples),
        Grouping::Merged => 0,
    });
    write_frames(profile, &mut sink)?;
    sink.raw(",\"profiles\":[");
    let mut is_first = true;
    match grouping {
        Grouping::Merged => write_merged(profile, &mut sink)?,
        Grouping::PerThread => {
            for (slot, thread) in label::threads(profile) {
                let name = label::thread(thread);
                sink.comma(&mut is_first).raw("\n");
                match profile.weight {
                    Weight::Nanoseconds => write_evented(profile, &name, &samples, slot, &mut sink)?,
                    Weight::Bytes | Weight::Count => {
                        write_sampled(profile, &name, samples.of(slot), &mut sink)?
                    }
                }
            }
        }
    }
    sink.raw("\n]}\n");
    sink.finish()
}

fn write_frames(profile: &Profile, sink: &mut Sink<'_>) -> io::Result<()> {
    sink.raw(",\n\"shared\":{\"frames\":[");
    let mut is_first = true;
    for frame in &profile.frames {
        sink.comma(&mut is_first).raw("\n{\"name\":").string(&label::frame(frame));
        if let Some(file) = &frame.file {
            sink.raw(",\"file\":").string(file);
        }
        sink.raw("}");
        sink.spill()?;
    }
    // One more, for stacks that are not known.
    sink.comma(&mut is_first).raw("\n{\"name\":").string(label::NO_STACK).raw("}]}");
    sink.spill()
}

/// The thread that is shown first: the one that was in its own code most.
fn busiest(profile: &Profile, samples: &ThreadSamples<'_>) -> u64 {
    let is_busy = |sample: &&Sample| {
        let node = sample.stack.and_then(|stack| profile.nodes.get(stack.0 as usize));
        let frame = node.and_then(|node| profile.frames.get(node.frame.0 as usize));
        frame.is_some_and(|frame| frame.kind != FrameKind::Runtime)
    };
    let (mut first, mut most) = (0, 0);
    for (slot, _) in label::threads(profile) {
        let weight =
            samples.of(slot).filter(is_busy).fold(0, |sum: u64, sample| sum.saturating_add(sample.weight));
        if weight > most {
            (first, most) = (u64::from(slot.0), weight);
        }
    }
    first
}

fn head(kind: &str, name: &str, unit: &str, sink: &mut Sink<'_>) {
    sink.raw("{\"type\":\"").raw(kind).raw("\",\"name\":").string(name);
    sink.raw(",\"unit\":\"").raw(unit).raw("\",\"startValue\":");
}

fn write_evented(
    profile: &Profile,
    name: &str,
    samples: &ThreadSamples<'_>,
    slot: ThreadSlot,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let start = samples.of(slot).map(|sample| sample.at_ns).next().unwrap_or(0);
    let end = samples.of(slot).map(|sample| sample.at_ns.saturating_add(sample.weight)).max().unwrap_or(0);
    head("evented", name, "nanoseconds", sink);
    sink.number(start).raw(",\"endValue\":").number(end.max(start)).raw(",\"events\":[");
    let mut is_first = true;
    edges(profile, samples.of(slot), |edge| {
        let (kind, FrameId(frame), at_ns) = match edge {
            Edge::Open { frame, at_ns, .. } => ("{\"type\":\"O\",\"frame\":", frame, at_ns),
            Edge::Close { frame, at_ns } => ("{\"type\":\"C\",\"frame\":", frame, at_ns),
        };
        sink.comma(&mut is_first).raw(kind).number(frame.into()).raw(",\"at\":").number(at_ns).raw("}");
        sink.spill()
    })?;
    sink.raw("]}");
    sink.spill()
}

fn write_sampled<'a>(
    profile: &Profile,
    name: &str,
    samples: impl Iterator<Item = &'a Sample> + Clone,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let rows = samples.clone().map(|sample| {
        let mut frames: Vec<FrameId> =
            sample.stack.map_or(Vec::new(), |stack| profile.stack(stack).collect());
        frames.reverse();
        frames
    });
    write_rows(profile, name, rows, samples.map(|sample| sample.weight), sink)
}

fn write_merged(profile: &Profile, sink: &mut Sink<'_>) -> io::Result<()> {
    let tree = CallTree::new(profile, &profile.samples);
    let heavy = (0..).zip(&tree.nodes).filter(|(_, node)| node.own > 0);
    let rows = heavy.clone().map(|(place, _)| {
        let mut frames: Vec<FrameId> = tree.path(place).collect();
        frames.reverse();
        frames
    });
    let unknown = Some(tree.without_stack).filter(|weight| *weight > 0);
    let weights = heavy.map(|(_, node)| node.own).chain(unknown);
    write_rows(profile, "All threads", rows.chain(unknown.map(|_| Vec::new())), weights, sink)
}

/// Stacks, the outermost frame first, and their weights.
fn write_rows(
    profile: &Profile,
    name: &str,
    rows: impl Iterator<Item = Vec<FrameId>>,
    weights: impl Iterator<Item = u64> + Clone,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let unit = match profile.weight {
        Weight::Nanoseconds => "nanoseconds",
        Weight::Bytes => "bytes",
        Weight::Count => "none",
    };
    head("sampled", name, unit, sink);
    let total = weights.clone().fold(0, u64::saturating_add);
    sink.raw("0,\"endValue\":").number(total).raw(",\"samples\":[");
    let mut is_first = true;
    for row in rows {
        sink.comma(&mut is_first).raw("[");
        let mut is_first = true;
        for FrameId(frame) in &row {
            sink.comma(&mut is_first).number(u64::from(*frame));
        }
        if row.is_empty() {
            sink.number(profile.frames.len() as u64);
        }
        sink.raw("]");
        sink.spill()?;
    }
    sink.raw("],\"weights\":[");
    let mut is_first = true;
    for weight in weights {
        sink.comma(&mut is_first).number(weight);
        sink.spill()?;
    }
    sink.raw("]}");
    sink.spill()
}
