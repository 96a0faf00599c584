//! Profiles of a run, kept in one compact file: `profile.drprof`.
//!
//! ```text
//! Recording: profiles by side and process --write--> "DRPROF", version, compressed body --read--> Recording
//! ```
//!
//! **In:** a [`Recording`]: time on the CPU, waiting and ready of one or several processes, each a
//! [`Profile`](stacks::Profile) with every sample. **Out:** the same, or a [`ReadError`].
//!
//! Both ways stream: what is written is compressed as it is made, and nothing of a file is held but what it describes.
//! A file is hostile until read: every number in it is checked before it is used, every amount is bounded
//! ([`Limits`]), and a cut or changed file is an error, never half a recording.
//!
//! The body is a row of unsigned numbers of variable length (LEB128) and of texts, in this order:
//!
//! ```text
//! recording  version of the tool, name, start, duration, rate, processes (id, name), number of profiles
//! profile    side, weight, title, start, duration, process, 1 if frames and stacks are those of the profile before
//! frames     kind, name, module, file, line
//! stacks     how far before the node its caller is (0: it has none), frame
//! threads    id, name
//! samples    time, weight, thread, stack: each as the difference to the sample before
//! end        a mark, and the checksum of the compressed stream
//! ```
//!
//! A text is the number of an earlier one, or 0, its length and its bytes.
//!
//! ```
//! let recording = stored_profiles::Recording { name: "Shop".to_owned(), ..Default::default() };
//! let mut file = Vec::new();
//! stored_profiles::write(&mut file, &recording).unwrap();
//! assert_eq!(stored_profiles::read(&file[..]).unwrap(), recording);
//! ```
#![forbid(unsafe_code)]

mod error;
mod limits;
mod read;
mod recording;
mod text;
mod write;

pub use error::ReadError;
pub use limits::Limits;
pub use read::{is_stored_profile, read, read_within};
pub use recording::{ProcessName, Recording, Side};
pub use write::write;

/// What the file is called in the folder of a session.
pub const FILE_NAME: &str = "profile.drprof";

/// What a file begins with. The control character keeps a terminal from showing the rest.
const MAGIC: &[u8; 7] = b"DRPROF\x1a";
/// The version of the form, behind it.
const VERSION: u8 = 1;
/// What stands behind the last sample.
const END: u64 = 0x0065_6e64;
