//! Names as people write them, from names as the runtime writes them.

mod human;
mod signature;
mod type_name;

pub use human::human_name;
pub use signature::Signature;
pub use type_name::readable_type;

/// Deeper nesting than this is left as it is: no program has it, and a hostile name must not cost a deep stack.
const MAX_DEPTH: usize = 32;
