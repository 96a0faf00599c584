//! The tests of this crate from outside, all in one program.

mod debug_elf;
mod debug_folders;
mod hostile;
mod live;
