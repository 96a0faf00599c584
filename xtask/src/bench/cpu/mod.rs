//! Profiles from the kernel: what they cost, and how soon they are there. `perf record -g` is the peer.

mod itself;
mod picture;
mod profiled;
mod scale;
mod throughput;
mod work;

pub use itself::run as itself;
pub use picture::run as picture;
pub use scale::run as scale;
pub use throughput::run as throughput;
pub use work::{Rates, Work};
