//! Methods: where their code is, what they are called, which instruction stands for which of their IL.

use nettrace::{CodeAddress, Utf16};

use crate::error::FieldError;
use crate::layout::{Fields, Layout};
use crate::{ClrInstance, MetadataToken, MethodId, ModuleId, ReJitId};

flags! {
    /// What kind of method, and how it was compiled.
    MethodFlags: u32 {
        /// It was made at run time.
        0x1 => is_dynamic,
        /// It or its type has type arguments.
        0x2 => is_generic,
        /// Its code serves several type arguments.
        0x4 => has_shared_code,
        /// It was compiled in this process; if not, its code comes from a file.
        0x8 => is_jitted,
        /// It is a helper of the runtime.
        0x10 => is_helper,
        /// A profiler did not want its code from a file.
        0x20 => was_rejected_by_profiler,
        /// Its code from a file could not be used.
        0x40 => was_rejected,
    }
}

impl MethodFlags {
    /// How it was compiled; not told of code from a file.
    #[must_use]
    pub fn tier(self) -> Tier {
        Tier::from((self.0 >> 7) & 7)
    }

    /// Which part of the method's code this is: 0 the hot one, 1 the cold one.
    #[must_use]
    pub fn extent(self) -> u32 {
        self.0 >> 28
    }
}

codes! {
    /// How a method was compiled.
    Tier: u32 {
        /// Not told.
        0 => Unknown,
        /// With as little effort as possible, as for a debugger.
        1 => MinimalOptimization,
        /// Optimized, without tiers.
        2 => Optimized,
        /// Tier 0: quickly.
        3 => Quick,
        /// Tier 1: optimized after many calls.
        4 => Tier1,
        /// Optimized while it ran, for its loop.
        5 => Tier1OnStackReplacement,
        /// Tier 0 with counters.
        6 => QuickInstrumented,
        /// Tier 1 with counters.
        7 => Tier1Instrumented,
    }
}

events! {
    /// Events 143 and 144, of the runtime and of the rundown: a method has code, or had it.
    Method<'a> {
        /// The method.
        id: MethodId,
        /// Its module.
        module: ModuleId,
        /// Where its code begins.
        start: CodeAddress,
        /// How long its code is.
        code_bytes: u32,
        /// Its row in the module's metadata.
        token: MetadataToken,
        /// What kind of method it is.
        flags: MethodFlags,
        /// Its type, with namespace.
        namespace: Utf16<'a>,
        /// Its name.
        name: Utf16<'a>,
        /// Its signature.
        signature: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance [since 1],
        /// Which replacement of the code by a profiler.
        rejit: ReJitId [since 2],
    }

    /// Event 145: a method is being compiled.
    JittingStarted<'a> {
        /// The method.
        id: MethodId,
        /// Its module.
        module: ModuleId,
        /// Its row in the module's metadata.
        token: MetadataToken,
        /// How long its IL is.
        il_bytes: u32,
        /// Its type, with namespace.
        namespace: Utf16<'a>,
        /// Its name.
        name: Utf16<'a>,
        /// Its signature.
        signature: Utf16<'a>,
        /// Which runtime.
        clr: ClrInstance [since 1],
    }

    /// Event 146 (.NET 5): how much memory the code of a method took.
    JitMemory {
        /// The method.
        id: MethodId,
        /// Its module.
        module: ModuleId,
        /// Code that is run often.
        hot_bytes: u64,
        /// Constants.
        constant_bytes: u64,
        /// All in all.
        allocated_bytes: u64,
        /// How it was allocated.
        allocation_flags: u32,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 159: code from a file is called for the first time.
    ReadyToRunEntryPoint<'a> {
        /// The method.
        id: MethodId,
        /// Its type, with namespace.
        namespace: Utf16<'a>,
        /// Its name.
        name: Utf16<'a>,
        /// Its signature.
        signature: Utf16<'a>,
        /// Where its code begins.
        start: CodeAddress,
        /// Which runtime.
        clr: ClrInstance,
    }

    /// Event 160 (.NET 5): code from a file is looked for.
    ReadyToRunLookup {
        /// The method.
        id: MethodId,
        /// Which runtime.
        clr: ClrInstance,
    }
}

/// A place in the IL of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IlOffset {
    /// So many bytes from its start.
    Bytes(u32),
    /// Code that stands for no IL.
    NoMapping,
    /// Code before the IL.
    Prolog,
    /// Code after the IL.
    Epilog,
}

impl From<u32> for IlOffset {
    fn from(value: u32) -> Self {
        match value.cast_signed() {
            -1 => IlOffset::NoMapping,
            -2 => IlOffset::Prolog,
            -3 => IlOffset::Epilog,
            _ => IlOffset::Bytes(value),
        }
    }
}

/// Event 190, and 149 and 150 of the rundown: which instruction of a method stands for which of its IL.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct IlToNativeMap<'a> {
    /// The method.
    pub method: MethodId,
    /// Which replacement of the code by a profiler.
    pub rejit: ReJitId,
    /// Which part of the code.
    pub extent: u8,
    /// Which runtime.
    pub clr: ClrInstance,
    /// Which IL, if it was edited while it ran (.NET 8).
    pub il_version: Option<u64>,
    il: &'a [u8],
    native: &'a [u8],
}

impl<'a> IlToNativeMap<'a> {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.il.len() / 4
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.il.is_empty()
    }

    /// Places in the IL, each with its distance in bytes from the start of the code, in the order of the runtime.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (IlOffset, u32)> + use<'a> {
        let numbers = |bytes: &'a [u8]| bytes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four));
        numbers(self.il).map(IlOffset::from).zip(numbers(self.native))
    }
}

impl<'a> Layout<'a> for IlToNativeMap<'a> {
    fn decode(fields: &mut Fields<'a>) -> Result<Self, FieldError> {
        let method = fields.take("method")?;
        let rejit = fields.take("rejit")?;
        let extent = fields.take("extent")?;
        let bytes = 4 * usize::from(fields.take::<u16>("entry_count")?);
        let il = fields.bytes(bytes, "il_offsets")?;
        let native = fields.bytes(bytes, "native_offsets")?;
        let clr = fields.take("clr")?;
        let il_version = fields.since(1, "il_version")?;
        Ok(IlToNativeMap { method, rejit, extent, clr, il_version, il, native })
    }
}
