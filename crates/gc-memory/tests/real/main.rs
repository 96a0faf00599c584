//! Real processes and their dumps, read from outside.

mod against_heap_dump;
mod core_heaps;
mod known_roots;
mod support;
