//! Whatever a process has where its runtime's description of itself and the metadata of its modules should be,
//! reading it does not panic, and names stay bounded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runtime_memory::decode::{contract_descriptor, metadata_names};

fuzz_target!(|input: &[u8]| {
    contract_descriptor(input);
    for name in metadata_names(input) {
        assert!(name.len() <= 64 << 10);
    }
});
