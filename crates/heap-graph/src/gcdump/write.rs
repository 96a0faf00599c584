//! Writing a file.

use std::collections::HashMap;
use std::io::Write;

use super::sink::{Sink, count_31};
use super::{
    DUMP_MIN_READER, DUMP_TYPE, DUMP_VERSION, DumpInfo, GRAPH_TYPE, GRAPH_VERSION, MAGIC, MAX_SIZE, PART,
    UNDEFINED, compressed, names, tag,
};
use crate::error::Error;
use crate::graph::HeapGraph;
use crate::ids::{RootId, as_index, as_u32};

/// The last moment that a .NET `DateTime` can name.
const MAX_TICKS: i64 = 3_155_378_975_999_999_999;

/// The most parts of huge objects: two petabytes of them.
const MAX_PARTS: u64 = 1 << 20;

/// Writes a graph as a `.gcdump` file, garbage included. The output need not be buffered and is written once,
/// from start to end; beside the graph it takes 4 bytes per type and a few per root.
///
/// Fails with [`Error::TooBigForGcDump`] before the first byte when the graph does not fit the format.
pub fn write(graph: &HeapGraph, info: &DumpInfo, output: impl Write) -> Result<(), Error> {
    let plan = Plan::of(graph)?;
    let mut sink = Sink::new(output);
    sink.string("the file's mark", Some(MAGIC))?;
    sink.begin(DUMP_TYPE, DUMP_VERSION, DUMP_MIN_READER)?;
    plan.write(&mut sink)?;
    sink.u8(graph.is_64_bit.into())?;
    sink.f32(info.count_multiplier)?;
    sink.f32(info.size_multiplier)?;
    sink.u8(tag::NULL)?; // JavaScript heap
    sink.u8(tag::NULL)?; // segments
    sink.string("the log", info.log.as_deref())?;
    sink.i64(info.collected_ticks.clamp(0, MAX_TICKS))?;
    sink.string("the machine's name", info.machine.as_deref())?;
    sink.string("the process's name", info.process_name.as_deref())?;
    sink.i32(info.process_id)?;
    sink.i64(info.commit)?;
    sink.i64(info.working_set)?;
    sink.i32(0)?; // sampling factors by type
    sink.u8(tag::SKIP_REGION)?;
    sink.i32(0)?; // forward reference 0: the end of the region
    sink.u8(tag::NULL)?; // COM objects
    let end_of_region = sink.label()?;
    sink.u8(tag::STRING)?;
    sink.string("the tool's name", info.creation_tool.as_deref())?;
    sink.end()?;
    sink.end()?; // the end of all objects
    let table = sink.label()?;
    sink.i32(1)?;
    sink.u32(end_of_region)?;
    let trailer = sink.label()?;
    sink.u32(table)?;
    sink.u32(trailer)?;
    sink.finish()
}

/// A node that stands for roots.
struct Made {
    name: String,
    children: Vec<usize>,
    root: Option<RootId>,
}

/// What the file will hold: made-up nodes first, then the objects, then the parts of huge ones.
struct Plan<'a> {
    graph: &'a HeapGraph,
    made: Vec<Made>,
    made_types: Vec<usize>,
    /// The names of types that only made-up nodes have, behind our own.
    more_types: Vec<&'static str>,
    made_names: Vec<String>,
    /// Objects above [`MAX_SIZE`], with the index of their first part.
    huge: HashMap<u32, usize>,
    /// The sizes of all parts.
    parts: Vec<u64>,
    /// By type of the graph: the size of its first object, which its records leave out.
    usual_sizes: Vec<i32>,
}

