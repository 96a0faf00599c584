//! The built binary on real .NET programs, as a user would run it.

mod bad_input;
mod counters;
mod counters_screen;
mod disks;
mod dump;
mod flight_recorder;
mod gcdump;
mod help;
mod interrupting;
mod launching;
mod processes;
mod recording;
mod recording_starts;
mod running;
mod screens;
mod sessions;
mod support;
mod symbols;
mod trace_convert;
mod trace_file;
mod trace_requests;
