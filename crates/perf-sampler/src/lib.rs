//! Stacks of running and waiting threads, from the kernel.
//!
//! ```text
//!             plan: what is granted?            a ring per CPU             by time, of the targets, once each
//! Options --> probe, step down, explain --> perf_event_open, mmap --> merge --> filter --> pair --> Record
//!                      |
//!                      +--> Granted: what is missing, why, the command that adds it
//! ```
//!
//! **In:** processes and a rate. **Out:** [`Record`]s in the order of time, on the clock of the runtime's events:
//! samples with user and kernel frames, registers and a copy of the stack; waits with the stack at their begin; what was
//! mapped, named, begun, ended and lost. Views into the ring: nothing is copied but records that run over its end.
//!
//! With rights over the machine one event per CPU watches all processes, which costs the target next to nothing; a
//! little program in the kernel keeps others from being sampled, or they are dropped when read. Without, events sit in the target's threads and show user code only. It takes
//! the best it is granted and says which ([`Granted`]); [`preflight`] says so without starting.
//!
//! **Not here:** unwinding, names, files. It never stops the target, writes nothing into it and leaves nothing behind.
//!
//! ```no_run
//! use std::time::Duration;
//! use perf_sampler::{Options, Record, Sampler, Scope, Wake};
//!
//! let mut sampler = Sampler::start(&Options::new(Scope::process(model::ProcessId(4242))))?;
//! while sampler.wait(Duration::from_secs(1))? == Wake::Data {
//!     sampler.read(&mut |record| {
//!         if let Record::OnCpu(sample) = record {
//!             println!("{} at {:#x}", sample.thread.id, sample.stack.ip);
//!         }
//!     });
//! }
//! let summary = sampler.finish(&mut |_| {});
//! println!("{} samples", summary.counts.on_cpu);
//! # Ok::<(), perf_sampler::SamplerError>(())
//! ```
#![deny(unsafe_code)]

mod arch;
mod attr;
mod error;
mod events;
mod facts;
mod granted;
mod intake;
mod options;
mod owners;
mod parse;
mod plan;
mod preference;
mod record;
mod refusal;
mod ring;
mod sampler;
mod sieve;
mod switch_rate;
mod sys;
mod waits;

pub use arch::Registers;
pub use error::SamplerError;
pub use granted::{Cause, Granted, KernelSide, Missing, OffCpu, Part, Remedy};
pub use options::{
    Children, Collect, KernelFrames, Options, Placement, PlacementWish, Scope, Trigger, WaitStacks,
};
pub use preference::{Preferred, prefer_this_thread};
pub use record::{
    Addresses, FileKey, Leaving, Mapped, OpenWait, Record, Sample, Seen, StackView, SwitchId, SwitchOut,
    Thread, Timestamp, Wait,
};
pub use sampler::{Counts, Sampler, Summary, Wake, preflight};

/// Reads one record of a ring, for fuzzing. Whether it was one.
#[doc(hidden)]
pub fn parse_any(bytes: &[u8]) -> bool {
    let _ = parse::parse(bytes, parse::Touched::Told);
    let Some((_, body)) = parse::parse(bytes, parse::Touched::None) else { return false };
    if let parse::Body::Sample(sample) = body {
        for copy in [parse::StackCopy::Copied, parse::StackCopy::None] {
            if let Some(stack) = sample.stack(copy, 127) {
                assert!(stack.user.len() + stack.kernel.len() + stack.memory.len() / 8 <= bytes.len() / 8);
            }
        }
    }
    true
}
