//! Exceptions, from the throw to the handler.

use nettrace::{CodeAddress, Utf16};

use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{ClrInstance, MethodId};

flags! {
    /// What is special about an exception.
    ExceptionFlags: u16 {
        /// It has another one inside.
        0x1 => has_inner,
        /// It was thrown while another one was handled.
        0x2 => is_nested,
        /// It was caught and is thrown again.
        0x4 => is_rethrown,
        /// The process may be damaged.
        0x8 => is_corrupted_state,
        /// It derives from `System.Exception`.
        0x10 => is_cls_compliant,
    }
}

/// An error code of the runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HResult(pub u32);

impl std::fmt::Display for HResult {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:#010x}", self.0))
    }
}

/// Event 80: an exception is thrown; the stack says where.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExceptionThrown<'a> {
    /// Its type, with namespace.
    pub type_name: Utf16<'a>,
    /// Its message.
    pub message: Utf16<'a>,
    /// The instruction that threw it.
    pub address: CodeAddress,
    /// Its error code.
    pub hresult: HResult,
    /// What is special about it.
    pub flags: ExceptionFlags,
    /// Which runtime.
    pub clr: ClrInstance,
}

impl<'a> Layout<'a> for ExceptionThrown<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        Ok(ExceptionThrown {
            type_name: fields.take("type_name")?,
            message: fields.take("message")?,
            address: CodeAddress(fields.pointer("address")?),
            hresult: HResult(fields.take("hresult")?),
            flags: fields.take("flags")?,
            clr: fields.take("clr")?,
        })
    }
}

events! {
    /// Events 250, 252 and 254: a catch, finally or filter block begins to run.
    HandlerStart<'a> {
        /// Where its code begins.
        entry: CodeAddress,
        /// The method it stands in.
        method: MethodId,
        /// The name of that method, with type and signature.
        method_name: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Events 251, 253, 255 and 256: the last handler that began on this thread, or the whole exception, is done.
    HandlerStop {}
}
