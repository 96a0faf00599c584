//! The built binary on real .NET programs, as a user would run it.

mod support;
mod processes;
