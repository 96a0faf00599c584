//! Call stacks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the code of a frame comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameKind {
    /// .NET code.
    Managed,
    /// The runtime itself.
    Runtime,
    /// Another native library.
    Native,
    /// The kernel.
    Kernel,
    /// A stub made by the runtime.
    Stub,
}

/// One frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// Where its code comes from.
    pub kind: FrameKind,
    /// Full name of the method or function.
    pub name: String,
    /// Assembly or library, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Source file, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line in `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// One call stack and its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// Weight, in the unit of who keeps it.
    pub weight: u64,
    /// The threads it was seen on, by name or id.
    #[serde(default)]
    pub threads: Vec<String>,
    /// The frames, innermost first.
    pub frames: Vec<Frame>,
}

/// What the names of async methods end with.
const ASYNC: &str = " [async]";

/// A method's name without the mark of async ones.
#[must_use]
pub fn method_name(name: &str) -> &str {
    name.trim_end_matches(ASYNC)
}

/// Whether a name is that of an async method.
#[must_use]
pub fn is_async(name: &str) -> bool {
    name.ends_with(ASYNC)
}
