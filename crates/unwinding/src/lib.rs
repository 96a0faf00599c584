//! From registers and a copy of the stack to a complete call stack.
//!
//! ```text
//! registers + first bytes of the stack --> Unwinder --> addresses, innermost first, and how far it got
//!      native code by its tables (eh_frame), everything else by frame pointers
//! the kernel's own chain continues where the copy of the stack ends
//!
//! after the run, when the methods' code is known: leaf::skipped_caller puts back the frame that frame pointers miss
//! ```
//!
//! The kernel walks frame pointers, and glibc breaks them: its system calls use the register for other things. So native
//! code is unwound from its own tables, with the registers and the stack as they were at the sample.
//!
//! It names nothing and reads no memory of the target; stack and files are hostile, and no bytes make it panic.
#![forbid(unsafe_code)]

mod blocked;
pub mod leaf;
mod methods;
mod modules;
mod starts;
mod walk;

pub use blocked::Code;
pub use methods::Methods;
pub use modules::Modules;
pub use walk::{IF_REPLACED, Reached, Registers, Snapshot, Unwinder};
