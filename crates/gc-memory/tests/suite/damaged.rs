//! Whatever lies in memory, reading it ends.

use gc_memory::decode::structures;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_memory_does_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..4096), small in any::<bool>()) {
        // Many small numbers, as real memory has.
        if small {
            bytes.iter_mut().enumerate().filter(|(index, _)| index % 8 > 1).for_each(|(_, byte)| *byte = 0);
        }
        let _ = structures(&bytes);
    }

    #[test]
    fn tables_that_look_right_and_are_not_do_no_harm(words in proptest::collection::vec(0u64..512, 64..256)) {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| (word * 8).to_le_bytes()).collect();
        // The beginning of the collector's table of its variables.
        bytes[..24].copy_from_slice(&[5, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        let _ = structures(&bytes);
    }
}
