//! A case may come from anybody: whatever stands in its file, it is refused or judged, and nothing panics.
//!
//! The bytes are tried as a file, and as the text that one unpacks to, so that the fuzzer need not find the compression.
#![no_main]

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use judgement::{KeptCase, judge};
use libfuzzer_sys::fuzz_target;

fn judged(file: &[u8]) {
    let Ok(kept) = KeptCase::from_bytes(file) else { return };
    for verdict in judge(&kept.case) {
        assert!(!verdict.finding.id.is_empty());
    }
    let again = kept.to_bytes().expect("what was read can be written");
    assert!(KeptCase::from_bytes(&again).is_ok());
}

fuzz_target!(|input: &[u8]| {
    judged(input);
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(input).expect("memory");
    judged(&packed.finish().expect("memory"));
});
