//! From an address to the object there.
//!
//! ```text
//!  address 0x7f10_0000_2a48
//!     |  >> 12
//!  page 0x7f1000002 --hash--> objects 5120..5207 --guess, search--> object
//! ```
//! The runtime tells neighbours on the heap one after the other, so a look-up touches one slot of the page table
//! and one or two cache lines of addresses. Regions may come in any order; objects that come in any order cost
//! a sorted list.

use std::hint::black_box;
use std::ops::Range;

use crate::graph::HeapGraph;
use crate::ids::{Address, NodeId, as_index, as_u32};

const PAGE_BITS: u32 = 12;

/// Finds objects by address. Takes 40 to 64 bytes per page of 4 KB that has objects, and 4 per object when the
/// objects of a page did not come together.
#[derive(Debug)]
pub struct AddressIndex<'a> {
    addresses: &'a [u64],
    /// Objects by address; empty when the objects of each page come together and ascending.
    order: Vec<u32>,
    /// Open addressing.
    slots: Vec<Slot>,
    /// The same, by address.
    pages: Vec<Slot>,
    repeated: u64,
}

/// A page that has objects.
#[derive(Debug, Clone, Copy)]
struct Slot {
    page: u64,
    /// The position of its first object in `order`.
    first: u32,
    /// Its objects; 0 for an empty slot.
    count: u32,
}

/// How many neighbours of the guess are looked at before the search is by halves.
const NEIGHBOURS: usize = 4;

