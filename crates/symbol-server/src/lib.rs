//! Debug files of native libraries, from servers.
//!
//! ```text
//! Wanted: build id ----> Server: addresses ----> Fetcher: one GET each ----> Cache: checked, then renamed into place
//!                        symbol server (SSQP)    limits on time, size,       <build id>.debug, private
//!                        debuginfod              redirects
//! ```
//!
//! **In:** the build id of a library, and servers. **Out:** a file in the cache that `native-symbols` reads, or for each
//! address why there is none. A file is only kept when it has the build id that was asked for, and names.
//!
//! Servers are not trusted: what they send is bounded in size and time, and looked at before it is kept. It reads no
//! process and names nothing.
//!
//! ```no_run
//! use symbol_server::{Cache, Fetcher, Limits, Proxies, Wanted, chosen_servers};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let servers = chosen_servers(&[], |name| std::env::var(name).ok())?;
//! let mut fetcher = Fetcher::new(servers, Limits::default(), Proxies::FromEnvironment)?;
//! let wanted = Wanted { name: "libcoreclr.so".into(), build_id: native_symbols::BuildId(vec![0x18; 20]) };
//! let cache = Cache::create("/var/cache/symbols".into())?;
//! let outcome = fetcher.fetch(&wanted, &cache, &mut |_bytes| std::ops::ControlFlow::Continue(()))?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod cache;
mod error;
mod fetcher;
mod server;

pub use cache::{Cache, Contents};
pub use error::{FetchError, Problem};
pub use fetcher::{Fetched, Fetcher, Limits, Outcome, Proxies, Try};
pub use server::{PUBLIC_SERVER, Server, Wanted, chosen_servers};
