//! The tests of this crate from outside, all in one program.

mod any_text;
mod code_map;
mod events;
mod live;
mod session;
mod symbol_files;
