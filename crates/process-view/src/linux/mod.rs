//! Linux: everything comes from /proc.

mod cgroup;
mod clock;
mod elf;
mod files;
mod memory;
mod process;
mod runtime_mark;
mod stat;
mod status;
mod task;
mod users;

pub use cgroup::container_in_cgroup;
pub use clock::{Clock, monotonic_now, own_cpu_time};
pub use elf::architecture_of_elf;
pub use memory::{Access, MappedMemory, MemoryView};
pub use process::{Process, process_ids};
pub use runtime_mark::RuntimeMark;
pub use stat::{Stat, TaskState};
pub use status::{IdMap, Status};
pub use task::{ProcessorClock, ProcessorTime, Task, scheduler_now};
pub use users::user_name;
