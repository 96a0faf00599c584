//! The built binary on real .NET programs, as a user would run it.

mod bad_input;
mod disks;
mod dump;
mod gcdump;
mod help;
mod interrupting;
mod launching;
mod processes;
mod running;
mod screens;
mod sessions;
mod support;
