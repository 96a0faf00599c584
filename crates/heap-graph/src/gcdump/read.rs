//! Reading a file.

use std::io::Read;

use super::fold::fold;
use super::memory_graph::{RawGraph, shortened};
use super::objects::Objects;
use super::source::Source;
use super::{DUMP_TYPE, DUMP_VERSION, DumpInfo, MAGIC, Segment, tag};
use crate::error::Error;
use crate::graph::HeapGraph;

/// Reads a `.gcdump` file. The input need not be buffered, and is read once, from start to end.
///
/// Peak memory: about 30 bytes per object and 4 per reference; no length in the file makes it take more than the
/// bytes that are really there.
pub fn read(input: impl Read) -> Result<(HeapGraph, DumpInfo), Error> {
    let mut source = Source::new(input);
    magic(&mut source)?;
    let mut objects = Objects::new(source);
    let offset = objects.source.offset();
    let found = objects.begin("the dump")?;
    let supported = found
        .as_ref()
        .filter(|found| found.name == DUMP_TYPE && found.version >= 9 && found.min_reader <= DUMP_VERSION);
    if supported.is_none() {
        let what = found.map_or("a null dump".to_owned(), |found| {
            format!(
                "{} version {}, for readers from {}",
                shortened(&found.name),
                found.version,
                found.min_reader
            )
        });
        return Err(Error::Unsupported { offset, what });
    }
    let raw = RawGraph::read(&mut objects)?;
    let info = dump_info(&mut objects)?;
    // What follows is only the table for random access.
    let graph = fold(raw)?;
    Ok((graph, info))
}

fn magic(source: &mut Source<impl Read>) -> Result<(), Error> {
    let not_one = Error::NotAGcDump { expected: MAGIC };
    let length = source.count("the file's mark").unwrap_or(0);
    if length != MAGIC.len() {
        return Err(not_one);
    }
    match source.bytes(length, "the file's mark") {
        Ok(found) if found == MAGIC.as_bytes() => Ok(()),
        Ok(_) => Err(not_one),
        Err(error) => Err(error),
    }
}

/// The fields behind the graph.
fn dump_info(objects: &mut Objects<impl Read>) -> Result<DumpInfo, Error> {
    let mut info = DumpInfo::default();
    objects.source.u8("the address width")?;
    info.count_multiplier = objects.source.f32("the sampling factor of counts")?;
    info.size_multiplier = objects.source.f32("the sampling factor of sizes")?;
    if objects.begin("the JavaScript heap")?.is_some() {
        objects.end("the JavaScript heap")?;
    }
    info.segments = segments(objects)?;
    let source = &mut objects.source;
    info.log = source.string("the log")?;
    info.collected_ticks = source.i64("the time")?;
    info.machine = source.string("the machine's name")?;
    info.process_name = source.string("the process's name")?;
    info.process_id = source.i32("the process's id")?;
    info.commit = source.i64("the committed bytes")?;
    info.working_set = source.i64("the bytes in memory")?;
    for _ in 0..source.count("the number of sampling factors")? {
        source.f32("a sampling factor")?;
    }
    if objects.tagged(tag::SKIP_REGION, "the COM objects")? {
        objects.source.i32("the end of the COM objects")?;
        com_objects(objects)?;
    }
    info.creation_tool = None;
    if objects.tagged(tag::STRING, "the tool's name")? {
        info.creation_tool = objects.source.string("the tool's name")?;
    }
    objects.end("the dump")?;
    Ok(info)
}

/// The segments of the heap, which PerfView writes.
fn segments(objects: &mut Objects<impl Read>) -> Result<Vec<Segment>, Error> {
    let mut segments = Vec::new();
    if objects.begin("the heap's segments")?.is_none() {
        return Ok(segments);
    }
    objects.source.i64("the size of the segments")?;
    for _ in 0..objects.source.count("the number of segments")? {
        let Some(found) = objects.begin("a segment")? else { continue };
        let mut numbers = [0; 7];
        let written = if found.version >= 1 { 7 } else { 6 };
        for number in &mut numbers[..written] {
            *number = objects.source.u64("a segment")?;
        }
        objects.end("a segment")?;
        let [start, end, generation_ends @ ..] = numbers;
        segments.push(Segment { start, end, generation_ends });
    }
    objects.end("the heap's segments")?;
    Ok(segments)
}

/// Passes over what PerfView says of COM objects.
fn com_objects(objects: &mut Objects<impl Read>) -> Result<(), Error> {
    const FIELD: &str = "the COM objects";
    if objects.begin(FIELD)?.is_none() {
        return Ok(());
    }
    let source = &mut objects.source;
    if source.i32(FIELD)? != 0 {
        let runtime_wrappers = source.count(FIELD)?;
        let com_wrappers = source.count(FIELD)?;
        let interfaces = source.count(FIELD)?;
        let modules = source.count(FIELD)?;
        for (count, bytes) in [(runtime_wrappers, 40), (com_wrappers, 32), (interfaces, 33)] {
            source.skip(count.saturating_mul(bytes), FIELD)?;
        }
        for _ in 0..modules {
            source.skip(16, FIELD)?;
            source.string(FIELD)?;
        }
    }
    objects.end(FIELD)
}
