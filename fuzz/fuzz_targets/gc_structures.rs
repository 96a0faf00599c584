//! Whatever a process or a core dump has where the garbage collector's structures should be, reading it comes to an end
//! and does not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = gc_memory::decode::structures(input);
});
