//! How many addresses of a recording's stacks no method covers.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use nettrace::{Item, Reader};
use runtime_events::{RuntimeEvent, decode, provider};

/// Files above this are not looked through again: it would take seconds.
const LARGEST: u64 = 512 << 20;
/// Addresses that are remembered; a trace with more is not judged.
const MOST_ADDRESSES: usize = 1 << 20;
/// Methods that are remembered.
const MOST_METHODS: usize = 1 << 20;

/// Addresses in stacks, and how many of them have no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Naming {
    /// Different addresses in stacks.
    pub addresses: usize,
    /// Those that no method covers.
    pub unnamed: usize,
}

/// Looks through a recording; none if it is too large for that, or cannot be read.
#[must_use]
pub fn naming(path: &Path) -> Option<Naming> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    if size > LARGEST {
        return None;
    }
    let mut addresses: HashSet<u64> = HashSet::new();
    let mut methods: Vec<(u64, u64)> = Vec::new();
    let mut reader = Reader::new(file);
    while let Ok(Some(item)) = reader.next() {
        match item {
            Item::Stacks(stacks) => {
                for stack in stacks.iter() {
                    addresses.extend(stack.frames().map(|frame| frame.0));
                }
            }
            Item::Event(event) if names_methods(&event) => {
                if let Ok(Some(RuntimeEvent::MethodLoad(code) | RuntimeEvent::MethodRundown(code))) =
                    decode(&event)
                {
                    methods.push((code.start.0, code.start.0.saturating_add(u64::from(code.code_bytes))));
                }
            }
            _ => {}
        }
        if addresses.len() > MOST_ADDRESSES || methods.len() > MOST_METHODS {
            return None;
        }
    }
    methods.sort_unstable();
    let is_named = |address: &u64| {
        let after = methods.partition_point(|(start, _)| start <= address);
        after.checked_sub(1).and_then(|index| methods.get(index)).is_some_and(|(_, end)| address <= end)
    };
    let unnamed = addresses.iter().filter(|address| !is_named(address)).count();
    Some(Naming { addresses: addresses.len(), unnamed })
}

/// Rows of methods have ids 143 and 144 in both providers.
fn names_methods(event: &nettrace::Event<'_>) -> bool {
    matches!(event.metadata.event.0, 143 | 144)
        && (event.metadata.provider == provider::RUNTIME || event.metadata.provider == provider::RUNDOWN)
}
