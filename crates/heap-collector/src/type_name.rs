//! Names of types as people write them.

pub use heap_graph::readable;
