//! Linux: where the runtime's socket lies, and which rights this user has.

mod locate;
mod rights;

pub(crate) use locate::{Located, locate, open_inside, own_folders, sockets_in, temp_folder};
pub(crate) use rights::{Rights, is_executable_folder};
