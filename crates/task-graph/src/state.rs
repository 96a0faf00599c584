//! The bits of `Task.m_stateFlags`. They are the same from .NET Core 3.1 to .NET 10.

/// It has ended: ran to its end, failed, or was cancelled.
pub const COMPLETED: u32 = 0x0160_0000;
/// Its delegate is running or has run.
pub(crate) const INVOKED: u32 = 0x0002_0000;
/// It was handed to a scheduler.
pub(crate) const STARTED: u32 = 0x0001_0000;
