//! Whatever bytes a stored profile holds, reading it does not panic, and what was read is written and read again as the
//! same. The input is taken as a whole file, and as the unpacked body of one, which few inputs are by chance.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;
use stored_profiles::{Limits, Recording, read_within, write};

/// Small ones, so that an input cannot ask for more memory than there is.
const LIMITS: Limits = Limits {
    profiles: 100,
    processes: 100,
    frames: 10_000,
    nodes: 100_000,
    threads: 10_000,
    samples: 100_000,
    text_bytes: 1 << 20,
};

fuzz_target!(|input: &[u8]| {
    if let Ok(recording) = read_within(input, LIMITS) {
        check(&recording);
    }
    let mut file = b"DRPROF\x1a\x01".to_vec();
    let mut packed = flate2::write::ZlibEncoder::new(&mut file, flate2::Compression::fast());
    if packed.write_all(input).is_err() || packed.finish().is_err() {
        return;
    }
    if let Ok(recording) = read_within(&file[..], LIMITS) {
        check(&recording);
    }
});

fn check(recording: &Recording) {
    let mut written = Vec::new();
    write(&mut written, recording).expect("what was read can be written");
    let again = read_within(&written[..], LIMITS).expect("what was written can be read");
    assert_eq!(&again, recording);
}
