//! The lists of references, changed in place: from addresses to objects, some taken out, some added.

use crate::address_index::AddressIndex;
use crate::builder::MOST;
use crate::error::Error;
use crate::ids::{NONE, as_index, as_u32};

/// How many references are looked up together: a part of them all, and as many as fit the caches of most processors.
const SMALLEST_BATCH: usize = 1 << 16;
const BATCH: usize = 1 << 20;
const BATCH_PART: usize = 16;
/// Addresses are brought near each other in groups of this many bytes...
const GROUP_BITS: u32 = 18;
/// ...of which there are so many; farther groups share.
const GROUPS: usize = 1 << 12;

/// The objects at these addresses, [`NONE`] for nothing; null counts as [`NULL`]. From the end, giving back
/// memory on the way, so that both lists never exist whole at one time.
///
/// References lead anywhere, and a look-up that misses every cache takes ten times as long as one that does not. So
/// each batch is ordered by where it leads to before it is looked up.
pub(crate) fn targets_of(mut addresses: Vec<u64>, index: &AddressIndex<'_>) -> Vec<u32> {
    let mut targets = vec![0_u32; addresses.len()];
    let give_back = (addresses.len() / 16).max(SMALLEST_BATCH);
    let most = (addresses.len() / BATCH_PART).clamp(SMALLEST_BATCH, BATCH);
    let mut batch = Batch::default();
    while !addresses.is_empty() {
        let from = addresses.len().saturating_sub(most);
        batch.look_up(&addresses[from..], &mut targets[from..addresses.len()], index);
        addresses.truncate(from);
        if addresses.capacity() - from >= give_back {
            addresses.shrink_to_fit();
        }
    }
    targets
}

/// References on their way to be looked up, ordered by where they lead to.
#[derive(Default)]
struct Batch {
    starts: Vec<u32>,
    /// Where a reference leads to, and its place in the batch.
    ordered: Vec<(u64, u32)>,
}

impl Batch {
    fn look_up(&mut self, addresses: &[u64], targets: &mut [u32], index: &AddressIndex<'_>) {
        self.starts.clear();
        self.starts.resize(GROUPS + 1, 0);
        addresses.iter().for_each(|&address| self.starts[group(address) + 1] += 1);
        for at in 1..=GROUPS {
            self.starts[at] += self.starts[at - 1];
        }
        self.ordered.clear();
        self.ordered.resize(addresses.len(), (0, 0));
        for (&address, place) in addresses.iter().zip(0_u32..) {
            let start = &mut self.starts[group(address)];
            self.ordered[as_index(*start)] = (address, place);
            *start += 1;
        }
        for near in self.ordered.chunks(64) {
            index.touch(near.iter().map(|&(address, _)| address));
            for &(address, place) in near {
                targets[as_index(place)] = match address {
                    0 => NULL,
                    address => index.exact(address).unwrap_or(NONE),
                };
            }
        }
    }
}

#[inline]
fn group(address: u64) -> usize {
    let [_, _, low, high, ..] = (address >> (GROUP_BITS - 16)).to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) % GROUPS
}

/// A null reference, on its way out.
pub(crate) const NULL: u32 = NONE - 1;

/// Takes out references to nothing, in place. Gives the number of those that were no null.
pub(crate) fn without_nothing(starts: &mut [u32], targets: &mut Vec<u32>, fields: &mut Vec<u32>) -> u64 {
    if !targets.iter().any(|&target| target >= NULL) {
        return 0;
    }
    let (mut kept, mut from, mut dangling) = (0, 0, 0);
    for end in starts.iter_mut().skip(1) {
        for edge in from..as_index(*end) {
            if targets[edge] < NULL {
                targets[kept] = targets[edge];
                if let Some(&field) = fields.get(edge) {
                    fields[kept] = field;
                }
                kept += 1;
            } else {
                dangling += u64::from(targets[edge] == NONE);
            }
        }
        from = as_index(*end);
        *end = as_u32(kept);
    }
    targets.truncate(kept);
    fields.truncate(kept);
    dangling
}

/// Adds references to objects that already have theirs, in place, from the end.
pub(crate) fn with_more(
    starts: &mut [u32],
    targets: &mut Vec<u32>,
    fields: &mut Vec<u32>,
    mut added: Vec<(u32, u32)>,
) -> Result<(), Error> {
    let total = targets.len() + added.len();
    if total >= as_index(MOST) {
        return Err(Error::TooManyReferences { limit: MOST });
    }
    added.sort_unstable();
    let mut read = targets.len();
    let mut write = total;
    targets.resize(total, NONE);
    if !fields.is_empty() {
        fields.resize(total, NONE);
    }
    for node in (0..starts.len() - 1).rev() {
        if added.is_empty() {
            break;
        }
        starts[node + 1] = as_u32(write);
        while let Some(&(from, to)) = added.last().filter(|&&(from, _)| as_index(from) == node) {
            debug_assert_eq!(as_index(from), node);
            write -= 1;
            targets[write] = to;
            if let Some(field) = fields.get_mut(write) {
                *field = NONE;
            }
            added.pop();
        }
        let first = as_index(starts[node]);
        targets.copy_within(first..read, write - (read - first));
        if !fields.is_empty() {
            fields.copy_within(first..read, write - (read - first));
        }
        write -= read - first;
        read = first;
    }
    Ok(())
}
