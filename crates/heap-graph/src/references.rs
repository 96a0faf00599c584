//! The lists of references, changed in place: from addresses to objects, some taken out, some added.

use crate::address_index::AddressIndex;
use crate::builder::MOST;
use crate::error::Error;
use crate::ids::{NONE, as_index, as_u32};

/// The objects at these addresses, [`NONE`] for nothing; null counts as [`NULL`]. From the end, giving back
/// memory on the way, so that both lists never exist whole at one time.
pub(crate) fn targets_of(mut addresses: Vec<u64>, index: &AddressIndex<'_>) -> Vec<u32> {
    let mut targets = vec![0_u32; addresses.len()];
    let step = (addresses.len() / 16).max(1 << 16);
    while !addresses.is_empty() {
        let from = addresses.len().saturating_sub(step);
        for (targets, addresses) in targets[from..].chunks_mut(64).zip(addresses[from..].chunks(64)) {
            index.touch(addresses);
            for (target, &address) in targets.iter_mut().zip(addresses) {
                *target = match address {
                    0 => NULL,
                    address => index.exact(address).unwrap_or(NONE),
                };
            }
        }
        addresses.truncate(from);
        addresses.shrink_to_fit();
    }
    targets
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
