//! The graph as the file has it: made-up nodes among the objects, indices as written.

use std::io::Read;

use super::objects::Objects;
use super::{GRAPH_TYPE, UNDEFINED, compressed, tag};
use crate::error::Error;
use crate::ids::{as_index, as_u32};

/// The graph of a file.
#[derive(Debug, Default)]
pub(super) struct RawGraph {
    /// The node that holds everything.
    pub(super) root: Option<u32>,
    pub(super) types: Vec<RawType>,
    pub(super) node_types: Vec<u32>,
    pub(super) sizes: Vec<u32>,
    pub(super) starts: Vec<u32>,
    pub(super) targets: Vec<u32>,
    pub(super) addresses: Vec<u64>,
    pub(super) is_64_bit: bool,
}

#[derive(Debug)]
pub(super) struct RawType {
    pub(super) name: String,
    pub(super) size: i32,
    pub(super) module: Option<String>,
}

/// Memory that is asked for before the bytes that fill it are there.
const AHEAD: usize = 1 << 16;

impl RawGraph {
    pub(super) fn read(objects: &mut Objects<impl Read>) -> Result<RawGraph, Error> {
        let offset = objects.source.offset();
        let unsupported = |what: String| Err(Error::Unsupported { offset, what });
        match objects.begin("the graph")? {
            None => return unsupported("a file without a graph".to_owned()),
            Some(found) if found.name != GRAPH_TYPE => {
                return unsupported(format!("a graph of type {:?}", shortened(&found.name)));
            }
            // Version 1 as the oldest reader: type names are to be looked up in native symbol files.
            Some(found) if found.min_reader > 0 => return unsupported("a dump of .NET Native".to_owned()),
            Some(_) => {}
        }
        let mut raw = RawGraph::default();
        let source = &mut objects.source;
        source.i64("the total size")?;
        let root = source.i32("the index of the root node")?;
        for index in 0..source.count("the number of types")? {
            let name = source.string("a type's name")?.unwrap_or_else(|| format!("Type#{index}"));
            let size = source.i32("a type's size")?;
            let module = source.string("a type's module")?;
            raw.types.push(RawType { name, size, module });
        }
        let count = source.count("the number of nodes")?;
        let mut places = Vec::with_capacity(count.min(AHEAD));
        for _ in 0..count {
            places.push(source.u32("a node's place")?);
        }
        let length = source.count("the length of the node records")?;
        let offset = source.offset();
        let records = source.bytes(length, "the node records")?;
        raw.root = u32::try_from(root).ok().filter(|&root| as_index(root) < count);
        raw.decode(places, &Records { bytes: &records, offset })?;
        drop(records);
        let offset = source.offset();
        let addresses = source.count("the number of addresses")?;
        if addresses != count {
            let (field, value) = ("the number of addresses", i64::from(as_u32(addresses)));
            return Err(Error::BadField { offset, field, value, expected: "the number of nodes" });
        }
        raw.addresses.reserve(count.min(AHEAD));
        for _ in 0..count {
            raw.addresses.push(source.u64("a node's address")?);
        }
        if objects.tagged(tag::BYTE, "the address width")? {
            raw.is_64_bit = objects.source.u8("the address width")? != 0;
        }
        objects.end("the graph")?;
        Ok(raw)
    }

    /// Decodes the record of every node.
    fn decode(&mut self, places: Vec<u32>, records: &Records<'_>) -> Result<(), Error> {
        let count = places.len();
        // Records do not share children, so there are no more references than bytes. Without this bound a small
        // file could name one long record a million times.
        let mut left = records.bytes.len();
        self.starts.push(0);
        for (node, place) in places.into_iter().enumerate() {
            let place = as_index(place);
            let mut at = place;
            let type_and_flag = records.int(&mut at, "a node's type")?;
            let its_type = type_and_flag >> 1;
            let known = usize::try_from(its_type).ok().and_then(|index| self.types.get(index));
            let usual =
                known.ok_or_else(|| records.bad(place, "a node's type", its_type, "a type's index"))?;
            let size = match type_and_flag & 1 {
                0 => usual.size.max(0),
                _ => records.int(&mut at, "a node's size")?,
            };
            let size = u32::try_from(size)
                .map_err(|_| records.bad(place, "a node's size", size, "a size of at least 0"))?;
            let children = records.int(&mut at, "a node's number of references")?;
            let taken = usize::try_from(children).ok().filter(|&children| children <= left);
            left -= taken.ok_or_else(|| {
                records.bad(place, "a node's number of references", children, "no more than there are bytes")
            })?;
            for _ in 0..children {
                let delta = records.int(&mut at, "a reference")?;
                let child = (node as i64) + i64::from(delta);
                let target = usize::try_from(child).ok().filter(|&child| child < count);
                let target = target.ok_or(Error::BadField {
                    offset: records.offset + at as u64,
                    field: "a reference",
                    value: child,
                    expected: "a node's index",
                })?;
                self.targets.push(as_u32(target));
            }
            self.node_types.push(its_type.unsigned_abs());
            self.sizes.push(size);
            self.starts.push(as_u32(self.targets.len()));
        }
        for list in [&mut self.node_types, &mut self.sizes, &mut self.starts, &mut self.targets] {
            list.shrink_to_fit();
        }
        Ok(())
    }

    pub(super) fn type_name(&self, node: u32) -> &str {
        &self.types[as_index(self.node_types[as_index(node)])].name
    }

    pub(super) fn children(&self, node: u32) -> &[u32] {
        let node = as_index(node);
        &self.targets[as_index(self.starts[node])..as_index(self.starts[node + 1])]
    }

    pub(super) fn is_undefined_type(&self, index: usize) -> bool {
        index == 0 && self.types[index].name == UNDEFINED
    }
}

/// The records of all nodes, in memory.
struct Records<'a> {
    bytes: &'a [u8],
    /// Where they start in the file.
    offset: u64,
}

impl Records<'_> {
    #[inline]
    fn int(&self, at: &mut usize, field: &'static str) -> Result<i32, Error> {
        let rest = self.bytes.get(*at..).unwrap_or_default();
        let Some((value, length)) = compressed::decode(rest) else {
            return Err(self.bad(*at, field, rest.first().map_or(-1, |&byte| byte.into()), "a number"));
        };
        *at += length;
        Ok(value)
    }

    #[cold]
    fn bad(&self, place: usize, field: &'static str, value: i32, expected: &'static str) -> Error {
        Error::BadField { offset: self.offset + place as u64, field, value: value.into(), expected }
    }
}

/// A name out of a file, short enough for a message.
pub(super) fn shortened(name: &str) -> String {
    name.chars().take(80).collect()
}
