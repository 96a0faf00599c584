//! The formats seen from outside: accepted output, and what holds for any input.

mod accepted;
mod properties;
mod samples;