impl<'a> Plan<'a> {
    fn of(graph: &'a HeapGraph) -> Result<Plan<'a>, Error> {
        let made = made_up_nodes(graph);
        let mut made_names: Vec<String> = Vec::new();
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut made_types = Vec::new();
        for node in &made {
            made_types.push(*known.entry(&node.name).or_insert_with(|| {
                made_names.push(node.name.clone());
                made_names.len() - 1
            }));
        }
        let mut plan = Plan {
            graph,
            made_types,
            more_types: Vec::new(),
            made_names,
            huge: HashMap::new(),
            parts: Vec::new(),
            usual_sizes: vec![-1; graph.types.len()],
            made,
        };
        for (node, (size, &its_type)) in (0_u32..).zip(graph.sizes.iter().zip(&graph.node_types)) {
            let usual = &mut plan.usual_sizes[as_index(its_type)];
            if *usual < 0 {
                *usual = clipped(size);
            }
            if size > MAX_SIZE {
                plan.huge.insert(node, plan.parts.len());
                let more = parts_of_size(size);
                let value = more.saturating_add(plan.parts.len() as u64);
                if value > MAX_PARTS {
                    let what = "the number of nodes for objects over 2 GB";
                    return Err(Error::TooBigForGcDump { what, value, limit: MAX_PARTS });
                }
                let last = size - MAX_SIZE * more;
                plan.parts.extend((1..more).map(|_| MAX_SIZE).chain([last]));
            }
        }
        if !plan.parts.is_empty() {
            plan.more_types.push(PART);
        }
        // A record keeps a type's index and a flag in one signed number.
        count_31("twice the number of types", 2 * plan.type_count() as u64)?;
        let nodes = count_31("the number of nodes", plan.node_count() as u64)?;
        let records =
            plan.each_length().try_fold(undefined_length(), |sum, next| Ok::<_, Error>(sum + next?))?;
        count_31("the length of the node records", records)?;
        let limit = u64::from(u32::MAX) - (64 << 20);
        let value = records + 12 * u64::from(nodes.unsigned_abs());
        if value > limit {
            return Err(Error::TooBigForGcDump { what: "the file's length", value, limit });
        }
        Ok(plan)
    }

    fn node_count(&self) -> usize {
        self.made.len() + self.graph.node_count() + self.parts.len()
    }

    fn type_count(&self) -> usize {
        1 + self.graph.types.len() + self.made_names.len() + self.more_types.len()
    }

    fn write(&self, sink: &mut Sink<impl Write>) -> Result<(), Error> {
        sink.begin(GRAPH_TYPE, GRAPH_VERSION, 0)?;
        sink.i64(i64::try_from(self.graph.total_size()).unwrap_or(i64::MAX))?;
        sink.i32(0)?; // [.NET Roots] is node 0
        self.write_types(sink)?;
        sink.count("the number of nodes", self.node_count())?;
        let mut place = undefined_length();
        for length in self.each_length() {
            sink.i32(count_31("the length of the node records", place)?)?;
            place += length?;
        }
        sink.i32(count_31("the length of the node records", place)?)?;
        [0, 0].iter().try_for_each(|&number| sink.compressed(number))?; // the record of UNDEFINED
        for node in 0..self.node_count() {
            self.record(node, |number| sink.compressed(number))?;
        }
        sink.count("the number of nodes", self.node_count())?;
        self.made.iter().try_for_each(|_| sink.u64(0))?;
        self.graph.addresses.iter().try_for_each(|&address| sink.u64(address))?;
        self.parts.iter().try_for_each(|_| sink.u64(0))?;
        sink.u8(tag::BYTE)?;
        sink.u8(self.graph.is_64_bit.into())?;
        sink.end()
    }

    fn write_types(&self, sink: &mut Sink<impl Write>) -> Result<(), Error> {
        sink.count("the number of types", self.type_count())?;
        let mut put = |name: &str, size: i32, module: Option<&str>| {
            sink.string("a type's name", Some(name))?;
            sink.i32(size)?;
            sink.string("a type's module", module)
        };
        put(UNDEFINED, 0, None)?;
        for (info, &size) in self.graph.types.iter().zip(&self.usual_sizes) {
            put(&info.name, size, info.module.as_deref())?;
        }
        self.made_names.iter().try_for_each(|name| put(name, 0, None))?;
        self.more_types.iter().try_for_each(|name| put(name, 0, None))
    }

    /// The lengths of all records.
    fn each_length(&self) -> impl Iterator<Item = Result<u64, Error>> + '_ {
        (0..self.node_count()).map(|node| {
            let mut length = 0;
            self.record(node, |number| {
                length += compressed::length(number) as u64;
                Ok(())
            })?;
            Ok(length)
        })
    }

