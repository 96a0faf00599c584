//! Async methods that run, and who awaits them.

use crate::bytes::{Damage, Reader, Writer};

/// Most links of one chain.
pub const LONGEST_CHAIN: usize = 64;

/// Why a chain is not longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChainEnd {
    /// Nobody awaits the last one.
    Nobody = 1,
    /// Something waits for the last one that is no async method.
    Unknown,
    /// There was no room for more.
    Cut,
    /// The method's own object was not found on the stack.
    Lost,
}

/// Who awaits the async method that a thread runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The runtime's id of the thread.
    pub thread: u64,
    /// Which frame of its stack resumed the method: those further in belong to it, those further out to the dispatch loop.
    pub resumed_by: u32,
    /// Types, of the running method's object first, then of what awaits it, one after the other.
    pub links: Vec<u64>,
    /// Why it is not longer.
    pub end: ChainEnd,
}

impl Chain {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u64(self.thread).u32(self.resumed_by).u8(self.end as u8);
        write_links(&self.links, body);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (thread, resumed_by) = (reader.u64("thread")?, reader.u32("frame")?);
        let code = reader.u8("end of a chain")?;
        let ends = [ChainEnd::Nobody, ChainEnd::Unknown, ChainEnd::Cut, ChainEnd::Lost];
        let end = ends.into_iter().find(|&end| end as u8 == code).ok_or(reader.damage("end of a chain"))?;
        Ok(Chain { thread, resumed_by, links: read_links(reader)?, end })
    }
}

/// Async methods of the same kind that are not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// How many.
    pub count: u32,
    /// Types, of the method's object first, then of what awaits it, one after the other.
    pub links: Vec<u64>,
}

impl Pending {
    pub(crate) fn write(&self, body: &mut Writer) {
        body.u32(self.count);
        write_links(&self.links, body);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        Ok(Pending { count: reader.u32("number of methods")?, links: read_links(reader)? })
    }
}

fn write_links(links: &[u64], body: &mut Writer) {
    let links = links.get(..LONGEST_CHAIN).unwrap_or(links);
    body.u32(u32::try_from(links.len()).unwrap_or(0));
    for link in links {
        body.u64(*link);
    }
}

fn read_links(reader: &mut Reader<'_>) -> Result<Vec<u64>, Damage> {
    let count = reader.count(8, "length of a chain")?;
    if count > LONGEST_CHAIN {
        return Err(reader.damage("length of a chain"));
    }
    (0..count).map(|_| reader.u64("type")).collect()
}
