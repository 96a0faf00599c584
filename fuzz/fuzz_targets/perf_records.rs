//! Whatever stands in a ring, reading a record of it does not panic, and no part is longer than the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    perf_sampler::parse_any(bytes);
    // With a size that fits, which random bytes hardly ever have.
    let mut record = bytes.to_vec();
    if let (Ok(size), Some(field)) = (u16::try_from(bytes.len()), record.get_mut(6..8)) {
        field.copy_from_slice(&size.to_ne_bytes());
        perf_sampler::parse_any(&record);
    }
});