    /// The numbers of a node's record.
    fn record(&self, node: usize, mut put: impl FnMut(i32) -> Result<(), Error>) -> Result<(), Error> {
        let first_object = self.made.len();
        let first_part = first_object + self.graph.node_count();
        let types = 1 + self.graph.types.len();
        if node < first_object {
            let made = &self.made[node];
            let held = made.root.map_or(&[][..], |id| self.graph.root(id).targets);
            put(flagged(types + self.made_types[node], false)?)?;
            put(count_31("a root's references", (made.children.len() + held.len()) as u64)?)?;
            made.children.iter().try_for_each(|&child| put(delta(child, node)?))?;
            return held.iter().try_for_each(|&object| put(delta(first_object + as_index(object), node)?));
        }
        if node >= first_part {
            put(flagged(types + self.made_names.len(), true)?)?;
            put(clipped(self.parts[node - first_part]))?;
            return put(0);
        }
        let object = node - first_object;
        let its_type = as_index(self.graph.node_types[object]);
        let size = self.graph.sizes.get(object);
        let own_size = clipped(size) != self.usual_sizes[its_type];
        put(flagged(1 + its_type, own_size)?)?;
        if own_size {
            put(clipped(size))?;
        }
        let targets = self.graph.targets_of(object);
        let parts = if size > MAX_SIZE { self.parts_of(object, size) } else { 0..0 };
        put(count_31("an object's references", (targets.len() + parts.len()) as u64)?)?;
        targets.iter().try_for_each(|&target| put(delta(first_object + as_index(target), node)?))?;
        parts.into_iter().try_for_each(|part| put(delta(first_part + part, node)?))
    }

    fn parts_of(&self, object: usize, size: u64) -> std::ops::Range<usize> {
        let first = self.huge.get(&as_u32(object)).copied().unwrap_or(0);
        first..first + usize::try_from(parts_of_size(size)).unwrap_or(0)
    }
}

/// `[.NET Roots]`, below it the kinds of roots that there are, below these the named ones.
fn made_up_nodes(graph: &HeapGraph) -> Vec<Made> {
    let mut made = vec![Made { name: names::TOP.to_owned(), children: Vec::new(), root: None }];
    let mut known: HashMap<&'static str, usize> = HashMap::new();
    fn child(made: &mut Vec<Made>, parent: usize, name: String) -> usize {
        made.push(Made { name, children: Vec::new(), root: None });
        let new = made.len() - 1;
        made[parent].children.push(new);
        new
    }
    for (id, root) in graph.roots() {
        let (group, below_other) = names::group(root.kind);
        let mut parent = 0;
        for name in below_other.then_some(names::OTHER_ROOTS).into_iter().chain([group]) {
            parent = *known.entry(name).or_insert_with(|| child(&mut made, parent, name.to_owned()));
        }
        if let Some(name) = root.name {
            parent = child(&mut made, parent, names::named(root.kind, name));
        }
        made[parent].root = Some(id);
    }
    made
}

/// How many parts an object above [`MAX_SIZE`] has beside itself.
fn parts_of_size(size: u64) -> u64 {
    (size - MAX_SIZE).div_ceil(MAX_SIZE)
}

/// The length of the record that nodes without description have.
fn undefined_length() -> u64 {
    2
}

fn clipped(size: u64) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// The first number of a record.
fn flagged(type_index: usize, own_size: bool) -> Result<i32, Error> {
    count_31("twice the number of types", 2 * type_index as u64 + u64::from(own_size))
}

fn delta(child: usize, node: usize) -> Result<i32, Error> {
    // Both are below 2^31, which the plan has checked.
    let delta = child as i64 - node as i64;
    i32::try_from(delta).map_err(|_| Error::TooBigForGcDump {
        what: "the number of nodes",
        value: child.max(node) as u64,
        limit: MAX_SIZE,
    })
}
