//! Examines the patients, and holds what the checkup says against what they have.
//!
//! ```text
//! patients, pairs, the stranger --> Visit --> examine: start, count work, `drdotnet checkup --json` --> judge --> Row --> page
//! ```
//!
//! **In:** the built binary and the testbed. **Out:** a [`Row`] for each visit, and docs/clinic.md made of rows. `cargo xtask clinic`
//! and the tests judge by this same code.
//!
//! It knows what is wrong with each patient, which the checkup must never do: no crate of the product may depend on it.
#![forbid(unsafe_code)]

mod cases;
mod examine;
mod judge;
mod page;
mod row;
mod throughput;
mod unmet;
mod visits;

pub use cases::{CASES, Recorded, file_name, recorded};
pub use examine::{Throughput, Ward, examine};
pub use page::{PAGE, page, rows};
pub use row::{Answer, Row};
pub use throughput::{Counter, Share};
pub use unmet::{UNMET, Unmet, reason};
pub use visits::{Group, PAIRS, Visit, all, chosen};