impl<'a> AddressIndex<'a> {
    /// An index over the objects of a graph.
    pub fn new(graph: &'a HeapGraph) -> AddressIndex<'a> {
        AddressIndex::of(&graph.addresses)
    }

    pub(crate) fn of(addresses: &'a [u64]) -> AddressIndex<'a> {
        let (order, slots, pages) = (Vec::new(), Vec::new(), Vec::new());
        let mut index = AddressIndex { addresses, order, slots, pages, repeated: 0 };
        if !index.fill() {
            index.order = (0..as_u32(addresses.len())).collect();
            // Stable: it uses the ascending runs that are there, and the first of two equals stays first.
            index.order.sort_by_key(|&node| addresses[as_index(node)]);
            index.fill();
        }
        index
    }

    /// Finds the pages; `false` when the objects of one do not come together and ascending.
    fn fill(&mut self) -> bool {
        self.repeated = 0;
        self.pages.clear();
        let mut position = 0;
        while position < self.addresses.len() {
            let (first, mut last) = (as_u32(position), self.at(position));
            let (page, mut count) = (page_of(last), 1);
            position += 1;
            while position < self.addresses.len() && page_of(self.at(position)) == page {
                let next = self.at(position);
                if next < last {
                    return false;
                }
                self.repeated += u64::from(next == last);
                last = next;
                position += 1;
                count += 1;
            }
            self.pages.push(Slot { page, first, count });
        }
        self.pages.shrink_to_fit();
        self.pages.sort_by_key(|slot| slot.page);
        if !self.pages.is_sorted_by(|a, b| a.page < b.page) {
            return false;
        }
        let empty = Slot { page: 0, first: 0, count: 0 };
        self.slots = vec![empty; (self.pages.len() * 3 / 2 + 1).next_power_of_two()];
        for at in 0..self.pages.len() {
            let slot = self.slot(self.pages[at].page);
            self.slots[slot] = self.pages[at];
        }
        true
    }

    /// The object that starts at an address.
    pub fn find(&self, address: Address) -> Option<NodeId> {
        self.exact(address.0).map(NodeId)
    }

    pub(crate) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Reads what looking up some addresses will read first, so that [`exact`](AddressIndex::exact) finds it
    /// near: nothing is decided here, and the processor has many of the scattered reads under way at once.
    pub(crate) fn touch(&self, addresses: impl Iterator<Item = u64>) {
        let mask = self.slots.len() - 1;
        let mut touched = 0;
        for address in addresses {
            let Slot { first, count, .. } = self.slots[home(page_of(address)) & mask];
            let guess = as_index(first) + ((low_bits(address) * as_index(count)) >> PAGE_BITS);
            let node = self.order.get(guess).copied().map_or(guess, as_index);
            touched ^= self.addresses.get(node).copied().unwrap_or(0);
        }
        black_box(touched);
    }

    /// Guesses the place within the page by the offset in it, as if objects were of one size, and looks around.
    #[inline]
    pub(crate) fn exact(&self, address: u64) -> Option<u32> {
        let Slot { first, count, .. } = self.slots[self.slot(page_of(address))];
        if count == 0 {
            return None;
        }
        let (first, count) = (as_index(first), as_index(count));
        let guess = first + ((low_bits(address) * count) >> PAGE_BITS);
        let near = guess.saturating_sub(NEIGHBOURS).max(first)..(guess + NEIGHBOURS).min(first + count);
        let inside = self.at(near.start) < address && self.at(near.end - 1) >= address;
        let range = if inside { near } else { first..first + count };
        let found = self.lower_bound(range, address);
        (found < first + count && self.at(found) == address).then(|| self.node(found))
    }

    /// The object that an address lies within, given the objects' sizes.
    pub(crate) fn containing(&self, address: u64, size_of: impl Fn(usize) -> u64) -> Option<u32> {
        let upto = self.pages.partition_point(|slot| slot.page <= page_of(address));
        // The last object that starts at or before the address: in its page, or the last of the page before.
        let node = self.pages[..upto].iter().rev().take(2).find_map(|slot| {
            let first = as_index(slot.first);
            let after = self.lower_bound(first..first + as_index(slot.count), address.saturating_add(1));
            (after > first).then(|| as_index(self.node(after - 1)))
        })?;
        (address - self.addresses[node] < size_of(node)).then(|| as_u32(node))
    }

    /// The first position of a range whose address is not below `address`.
    #[inline]
    fn lower_bound(&self, range: Range<usize>, address: u64) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            if self.at(middle) < address {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    #[inline]
    fn node(&self, position: usize) -> u32 {
        self.order.get(position).copied().unwrap_or_else(|| as_u32(position))
    }

    #[inline]
    fn at(&self, position: usize) -> u64 {
        self.addresses[as_index(self.node(position))]
    }

    /// The slot that holds a page, or the empty one where it belongs.
    #[inline]
    fn slot(&self, page: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = home(page) & mask;
        while self.slots[slot].count != 0 && self.slots[slot].page != page {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Where the search for a page starts, in a table of any size.
fn home(page: u64) -> usize {
    (page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

fn page_of(address: u64) -> u64 {
    address >> PAGE_BITS
}

/// The offset within the page.
fn low_bits(address: u64) -> usize {
    let [low, high, ..] = address.to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) & ((1 << PAGE_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_any_order_of_arrival() {
        let addresses = [0x5000, 0x5018, 0x5ff8, 0x1000, 0x1018, 0x9_0000_0000, 0x1018];
        let index = AddressIndex::of(&addresses);
        for (node, &address) in addresses.iter().enumerate().take(6) {
            assert_eq!(index.exact(address), Some(as_u32(node)), "{address:#x}");
        }
        for address in [0, 1, 0x4fff, 0x5001, 0x6000, 0x1019, u64::MAX] {
            assert_eq!(index.exact(address), None, "{address:#x}");
        }
        assert_eq!(index.repeated(), 1);
    }

    #[test]
    fn an_address_within_an_object_finds_it() {
        let addresses = [0x1000, 0x1018];
        let index = AddressIndex::of(&addresses);
        let size = |_| 24;
        assert_eq!(index.containing(0x1017, size), Some(0));
        assert_eq!(index.containing(0x1018, size), Some(1));
        assert_eq!(index.containing(0x1030, size), None);
        assert_eq!(index.containing(0xfff, size), None);
        assert_eq!(AddressIndex::of(&[]).containing(5, size), None);
    }

    #[test]
    fn many_objects_at_one_address_do_not_hide_the_next() {
        let mut addresses = vec![0x1000_u64; 10_000];
        addresses.push(0x1008);
        let index = AddressIndex::of(&addresses);
        assert_eq!(index.exact(0x1000), Some(0));
        assert_eq!(index.exact(0x1008), Some(10_000));
        assert_eq!(index.repeated(), 9_999);
    }
}
