//! The tests of this crate from outside, all in one program.

mod against_heap_dump;
mod core_heaps;
mod damaged;
mod known_roots;
mod support;
mod written_core;
