//! The tests of this crate from outside, all in one program.

#[path = "../../../native-symbols/tests/suite/debug_elf/mod.rs"]
mod debug_elf;
mod loopback;
mod names;
mod servers;
